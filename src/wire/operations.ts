import type * as z from "zod";
import * as accountList from "./account-list.ts";
import * as accounts from "./accounts.ts";
import { audit, checkpointLine, emptyCheckpoint } from "./audit.ts";
import { bulkAnswer, linesBeforeReading } from "./bulk.ts";
import { bulkLine, bulkQuery } from "./bulk-lines.ts";
import { cash, house, houseCash, reversal } from "./cash.ts";
import * as entries from "./entries.ts";
import * as exchanges from "./exchanges.ts";
import { exampleHolder } from "./fields.ts";
import { exportQuery, position, till, tillQuery } from "./ledger.ts";
import type { Operation } from "./operation.ts";
import { order } from "./orders.ts";
import { personalData } from "./personal-data.ts";
import { receiptProof } from "./proof.ts";
import * as rates from "./rates.ts";
import * as server from "./server.ts";
import { statementFileQuery } from "./statement-file.ts";

/** Refusals of a price, quoted or settled at. */
const ofPrice = [
  "same-currency",
  "rates-unavailable",
  "unsupported-currency",
  "invalid-amount",
  "amount-too-small",
  "balance-limit",
] as const;

/** A change of an account, whose answer is the account after it. */
const change = {
  method: "POST",
  tag: "changes",
  headers: ["Idempotency-Key"],
  answer: accounts.account,
  answerHeaders: ["Fx-Account"],
} as const satisfies Partial<Operation>;

/** A deposit or a withdrawal of the house's own money. */
const houseChange = {
  method: "POST",
  tag: "ledger",
  role: "operator",
  headers: ["Idempotency-Key"],
  body: houseCash,
  answer: accounts.account,
  errors: ["unsupported-currency", "invalid-amount", "balance-limit"],
} as const satisfies Partial<Operation>;

