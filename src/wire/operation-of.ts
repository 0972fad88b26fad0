import type { Request } from "../core/change.ts";
import { housePlaceOf } from "../core/house.ts";
import type { Operation } from "./operation.ts";
import { type OperationId, operations } from "./operations.ts";

const changesByKind = {
  opening: "createAccount",
  exchange: "exchange",
  deposit: "deposit",
  withdrawal: "withdraw",
  renaming: "rename",
  closing: "closeAccount",
  block: "blockAccount",
  unblock: "unblockAccount",
  reversal: "reverse",
} as const satisfies Record<Request["kind"], OperationId>;

/** The operation that a request of its own takes. */
export function operationOf({ kind, pesel }: Pick<Request, "kind" | "pesel">): Operation {
  if (housePlaceOf(pesel) === undefined || kind === "reversal") return operations[changesByKind[kind]];
  return operations[kind === "deposit" ? "houseDeposit" : "houseWithdraw"];
}

/**
 * The path of an operation with these values in it. They are encoded: an id from elsewhere must not lead to another
 * operation.
 */
export function filledPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
}
