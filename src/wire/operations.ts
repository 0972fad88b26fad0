import type * as z from "zod";
import type { AnswerCode } from "../core/errors.ts";
import { audit, checkpointLine } from "./audit-schemas.ts";
import { bulkAnswer, bulkLine } from "./bulk-schemas.ts";
import * as entrySchemas from "./entry-schemas.ts";
import type { Operation } from "./operation.ts";
import * as queries from "./query-schemas.ts";
import type { Role } from "./role.ts";
import * as schemas from "./schemas.ts";

const storage = "storage-unavailable";

/** Of a path that names the account. */
const ofAccount = ["invalid-pesel", "account-not-found"] as const;

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
      schema: schemas.account,
      headers: ["Fx-Account", "Fx-Receipt", "Idempotency-Replayed"],
    },
    errors: ["account-closed", ...refusals, "idempotency-key-reused", storage, "overloaded"],
  } as const satisfies Partial<Operation>;
}

export const operations = {
  createAccount: {
    method: "POST",
    path: "/api/user",
    summary: "Open an account with an initial balance in PLN",
    description:
      "One account for each PESEL. The holder must be 18 on today's date in Warsaw. " +
      "With an `Idempotency-Key`, a request that is sent again opens nothing twice.",
    tag: "accounts",
    role: "teller",
    headers: ["Idempotency-Key"],
    body: schemas.opening,
    success: { status: 204, headers: ["Fx-Receipt", "Idempotency-Replayed"] },
    errors: [
      "invalid-pesel",
      "underage",
      "account-exists",
      "invalid-amount",
      "balance-limit",
      "idempotency-key-reused",
      storage,
      "overloaded",
    ],
  },
  account: {
    method: "GET",
    path: "/api/user/{pesel}",
    summary: "The holder and the balances of an account",
    description:
      "PLN first, then by symbol. A currency once held stays listed, at 0 if nothing is left of it. With `at`, the " +
      "account as it was then; `account-not-found` if it was not open yet.",
    tag: "accounts",
    role: "viewer",
    query: queries.atQuery,
    success: { status: 200, schema: schemas.account, headers: ["Fx-Account"] },
    errors: ["invalid-pesel", "account-not-found", storage, "overloaded"],
  },
  exchange: {
    method: "POST",
    path: "/api/exchange/{pesel}",
    summary: "Exchange one currency for another at the table in force",
    description:
      "`toBuy` credits exactly that amount, `toSell` debits exactly that amount. The other side is rounded once, " +
      "against the customer, by less than one minor unit. With an `Idempotency-Key`, a request that is sent again " +
      "exchanges nothing twice.",
    tag: "exchange",
    role: "teller",
    headers: ["Idempotency-Key", "Fx-Table"],
    body: schemas.order,
    success: { status: 200, schema: schemas.account, headers: ["Fx-Receipt", "Idempotency-Replayed"] },
    errors: [
      "invalid-pesel",
      "pesel-mismatch",
      "same-currency",
      "account-not-found",
      "account-closed",
      "rates-unavailable",
      "rate-changed",
      "unsupported-currency",
      "invalid-amount",
      "amount-too-small",
      "insufficient-funds",
      "balance-limit",
      "idempotency-key-reused",
      storage,
      "overloaded",
    ],
  },
  bulk: {
    method: "POST",
    path: "/api/bulk",
    summary: "Carry out orders, openings, deposits and withdrawals, one a line, without limit",
    description:
      "Newline-delimited JSON both ways, as a stream: read the answers while you send. A line is an order, an opening, " +
      "a deposit or a withdrawal, of at most 16 KiB. Each is answered in its place, once it is durable, as the single request would " +
      "be: with `status` and the account or the problem. One that fails stops no other. Lines of one account are " +
      "done in their order. Blank lines count and are not answered. A last line whose `line` is null says why the " +
      "server ends the stream early. After that, or if the connection breaks, send the lines without an answer " +
      "again, with the same keys. With `dryRun=true` nothing is done or kept: each line is answered as it would be, on " +
      "the ledger as the lines before it would leave it, and what would be done has no `receipt`. A dry run also takes " +
      "reversals, renamings and closings, has at most 200,000 lines, and begins anew if it breaks off.",
    tag: "exchange",
    role: "teller",
    query: queries.bulkQuery,
    lines: "both",
    // A line has its own key and rate table.
    headers: [],
    body: bulkLine,
    success: { status: 200, schema: bulkAnswer },
    errors: ["overloaded"],
  },
  quote: {
    method: "GET",
    path: "/api/quote",
    summary: "What an exchange would do now; nothing is moved",
    description:
      "Takes exactly one of `toBuy` and `toSell`. An order placed now would come to the same. Send the quote's `tableId` as " +
      "its `Fx-Table` to have it at this table or not at all.",
    tag: "exchange",
    role: "viewer",
    query: schemas.quoteQuery,
    success: { status: 200, schema: schemas.quote },
    errors: [
      "same-currency",
      "rates-unavailable",
      "unsupported-currency",
      "invalid-amount",
      "amount-too-small",
      "balance-limit",
      storage,
      "overloaded",
    ],
  },
  receipt: {
    method: "GET",
    path: "/api/receipts/{id}",
    summary: "One entry, with all that is needed to compute it again",
    description:
      "`Fx-Receipt` in the answer to the request has its path. The beginning of an id is enough, from 8 characters on, " +
      "where no other receipt begins so.",
    tag: "exchange",
    role: "viewer",
    success: { status: 200, schema: entrySchemas.entry },
    errors: ["not-found", storage, "overloaded"],
  },
  rates: {
    method: "GET",
    path: "/api/rates",
    summary: "The table in force, or the last there was, and the one before it",
    description: "PLN for one unit: the bank buys at bid and sells at ask.",
    tag: "rates",
    role: "viewer",
    success: { status: 200, schema: schemas.rates },
    errors: ["rates-unavailable", storage, "overloaded"],
  },
  rateHistory: {
    method: "GET",
    path: "/api/rates/{code}/history",
    summary: "Bid and ask of one currency, table by table",
    description: "Oldest first, over the `days` that end with the table in force.",
    tag: "rates",
    role: "viewer",
    query: schemas.rateHistoryQuery,
    success: { status: 200, schema: schemas.rateHistory },
    errors: ["unsupported-currency", "rates-unavailable", storage, "overloaded"],
  },
  deposit: {
    ...change("/api/user/{pesel}/deposits", "teller", schemas.cash, [
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
    ...change("/api/user/{pesel}/withdrawals", "teller", schemas.cash, [
      ...ofAccount,
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
    ...change("/api/user/{pesel}/name", "teller", schemas.renaming, ofAccount),
    summary: "Change the holder's name",
    description: "Gives both names, as they are from now on. Entries from before keep theirs.",
  },
  closeAccount: {
    ...change("/api/user/{pesel}/closing", "operator", schemas.closing, [...ofAccount, "account-not-empty"]),
    isBodyOptional: true,
    summary: "Close an account that holds nothing",
    description:
      "All balances must be 0. A closed account can be read, with `Fx-Account: closed`, and opened again with " +
      "`POST /api/user`.",
  },
  reverse: {
    ...change("/api/receipts/{id}/reversal", "operator", schemas.reversal, [
      "not-found",
      "not-reversible",
      "already-reversed",
      "insufficient-funds",
      "balance-limit",
    ]),
    summary: "Undo an exchange, a deposit or a withdrawal",
    description:
      "Makes the exactly opposite entry, at the table of the entry that it undoes. Each can be undone once. Nothing is " +
      "edited: both entries stay and name each other. Takes the whole id.",
  },
  statement: {
    method: "GET",
    path: "/api/user/{pesel}/history",
    summary: "The entries of an account",
    description:
      "Newest first: all, or those of the days from `from` to `to`, both included, in Poland. `opening` and what the " +
      "entries moved add up to `closing`. `next` is the cursor of the next page. With `key`, only the entry whose " +
      "request had that `Idempotency-Key`, or none: a request that was refused, or has not arrived, made none; it is not " +
      "given with `from`, `to` or `cursor`.",
    tag: "accounts",
    role: "viewer",
    query: queries.statementQuery,
    success: { status: 200, schema: entrySchemas.statement },
    errors: ["invalid-pesel", "account-not-found", storage, "overloaded"],
  },
  accounts: {
    method: "GET",
    path: "/api/users",
    summary: "All accounts, or those of a name, by PESEL",
    description:
      "A teller must give a `name` of three letters or more. `next` is the cursor of the next page. With `at`, the " +
      "accounts as they were then, found by the names of then. Those that were not open yet are left out, so a page may have fewer than `limit` " +
      "and not be the last.",
    tag: "ledger",
    role: "teller",
    query: queries.accountsQuery,
    success: { status: 200, schema: schemas.accounts },
    errors: [storage, "overloaded"],
  },
  position: {
    method: "GET",
    path: "/api/position",
    summary: "What customers hold, what the house is long or short, and the spread earned",
    description:
      "Over every currency, `customers` and `house` add up to what was deposited. With `at`, as it was then: " +
      "`customers` is the sum of `/api/users` at the same time, exactly.",
    tag: "ledger",
    role: "operator",
    query: queries.atQuery,
    success: { status: 200, schema: schemas.position },
    errors: [storage, "overloaded"],
  },
  audit: {
    method: "GET",
    path: "/api/audit",
    summary: "Recompute the whole ledger and name every disagreement",
    description:
      "Recomputes every balance and every exchange from the journal and the tables. It reads all of them, which can " +
      "take minutes.",
    tag: "ledger",
    role: "operator",
    success: { status: 200, schema: audit },
    errors: [storage, "overloaded"],
  },
  checkpoint: {
    method: "GET",
    path: "/api/audit/checkpoint",
    summary: "Audit, and say how far the chain of each account goes",
    description:
      "Newline-delimited JSON, streamed: a first line, a line for each account by PESEL, and the audit. Keep it elsewhere, " +
      "and send it to `/api/audit/comparison` to find out whether a ledger is an older copy. If the last line is missing, or its `ok` is " +
      "false, it is no checkpoint.",
    tag: "ledger",
    role: "operator",
    lines: "answer",
    success: { status: 200, schema: checkpointLine },
    errors: [storage, "overloaded"],
  },
  compareCheckpoint: {
    method: "POST",
    path: "/api/audit/comparison",
    summary: "Audit, and compare with an earlier checkpoint",
    description:
      "Takes a checkpoint as it was given. `against` in the answer names each account that is missing, has fewer " +
      "entries, or another entry than the checkpoint saw. New accounts and new entries are fine.",
    tag: "ledger",
    role: "operator",
    lines: "body",
    body: checkpointLine,
    success: { status: 200, schema: audit },
    errors: [storage, "overloaded"],
  },
  exportJournal: {
    method: "GET",
    path: "/api/export",
    summary: "The journal as double entry",
    description:
      "Text that hledger or beancount reads, CSV with a line for each posting, or JSON with a line for each entry; in " +
      "the order in which the entries were made. Each entry balances in each currency. Customers are told apart by an " +
      "id that is made of the PESEL and a secret of the ledger. The answer is a stream. Its last line says that it " +
      "came to its end, and with how many entries; without that line it is to be thrown away.",
    tag: "ledger",
    role: "operator",
    query: queries.exportQuery,
    success: { status: 200, types: ["text/plain", "text/csv", "application/x-ndjson"] },
    errors: [storage, "overloaded"],
  },
  token: {
    method: "GET",
    path: "/api/token",
    summary: "Whose token the request has, and what it allows",
    description: "Where no tokens are in force, everybody is an operator.",
    tag: "server",
    role: "viewer",
    success: { status: 200, schema: schemas.token },
    errors: [],
  },
  live: {
    method: "GET",
    path: "/health/live",
    summary: "Whether the process runs",
    description: "Does not ask the database.",
    tag: "server",
    role: "anyone",
    success: { status: 200, schema: schemas.live },
    errors: [],
  },
  ready: {
    method: "GET",
    path: "/health/ready",
    summary: "Whether the store answers and the server is not stopping",
    description: "Answers 503 while the server stops, and while the database does not answer.",
    tag: "server",
    role: "anyone",
    success: { status: 200, schema: schemas.ready },
    errors: [],
    sameShape: 503,
  },
  metrics: {
    method: "GET",
    path: "/metrics",
    summary: "Metrics for Prometheus",
    description: "In the text format of Prometheus.",
    tag: "server",
    role: "operator",
    success: { status: 200, types: ["text/plain"] },
    errors: ["overloaded"],
  },
  openApi: {
    method: "GET",
    path: "/openapi.json",
    summary: "This document",
    description: "OpenAPI 3.1. `/docs` shows it, and lets you try it.",
    tag: "server",
    role: "anyone",
    success: { status: 200, types: ["application/json"] },
    errors: [],
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;
