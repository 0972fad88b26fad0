import * as accounts from "./accounts.ts";
import { audit, checkpointLine, emptyCheckpoint } from "./audit.ts";
import { bulkAnswer, bulkLine, bulkQuery, linesBeforeReading } from "./bulk.ts";
import { changes, ofAccount, storage } from "./changes.ts";
import * as entries from "./entries.ts";
import * as exchanges from "./exchanges.ts";
import { exampleHolder } from "./fields.ts";
import { fileOperations } from "./file-operations.ts";
import { houseOperations } from "./house-operations.ts";
import { position, till, tillQuery } from "./ledger.ts";
import type { Operation } from "./operation.ts";
import { order } from "./orders.ts";
import { receiptProof } from "./proof.ts";
import { rateOperations } from "./rates.ts";
import { serverOperations } from "./server.ts";

/** Refusals of a price, quoted or settled at. */
const ofPrice = [
  "same-currency",
  "rates-unavailable",
  "unsupported-currency",
  "invalid-amount",
  "amount-too-small",
  "balance-limit",
] as const;

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
    body: accounts.opening,
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
    query: accounts.atQuery,
    success: { status: 200, schema: accounts.account, headers: ["Fx-Account"] },
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
    body: order,
    success: { status: 200, schema: accounts.account, headers: ["Fx-Receipt", "Idempotency-Replayed"] },
    errors: [
      ...ofAccount,
      ...ofPrice,
      "pesel-mismatch",
      "account-closed",
      "account-blocked",
      "trading-suspended",
      "rate-changed",
      "insufficient-funds",
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
      "Newline-delimited JSON both ways, as a stream: read the answers while you send. To send all before reading, send at " +
      `most ${linesBeforeReading} lines: a stream whose answers are not read for 30 s is ended. A line is an order, an ` +
      "opening, a deposit or a withdrawal, of at most 16 KiB. Each is answered in its place, once durable, as the single request would " +
      "be: with `status` and the account or the problem. One that fails stops no other. Lines of one account are " +
      "done in their order. Blank lines count and are not answered. A last line whose `line` is null says why the " +
      "server ends the stream early. After that, or if the connection breaks, send the lines without an answer " +
      "again, with the same keys. With `dryRun=true` nothing is done or kept: each line is answered as it would be, on " +
      "the ledger as the lines before it would leave it, and what would be done has no `receipt`. A dry run also takes " +
      "reversals, renamings, closings, blocks and unblocks, has at most 200,000 lines, and begins anew if it breaks off.",
    tag: "exchange",
    role: "teller",
    query: bulkQuery,
    lines: "both",
    // A line has its own key and rate table.
    headers: [],
    body: bulkLine,
    example: `${JSON.stringify({ ...exampleHolder, pln: 1000, key: "example-1" })}\n`,
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
    query: exchanges.quoteQuery,
    success: { status: 200, schema: exchanges.quote },
    errors: [...ofPrice, storage, "overloaded"],
  },
  receipt: {
    method: "GET",
    path: "/api/receipts/{id}",
    summary: "One entry, with all that is needed to compute it again",
    description:
      "`Fx-Receipt` in the answer to the request has its path. The beginning of an id is enough, from 8 characters on, " +
      "where no other receipt begins so. Fewer than 18, and a receipt of the house's own money, take the role `operator`.",
    tag: "exchange",
    role: "viewer",
    success: { status: 200, schema: entries.entry },
    errors: ["not-found", storage, "overloaded"],
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
    success: { status: 200, schema: receiptProof },
    errors: ["not-found", storage, "overloaded"],
  },
  ...rateOperations,
  ...changes,
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
    success: { status: 200, schema: entries.statement },
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
    query: accounts.accountsQuery,
    success: { status: 200, schema: accounts.accounts },
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
    query: accounts.atQuery,
    success: { status: 200, schema: position },
    errors: [storage, "overloaded"],
  },
  till: {
    method: "GET",
    path: "/api/till",
    summary: "The cash that passed through a till on a day",
    description:
      "What came in and went out in each currency by the openings, deposits, withdrawals and their reversals of one token " +
      "on one day in Poland. Exchanges move no cash. Nothing is stored: asked again, a day that has ended has the same " +
      "answer and the same `digest`. A teller may see the own till, an operator every till. Where no tokens are in force, " +
      "and without `by`, it counts the entries without a token's name.",
    tag: "ledger",
    role: "teller",
    query: tillQuery,
    success: { status: 200, schema: till },
    errors: [storage, "overloaded"],
  },
  audit: {
    method: "GET",
    path: "/api/audit",
    summary: "Recompute the whole ledger and name every disagreement",
    description:
      "Recomputes every balance and every exchange from the journal and the tables. Audits, checkpoints and positions " +
      "are made one at a time, and can take minutes: from 10 s on, line feeds keep the connection open.",
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
      "Newline-delimited JSON, streamed: a first line, a line for each account by PESEL, and the audit; blank lines mean " +
      "nothing. Keep it elsewhere, and send it to `/api/audit/comparison` to find out whether a ledger is an older copy. " +
      "If the last line is missing, or its `ok` is false, it is no checkpoint.",
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
    example: emptyCheckpoint,
    success: { status: 200, schema: audit },
    errors: [storage, "overloaded"],
  },
  ...fileOperations,
  entries: {
    method: "GET",
    path: "/api/entries",
    summary: "The entries of all accounts as they come, in the order in which they were committed",
    description:
      "A follower that asks again with `next` as `after` sees every entry exactly once, and those of an account in their " +
      "order; an empty page says that there is no later one yet. With `Accept: text/event-stream`, and without `limit`, the " +
      "same as a stream that goes on: each event's `id` is that of the entry, and its `data` the entry as on a page, in one " +
      "line. `Last-Event-ID` counts before `after`. A comment comes at least every 15 s. When the stream ends, because the " +
      "connection breaks, the server stops or the token is revoked, ask again with the last id.",
    tag: "ledger",
    role: "operator",
    query: entries.entriesQuery,
    success: { status: 200, schema: entries.entriesPage, types: ["text/event-stream"] },
    errors: [storage, "overloaded"],
  },
  ...houseOperations,
  ...serverOperations,
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;
