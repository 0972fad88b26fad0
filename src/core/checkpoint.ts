import type { AccountHead, AuditReport, Comparison } from "./service.ts";

/** A head as a line of a checkpoint, without the line's end. The digest covers this text. */
export function headText({ customer, entries, hash }: AccountHead): string {
  return `{"customer":"${customer}","entries":${entries},"hash":"${hash}"}`;
}

/** Reads what `headText` gives; undefined if the text is another. */
export function parseHead(text: string): AccountHead | undefined {
  const [, customer, entries, hash] =
    /^\{"customer":"([A-P]{20})","entries":([1-9]\d{0,13}),"hash":"([\da-f]{64})"\}$/.exec(text) ?? [];
  if (customer === undefined || hash === undefined) return undefined;
  return { customer, entries: Number(entries), hash };
}

/** Whether the ledger agrees with itself, and holds all that the checkpoint saw. */
export function isClean({ findingsTotal, against }: AuditReport): boolean {
  return findingsTotal === 0 && (against === undefined || (against.lost.length === 0 && !isOther(against)));
}

/** Whether the checkpoint is of another ledger: they have no account in common. */
export function isOther({ accounts, found }: Comparison): boolean {
  return accounts > 0 && found === 0;
}
