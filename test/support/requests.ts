import { hasLines, type Operation } from "../../src/wire/operation.ts";
import { filledPath } from "../../src/wire/operation-of.ts";
import { adult } from "./fixture.ts";

const values = { pesel: adult(1), id: "019e9a70-3c5e-7000", code: "USD", account: "cash" };

/** The operation's path for the account of `adult(1)`, or for other values. */
export function pathOf({ path }: Operation, others: Readonly<Record<string, string>> = {}): string {
  return filledPath(path, { ...values, ...others });
}

/** The content type of the operation's body. */
export function typeOf(operation: Operation): string {
  return hasLines(operation, "body") ? "application/x-ndjson" : "application/json";
}

/** A body for each operation that takes one, which is carried out as it is once `adult(1)` has an account. */
export const bodies: Readonly<Record<string, unknown>> = {
  createAccount: { name: "Anna", surname: "Nowak", pesel: adult(2), pln: 1 },
  exchange: { pesel: adult(1), from: "PLN", to: "USD", toSell: 10 },
  bulk: JSON.stringify({ kind: "deposit", pesel: adult(1), amount: 1, currency: "PLN" }),
  deposit: { amount: 1, currency: "PLN" },
  withdraw: { amount: 1, currency: "PLN" },
  rename: { name: "Jan", surname: "Nowak" },
  closeAccount: {},
  blockAccount: { reason: "freeze" },
  unblockAccount: { reason: "lifted" },
  reverse: { reason: "a slip" },
  compareCheckpoint: "{}",
};