export const operations = {
  createAccount: {
    method: "POST",
    path: "/api/user",
    summary: "Open an account with an initial balance in PLN",
    description: "One account for each PESEL. The holder must be 18 on today's date in Warsaw.",
    tag: "accounts",
    role: "teller",
    headers: ["Idempotency-Key"],
    body: accounts.opening,
    errors: ["invalid-pesel", "underage", "account-exists", "invalid-amount", "balance-limit"],
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
    query: accountList.atQuery,
    answer: accounts.account,
    answerHeaders: ["Fx-Account"],
  },
  exchange: {
    method: "POST",
    path: "/api/exchange/{pesel}",
    summary: "Exchange one currency for another at the table in force",
    description:
      "`toBuy` credits exactly that amount, `toSell` debits exactly that amount. The other side is rounded once, " +
      "against the customer, by less than one minor unit.",
    tag: "exchange",
    role: "teller",
    headers: ["Idempotency-Key", "Fx-Table"],
    body: order,
    answer: accounts.account,
    errors: [
      ...ofPrice,
      "pesel-mismatch",
      "account-closed",
      "account-blocked",
      "trading-suspended",
      "rate-changed",
      "insufficient-funds",
    ],
  },
  bulk: {
    method: "POST",
    path: "/api/bulk",
    summary: "Carry out orders, openings, deposits and withdrawals, one a line, without limit",
    description:
      "Newline-delimited JSON both ways, as a stream: read the answers while you send. To send all before reading, send at " +
      `most ${linesBeforeReading} lines: a stream whose answers are not read for 30 s is ended. A line is an order, an ` +
      "opening, a deposit or a withdrawal, of at most 16 KiB. Each is answered in its place, once durable, as the single request would " +
      "be: with `status` and the account or the problem. One that fails stops no other. Lines of one account are " +
      "done in their order. Blank lines count and are not answered. A last line whose `line` is null says why the " +
      "server ends the stream early. After that, or if the connection breaks, send the lines without an answer " +
      "again, with the same keys. With `dryRun=true` nothing is done or kept: each line is answered as it would be, on " +
      "the ledger as the lines before it would leave it, and what would be done has no `receipt`. A dry run also takes " +
      "reversals, renamings, closings, blocks and unblocks, each with the role of its request, has at most 200,000 lines, and begins anew if it breaks off.",
    tag: "exchange",
    role: "teller",
    query: bulkQuery,
    lines: "both",
    // A line has its own key and rate table.
    headers: [],
    body: bulkLine,
    example: `${JSON.stringify({ ...exampleHolder, pln: 1000, key: "example-1" })}\n`,
    answer: bulkAnswer,
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
    query: exchanges.quoteQuery,
    answer: exchanges.quote,
    errors: [...ofPrice],
  },
  receipt: {
    method: "GET",
    path: "/api/receipts/{id}",
    summary: "One entry, with all that is needed to compute it again",
    description:
      "`Fx-Receipt` in the answer to the request has its path. The beginning of an id is enough, from 8 characters on, " +
      "if no other receipt begins with it; else `invalid-request` names two that do. Fewer than 18, and a receipt of the house's own money, take the role `operator`.",
    tag: "exchange",
    role: "viewer",
    answer: entries.entry,
    errors: ["not-found"],
  },
  receiptProof: {
    method: "GET",
    path: "/api/receipts/{id}/proof",
    summary: "The proof that the ledger has an entry, for whoever has a checkpoint",
    description:
      "The entry, and the hashes that lead from it to the account's newest entry: with a checkpoint that was made " +
      "between the two, `fx receipt verify` shows offline that the ledger had the entry then. It has the holder's name " +
      "and PESEL, and the id of the account in checkpoints and exports; of later entries only hashes, and their number. " +
      "An entry with more than 50,000 later ones is refused.",
    tag: "exchange",
    role: "operator",
    answer: receiptProof,
    errors: ["not-found"],
  },
  rates: {
    method: "GET",
    path: "/api/rates",
    summary: "The table in force, or else the last one, and the table before it",
    description: "PLN for one unit: the bank buys at bid and sells at ask.",
    tag: "rates",
    role: "viewer",
    answer: rates.rates,
    errors: ["rates-unavailable"],
  },
  suspendTrading: {
    method: "POST",
    path: "/api/trading/suspension",
    summary: "Refuse all orders from now on",
    description:
      "Every process on the ledger answers `trading-suspended` to orders until `/api/trading/resumption`. Everything else " +
      "goes on: quotes, deposits, withdrawals, reversals and reading. It is kept in the ledger, with the token's name, and " +
      "a new rate table does not end it. Sent again, it replaces the reason. Everybody who can reach the server can read the reason.",
    tag: "rates",
    role: "operator",
    body: rates.suspending,
    answer: rates.trading,
    errors: ["rates-unavailable"],
  },
  resumeTrading: {
    method: "POST",
    path: "/api/trading/resumption",
    summary: "Settle orders again",
    description: "Ends a suspension, and changes nothing where there is none.",
    tag: "rates",
    role: "operator",
    body: rates.resuming,
    isBodyOptional: true,
    answer: rates.trading,
    errors: ["rates-unavailable"],
  },
  rateHistory: {
    method: "GET",
    path: "/api/rates/{code}/history",
    summary: "Bid and ask of one currency, table by table",
    description: "Oldest first, over the `days` that end with the table in force.",
    tag: "rates",
    role: "viewer",
    query: rates.rateHistoryQuery,
    answer: rates.rateHistory,
    errors: ["rates-unavailable", "unsupported-currency"],
  },
  rateTables: {
    method: "GET",
    path: "/api/rates/history",
    summary: "Bid and ask of all currencies, table by table",
    description:
      "Oldest first, over the `days` that end with the table in force: every trend in one request.",
    tag: "rates",
    role: "viewer",
    query: rates.rateTablesQuery,
    answer: rates.rateTables,
    errors: ["rates-unavailable"],
  },
  deposit: {
    ...change,
    path: "/api/user/{pesel}/deposits",
    role: "teller",
    body: cash,
    errors: [
      "account-closed",
      "rates-unavailable",
      "unsupported-currency",
      "invalid-amount",
      "balance-limit",
    ],
    summary: "Put money into an account",
    description: "Takes PLN and every currency of the table in force.",
  },
  withdraw: {
    ...change,
    path: "/api/user/{pesel}/withdrawals",
    role: "teller",
    body: cash,
    errors: [
      "account-closed",
      "account-blocked",
      "unsupported-currency",
      "invalid-amount",
      "insufficient-funds",
    ],
    summary: "Take money out of an account",
    description: "Gives every currency that the account holds; no table is needed.",
  },
  rename: {
    ...change,
    path: "/api/user/{pesel}/name",
    role: "teller",
    body: accounts.renaming,
    errors: ["account-closed"],
    summary: "Change the holder's name",
    description: "Takes both names, as they are from now on. Earlier entries keep the earlier names.",
  },
  closeAccount: {
    ...change,
    path: "/api/user/{pesel}/closing",
    role: "operator",
    body: accounts.closing,
    errors: ["account-closed", "account-blocked", "account-not-empty"],
    isBodyOptional: true,
    summary: "Close an account that holds nothing",
    description:
      "All balances must be 0. A closed account can be read, with `Fx-Account: closed`, and opened again with " +
      "`POST /api/user`.",
  },
  blockAccount: {
    ...change,
    path: "/api/user/{pesel}/block",
    role: "operator",
    body: accounts.block,
    errors: ["account-closed", "account-blocked"],
    summary: "Block an account",
    description:
      "Until it is unblocked, nothing leaves the account and nothing is exchanged on it: exchanges, withdrawals, closing " +
      "and reversals that would take money are refused with `account-blocked`. Deposits, renaming, reversals that only " +
      "give money back, and all reading go on, with `Fx-Account: blocked`. Blocking it a second time is refused with `account-blocked`.",
  },
  unblockAccount: {
    ...change,
    path: "/api/user/{pesel}/unblock",
    role: "operator",
    body: accounts.block,
    errors: ["account-closed", "account-not-blocked"],
    summary: "Lift the block of an account",
    description: "An account that is not blocked is refused with `account-not-blocked`.",
  },
  reverse: {
    ...change,
    path: "/api/receipts/{id}/reversal",
    role: "operator",
    body: reversal,
    errors: [
      "account-closed",
      "not-found",
      "not-reversible",
      "account-blocked",
      "already-reversed",
      "insufficient-funds",
      "balance-limit",
    ],
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
    query: entries.statementQuery,
    answer: entries.statement,
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
    query: accountList.accountsQuery,
    answer: accountList.accounts,
  },
  position: {
    method: "GET",
    path: "/api/position",
    summary: "What customers hold, what the house is long or short, and the spread earned",
    description:
      "In every currency, `customers` and `house` add up to what was paid in and not paid out. With `at`, as it was then: " +
      "`customers` is the sum of `/api/users` at the same time, exactly. PLN comes first and is always there, then every " +
      "currency that has been held, by symbol.",
    tag: "ledger",
    role: "operator",
    query: accountList.atQuery,
    answer: position,
  },
  till: {
    method: "GET",
    path: "/api/till",
    summary: "The cash that passed through a till on a day",
    description:
      "What came in and went out in each currency by the openings, deposits and withdrawals of one token on one day in " +
      "Poland. A reversal counts on its own day, at the till of the token whose entry it undoes. Exchanges move no cash. Nothing is stored: asked again, a day that has ended has the same " +
      "answer and the same `digest`. A teller may see the own till, an operator every till. Where no tokens are in force, " +
      "and without `by`, it counts the entries without a token's name.",
    tag: "ledger",
    role: "teller",
    query: tillQuery,
    answer: till,
  },
  audit: {
    method: "GET",
    path: "/api/audit",
    summary: "Recompute the whole ledger and name every discrepancy",
    description:
      "Recomputes every balance and every exchange from the journal and the tables. Audits, checkpoints and positions " +
      "are made one at a time, and can take minutes: from 10 s on, line feeds keep the connection open.",
    tag: "ledger",
    role: "operator",
    answer: audit,
  },
  checkpoint: {
    method: "GET",
    path: "/api/audit/checkpoint",
    summary: "Audit, and say how far the chain of each account goes",
    description:
      "Newline-delimited JSON, streamed: a first line, a line for each account by PESEL, and the audit; blank lines mean " +
      "nothing. Keep it elsewhere, and send it to `/api/audit/comparison` to find out whether a ledger is an older copy. " +
      "If the last line is missing, or its `ok` is false, it is no checkpoint.",
    tag: "ledger",
    role: "operator",
    lines: "answer",
    answer: checkpointLine,
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
    example: emptyCheckpoint,
    answer: audit,
  },
  statementFile: {
    method: "GET",
    path: "/api/user/{pesel}/statement",
    summary: "The statement of a period as a file",
    description:
      "All entries of the days from `from` to `to`, in Poland. `csv` is for a spreadsheet, newest first. `camt.053` is " +
      "camt.053.001.08 of ISO 20022: a statement for each currency, with balances before and after, oldest first. The " +
      "answer is a stream.",
    tag: "accounts",
    role: "viewer",
    query: statementFileQuery,
    types: ["text/csv", "application/xml"],
  },
  personalData: {
    method: "GET",
    path: "/api/user/{pesel}/export",
    summary: "Everything that fx holds about one person",
    description:
      "The answer to a request under article 15 of the GDPR: the account, the words of names by which it is found, all entries with " +
      "notes, keys and the names of tokens, and the refusals that are kept under keys. `elsewhere` says what is not in it.",
    tag: "accounts",
    role: "operator",
    answer: personalData,
  },
  exportJournal: {
    method: "GET",
    path: "/api/export",
    summary: "The journal as double entry, or as the register of an exchange office",
    description:
      "Text that hledger or beancount reads, CSV with a line for each posting, or JSON with a line for each entry; in " +
      "the order in which the entries were made. Each entry balances in each currency. Customers are told apart by an " +
      "id that is made of the PESEL and a secret of the ledger. `register` is CSV for Excel in Poland: the purchases and " +
      "sales of foreign currency as a Polish exchange office records them. The answer is a stream. Its last line says that " +
      "it came to its end, and with how many entries; without that line, discard the text.",
    tag: "ledger",
    role: "operator",
    query: exportQuery,
    types: ["text/plain", "text/csv", "application/x-ndjson"],
  },
  entries: {
    method: "GET",
    path: "/api/entries",
    summary: "The entries of all accounts, in commit order",
    description:
      "A follower that asks again with `next` as `after` sees every entry exactly once, and those of an account in their " +
      "order; an empty page says that there is no later one yet. With `Accept: text/event-stream`, and without `limit`, the " +
      "same as a stream that goes on: each event's `id` is that of the entry, and its `data` the entry as on a page, in one " +
      "line. `Last-Event-ID` takes precedence over `after`. A comment comes at least every 15 s. When the stream ends, because the " +
      "connection breaks, the server stops or the token is revoked, ask again with the last id.",
    tag: "ledger",
    role: "operator",
    query: entries.entriesQuery,
    answer: entries.entriesPage,
    types: ["text/event-stream"],
  },
  house: {
    method: "GET",
    path: "/api/house",
    summary: "The house's own money, in cash and at the bank",
    description:
      "What `/api/house/deposits` put in and `/api/house/withdrawals` took out. With `at`, as it was then.",
    tag: "ledger",
    role: "operator",
    query: accountList.atQuery,
    answer: house,
  },
  houseDeposit: {
    ...houseChange,
    path: "/api/house/deposits",
    summary: "Put the house's own money into the drawer or the bank",
    description:
      "For the morning float, or currency bought for the drawer. Takes every currency that fx knows; no table is " +
      "needed. It is an entry of kind `deposit` in an account of the house, whose number no customer can have. `POST /api/receipts/{id}/reversal` undoes it.",
  },
  houseWithdraw: {
    ...houseChange,
    path: "/api/house/withdrawals",
    summary: "Take the house's own money out of the drawer or the bank",
    description:
      "The house may take out more than it put in: its profit. Cash that is brought to the bank is a withdrawal from " +
      "`cash` and a deposit to `bank`.",
  },
  houseStatement: {
    method: "GET",
    path: "/api/house/{account}/history",
    summary: "The entries of the house's cash or of its money at the bank",
    description: "The same as `/api/user/{pesel}/history`, for an account of the house.",
    tag: "ledger",
    role: "operator",
    query: entries.statementQuery,
    answer: entries.statement,
    errors: ["not-found"],
  },
  token: {
    method: "GET",
    path: "/api/token",
    summary: "Whose token the request has, and what it allows",
    description: "Where no tokens are in force, everybody is an operator.",
    tag: "server",
    role: "viewer",
    answer: server.token,
  },
  live: {
    method: "GET",
    path: "/health/live",
    summary: "Whether the process runs",
    description: "Does not ask the database.",
    tag: "server",
    role: "anyone",
    answer: server.live,
  },
  ready: {
    method: "GET",
    path: "/health/ready",
    summary: "Whether the store answers and the server is not stopping",
    description: "Answers 503 while the server stops, and while the database does not answer.",
    tag: "server",
    role: "anyone",
    answer: server.ready,
    sameShape: 503,
  },
  metrics: {
    method: "GET",
    path: "/metrics",
    summary: "Metrics for Prometheus",
    description: "In the text format of Prometheus.",
    tag: "server",
    role: "operator",
    types: ["text/plain"],
    errors: ["overloaded"],
  },
  openApi: {
    method: "GET",
    path: "/openapi.json",
    summary: "This document",
    description: "OpenAPI 3.1. `/docs` shows it, and lets you try it.",
    tag: "server",
    role: "anyone",
    types: ["application/json"],
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

/** The operations that answer a query with one JSON value. */
export type ReadId = {
  [Id in OperationId]: (typeof operations)[Id] extends { method: "GET"; answer: z.ZodType } ? Id : never;
}[OperationId];
export type QueryOf<Id extends ReadId> = (typeof operations)[Id] extends {
  query: infer Shape extends z.ZodType;
}
  ? z.output<Shape>
  : undefined;
export type AnswerTo<Id extends ReadId> = z.output<(typeof operations)[Id]["answer"]>;
