import {
  accountColumns,
  foundColumns,
  foundFrom,
  holderColumns,
  joinAccount,
  joinHolder,
} from "../sql/statements.ts";
import { type ListType, listOf } from "./connection.ts";
import { tableColumns } from "./rate-tables.ts";

/** The SQL of accounts, entries and refusals. */

const typeOf: Readonly<Record<string, ListType>> = {
  pesel: "bigint",
  sequence: "bigint",
  refused_at: "bigint",
};

export const writtenColumns = ["pesel", "name", "surname", "sequence"] as const;
export const wordColumns = ["pesel", "word"] as const;

/** Entries as `foundEntry` reads them, with what they are found by. */
const selectFound = `select journal.id, journal.pesel, journal.idempotency_key, ${foundColumns} ${foundFrom}`;
/** Takes a list of PESELs. */
export const selectAccounts = `select ${accountColumns} from unnest(${listOf(1, "bigint")}) as wanted (pesel) ${joinAccount}`;

/** Rows as parameters, a column each: one statement, prepared once, takes any number of them. */
const unnest = (columns: readonly string[], types = typeOf): string =>
  `unnest(${columns.map((column, index) => listOf(index + 1, types[column] ?? "text")).join(", ")})`;

/**
 * Holds inside the transaction whose token the parameter of this number is, and is an error everywhere else. So a write
 * that a driver repeats, or a pooler hands to another session, writes nothing, and the COMMIT after it rolls back.
 */
const inTransaction = (number: number): string =>
  `(case when current_setting('fx.transaction', true) = $${number} then 'true' ` +
  "else 'a write outside of its transaction; a pooler must be in session mode' end)::boolean";

const insertInto = (table: string, columns: readonly string[], types = typeOf): string =>
  `insert into ${table} (${columns.join(", ")}) select * from ${unnest(columns, types)} ` +
  `where ${inTransaction(columns.length + 1)}`;

export const lockAccounts = `select pesel from account where pesel = any(${listOf(1, "bigint")}) order by pesel for update`;
export const findKeys =
  `select journal.pesel, journal.idempotency_key, ${foundColumns}, ${holderColumns} ${foundFrom} ${joinHolder} ` +
  `join ${unnest(["pesel", "key"])} as k (pesel, key) ` +
  "on journal.pesel = k.pesel and journal.idempotency_key = k.key";
export const refusalColumns = [
  "pesel",
  "idempotency_key",
  "digest",
  "code",
  "message",
  "refused_at",
  "asked_by",
  "hash",
] as const;
export const findRefusals =
  `select ${refusalColumns.map((column) => `r.${column}`).join(", ")} ` +
  `from ${unnest(["pesel", "key"])} as k (pesel, key) join refusal r on r.pesel = k.pesel and r.idempotency_key = k.key`;
export const insertRefusals =
  `${insertInto("refusal", refusalColumns)} on conflict (idempotency_key, pesel) do update set ` +
  "position = default, digest = excluded.digest, code = excluded.code, message = excluded.message, refused_at = excluded.refused_at, " +
  "asked_by = excluded.asked_by, hash = excluded.hash";
/** Deletes some of the oldest: more than a batch adds, and few enough that orders do not wait. */
export const deleteRefusals =
  "delete from refusal where position in (select position from refusal order by position limit 512) " +
  "and (refused_at < $1::bigint or position <= (select max(position) from refusal) - $2::bigint) " +
  `and ${inTransaction(3)}`;
export const findEntries = `select id, hash from journal where id = any(${listOf(1, "uuid")})`;
export const findEpochs = `select epoch, table_id from accepted_table where epoch = any(${listOf(1, "bigint")})`;
export const insertAccounts = insertInto("account", writtenColumns);
const updateOf = (columns: readonly string[]): string =>
  `update account set ${columns
    .filter((column) => column !== "pesel")
    .map((column) => `${column} = n.${column}`)
    .join(", ")} ` +
  `from ${unnest(columns)} as n (${columns.join(", ")}) where account.pesel = n.pesel ` +
  `and ${inTransaction(columns.length + 1)}`;
export const updateAccounts = updateOf(["pesel", "sequence"]);
export const renameAccounts = updateOf(["pesel", "name", "surname"]);
export const deleteWords = `delete from name_word where pesel = any(${listOf(1, "bigint")}) and ${inTransaction(2)}`;
export const insertWords = insertInto("name_word", wordColumns);
export const findReversed = `${selectFound} where journal.id = any(${listOf(1, "uuid")})`;
export const insertEntries = insertInto("journal", ["entry", "hash"]);
export const insertAccepted =
  "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) " +
  `select $1::bigint, $2::text, $3::bigint, $4::text, $5::text where ${inTransaction(6)}`;
export const insertTables = `${insertInto("rate_table", tableColumns, {})} on conflict do nothing`;
