import { account, atQuery } from "./accounts.ts";
import { storage } from "./changes.ts";
import { statement, statementQuery } from "./entries.ts";
import { house, houseCash } from "./house.ts";
import type { Operation } from "./operation.ts";

/** The operations of the house's own money. The page needs its shapes alone. */

function cashOperation(path: string) {
  return {
    method: "POST",
    path,
    tag: "ledger",
    role: "operator",
    headers: ["Idempotency-Key"],
    body: houseCash,
    success: { status: 200, schema: account, headers: ["Fx-Receipt", "Idempotency-Replayed"] },
    errors: [
      "unsupported-currency",
      "invalid-amount",
      "balance-limit",
      "idempotency-key-reused",
      storage,
      "overloaded",
    ],
  } as const satisfies Partial<Operation>;
}

export const houseOperations = {
  house: {
    method: "GET",
    path: "/api/house",
    summary: "The house's own money, in cash and at the bank",
    description:
      "What `/api/house/deposits` put in and `/api/house/withdrawals` took out. With `at`, as it was then.",
    tag: "ledger",
    role: "operator",
    query: atQuery,
    success: { status: 200, schema: house },
    errors: [storage, "overloaded"],
  },
  houseDeposit: {
    ...cashOperation("/api/house/deposits"),
    summary: "Put the house's own money into the drawer or the bank",
    description:
      "The float of the morning, or currency bought for the drawer. Takes every currency that fx knows; no table is " +
      "needed. It is an entry of kind `deposit` in an account of the house, whose number no customer can have. `POST /api/receipts/{id}/reversal` undoes it.",
  },
  houseWithdraw: {
    ...cashOperation("/api/house/withdrawals"),
    summary: "Take the house's own money out of the drawer or the bank",
    description:
      "The house may take out more than it put in: its profit. Cash that is brought to the bank is a withdrawal from " +
      "`cash` and a deposit to `bank`.",
  },
  houseStatement: {
    method: "GET",
    path: "/api/house/{account}/history",
    summary: "The entries of the house's cash or of its money at the bank",
    description: "As `/api/user/{pesel}/history`.",
    tag: "ledger",
    role: "operator",
    query: statementQuery,
    success: { status: 200, schema: statement },
    errors: ["not-found", storage, "overloaded"],
  },
} as const satisfies Record<string, Operation>;
