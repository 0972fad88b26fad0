import type { ErrorCode } from "../core/errors.ts";

/**
 * How a command ends: the exit, its meaning, whether money moved, and what to do. The same table is in docs/CLI.md and
 * `fx help exit-codes`.
 */
export const exitTable = [
  [0, "done", "as reported", ""],
  [1, "a bug, or the server's internal error", "unknown", "repeat with the printed key"],
  [2, "usage", "no", "correct the command"],
  [3, "refused", "no", "correct the order"],
  [4, "no such account or receipt", "no", ""],
  [5, "the account exists", "no", ""],
  [6, "no rates, or trading is suspended", "no", "try again later"],
  [7, "server or database not reachable or too busy, or what answers is not fx", "no", "try again later"],
  [8, "sent, and no answer came", "unknown", "repeat with the printed key"],
  [9, "answered no at the question", "no", ""],
  [10, "not allowed", "no", ""],
  [11, "findings of audit, backup or doctor, or a proof that does not fit", "no", "look into the findings"],
  [12, "the result cannot be written, as on a full disk", "as stderr says", "repeat with the printed key"],
  [129, "the terminal was closed", "if sent: unknown", "repeat with the printed key"],
  [130, "interrupted (Ctrl-C)", "if sent: unknown", "repeat with the printed key"],
  [141, "the reader of the output stopped reading, as head does", "as stderr says", ""],
  [143, "terminated", "if sent: unknown", "repeat with the printed key"],
] as const;

export const exitOfBatch = "Whatever the exit of a batch, the lines that are reported as done are done.";

export type Exit = (typeof exitTable)[number][0];

/** A signal that ends a command, and its exit. */
export const signalExits = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const satisfies Partial<
  Record<NodeJS.Signals, Exit>
>;

export type Signal = keyof typeof signalExits;

/** The exit of a command whose job is to look for findings, and that has some. */
export const findingsExit = 11 satisfies Exit;

/** The exit of each error code, and what to do where the error itself does not say it. */
export const outcomes: Readonly<Record<ErrorCode, readonly [exit: Exit, hint?: string]>> = {
  "invalid-request": [3],
  "invalid-pesel": [3],
  "pesel-mismatch": [3],
  underage: [3],
  "unsupported-currency": [3, "fx rates lists the currencies."],
  "same-currency": [3],
  "invalid-amount": [3],
  "amount-too-small": [3],
  "insufficient-funds": [3, "fx account show has the balances."],
  "balance-limit": [3],
  "rate-changed": [3, "fx quote has the table in force."],
  "already-reversed": [3, "fx receipt shows both receipts."],
  "not-reversible": [3, "Make the opposite change with a command of its own."],
  "account-closed": [3, "fx account create opens it again."],
  "account-blocked": [3, "fx account show has the reason, and fx account unblock lifts the block."],
  "account-not-blocked": [3],
  "account-not-empty": [3, "fx account show has the balances, and fx account withdraw pays them out."],
  "idempotency-key-reused": [3, "fx receipt --pesel PESEL --key KEY shows what was done with it."],
  "account-not-found": [4, "fx account create opens one."],
  "not-found": [4],
  "method-not-allowed": [3],
  "account-exists": [5, "fx account show has it."],
  "rates-unavailable": [6],
  "trading-suspended": [6, "Try again later: an operator ends it with fx trading resume."],
  "storage-unavailable": [7],
  "rate-limited": [7],
  overloaded: [7],
  internal: [1],
  unreachable: [7, "Start a server with fx serve, or name a store, as in --url sqlite:fx.db."],
  "outcome-unknown": [8],
  unauthorized: [
    10,
    "Set FX_TOKEN, or FX_TOKEN_FILE to a file that holds the token. fx doctor shows which one is sent.",
  ],
  forbidden: [10, "fx doctor shows which token is sent, and its role."],
};
