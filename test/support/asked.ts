/** A request in words that every channel can carry. Amounts are texts, as they would be typed. */
export type Asked = { readonly pesel: string; readonly key?: string } & (
  | { readonly kind: "opening"; readonly name: string; readonly surname: string; readonly pln: string }
  | ({ readonly kind: "exchange"; readonly from: string; readonly to: string } & Side)
  | { readonly kind: "deposit" | "withdrawal"; readonly amount: string; readonly currency: string }
  | { readonly kind: "renaming"; readonly name: string; readonly surname: string }
  | { readonly kind: "closing" }
  | { readonly kind: "block" | "unblock"; readonly reason: string }
  | { readonly kind: "reversal"; readonly receipt: string; readonly reason: string }
);
type Side = { readonly toBuy: string } | { readonly toSell: string };

export function pathOf(asked: Asked): string {
  const at = `/api/user/${asked.pesel}`;
  return {
    opening: "/api/user",
    exchange: `/api/exchange/${asked.pesel}`,
    deposit: `${at}/deposits`,
    withdrawal: `${at}/withdrawals`,
    renaming: `${at}/name`,
    closing: `${at}/closing`,
    block: `${at}/block`,
    unblock: `${at}/unblock`,
    reversal: `/api/receipts/${"receipt" in asked ? asked.receipt : ""}/reversal`,
  }[asked.kind];
}

/** Whether batches and files take a request of this kind. */
export function isLine({ kind }: Asked): boolean {
  return ["opening", "exchange", "deposit", "withdrawal"].includes(kind);
}

/** The fields of a body or a line: all that is not in the path or a header. */
export function fieldsOf({ kind, key: _, ...fields }: Asked): object {
  if (kind === "opening" || kind === "exchange") return fields;
  const { pesel: _pesel, receipt: _receipt, ...rest } = fields as Record<string, string>;
  return rest;
}

/** The fields of a line of a batch or of a file. */
export function lineOf(asked: Asked): object {
  const isCash = asked.kind === "deposit" || asked.kind === "withdrawal";
  return {
    ...(isCash && { kind: asked.kind, pesel: asked.pesel }),
    ...fieldsOf(asked),
    ...(asked.key !== undefined && { key: asked.key }),
  };
}

/** JSON with the amounts as they are written, which JSON.stringify would round. */
export function jsonText(fields: object): string {
  const members = Object.entries(fields).map(([name, value]) => {
    const isAmount = ["pln", "toBuy", "toSell", "amount"].includes(name);
    return `${JSON.stringify(name)}:${isAmount ? value : JSON.stringify(value)}`;
  });
  return `{${members.join(",")}}`;
}
