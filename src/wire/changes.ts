import type * as z from "zod";
import type { AnswerCode } from "../core/errors.ts";
import * as accounts from "./accounts.ts";
import { cash, reversal } from "./cash.ts";
import type { Operation } from "./operation.ts";
import type { Role } from "./role.ts";

export const storage = "storage-unavailable";

/** Refusals of what is about one account. */
export const ofAccount = ["invalid-pesel", "account-not-found"] as const;

/** A change of an account, whose answer is the account after it. */
function change<Body extends z.ZodType>(
  path: string,
  role: Role,
  body: Body,
  refusals: readonly AnswerCode[],
) {
  return {
    method: "POST",
    path,
    tag: "changes",
    role,
    headers: ["Idempotency-Key"],
    body,
    success: {
      status: 200,
      schema: accounts.account,
      headers: ["Fx-Account", "Fx-Receipt", "Idempotency-Replayed"],
    },
    errors: ["account-closed", ...refusals, "idempotency-key-reused", storage, "overloaded"],
  } as const satisfies Partial<Operation>;
}

/** The operations that change an account, beside openings and exchanges. */
export const changes = {
  deposit: {
    ...change("/api/user/{pesel}/deposits", "teller", cash, [
      ...ofAccount,
      "rates-unavailable",
      "unsupported-currency",
      "invalid-amount",
      "balance-limit",
    ]),
    summary: "Put money into an account",
    description:
      "Takes PLN and every currency of the table in force. With an `Idempotency-Key`, a request that is sent again puts " +
      "in nothing twice.",
  },
  withdraw: {
    ...change("/api/user/{pesel}/withdrawals", "teller", cash, [
      ...ofAccount,
      "account-blocked",
      "unsupported-currency",
      "invalid-amount",
      "insufficient-funds",
    ]),
    summary: "Take money out of an account",
    description:
      "Gives every currency that the account holds; no table is needed. With an `Idempotency-Key`, a request that is " +
      "sent again takes out nothing twice.",
  },
  rename: {
    ...change("/api/user/{pesel}/name", "teller", accounts.renaming, ofAccount),
    summary: "Change the holder's name",
    description: "Gives both names, as they are from now on. Entries from before keep theirs.",
  },
  closeAccount: {
    ...change("/api/user/{pesel}/closing", "operator", accounts.closing, [
      ...ofAccount,
      "account-blocked",
      "account-not-empty",
    ]),
    isBodyOptional: true,
    summary: "Close an account that holds nothing",
    description:
      "All balances must be 0. A closed account can be read, with `Fx-Account: closed`, and opened again with " +
      "`POST /api/user`.",
  },
  blockAccount: {
    ...change("/api/user/{pesel}/block", "operator", accounts.block, [...ofAccount, "account-blocked"]),
    summary: "Block an account",
    description:
      "Until it is unblocked, nothing leaves the account and nothing is exchanged on it: exchanges, withdrawals, closing " +
      "and reversals that would take money are refused with `account-blocked`. Deposits, renaming, reversals that only " +
      "give money back, and all reading go on, with `Fx-Account: blocked`. Blocking it once more is `account-blocked`.",
  },
  unblockAccount: {
    ...change("/api/user/{pesel}/unblock", "operator", accounts.block, [...ofAccount, "account-not-blocked"]),
    summary: "Lift the block of an account",
    description: "An account that is not blocked is refused with `account-not-blocked`.",
  },
  reverse: {
    ...change("/api/receipts/{id}/reversal", "operator", reversal, [
      "not-found",
      "not-reversible",
      "account-blocked",
      "already-reversed",
      "insufficient-funds",
      "balance-limit",
    ]),
    summary: "Undo an exchange, a deposit or a withdrawal",
    description:
      "Makes the exactly opposite entry, at the table of the entry that it undoes. Each can be undone once. Nothing is " +
      "edited: both entries stay and name each other. Takes the whole id.",
  },
} as const satisfies Record<string, Operation>;
