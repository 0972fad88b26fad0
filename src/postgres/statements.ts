import { type ListType, listOf } from "./connection.ts";
import { tableColumns } from "./rate-tables.ts";

/** The SQL of accounts, entries and refusals. */

const typeOf: Readonly<Record<string, ListType>> = {
  pesel: "bigint",
  sequence: "bigint",
  refused_at: "bigint",
};

export const accountColumns = ["pesel", "name", "surname", "sequence"] as const;
export const wordColumns = ["pesel", "word"] as const;

/** Entries as `foundEntry` reads them. */
export const selectFound =
  "select journal.entry, journal.hash, (select before.hash from journal as before " +
  "where before.pesel = journal.pesel and before.sequence = journal.sequence - 1) as hash_before, " +
  "journal.id, journal.pesel, journal.idempotency_key, later.id as reversed_by, later.pesel as reversed_for " +
  "from journal left join journal as later on later.reverses = journal.id";

/** Rows as `decodeAccount` reads them, of `wanted`. */
const accountList =
  "wanted.pesel, account.name, account.surname, account.sequence, newest.entry, newest.hash, newest.hash_before";
/** An account's row and its newest entry, each where there is one. */
const joinAccount =
  "left join account on account.pesel = wanted.pesel left join lateral (select entry, hash, " +
  "(select before.hash from journal as before " +
  "where before.pesel = one.pesel and before.sequence = one.sequence - 1) as hash_before " +
  "from journal as one where one.pesel = wanted.pesel order by one.sequence desc limit 1) as newest on true";
/** Takes a list of PESELs. */
export const selectAccounts = `select ${accountList} from unnest(${listOf(1, "bigint")}) as wanted (pesel) ${joinAccount}`;

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

/** Whether a word begins as the parameter does: no letter sorts after the one added to the end of the range. */
const begins = (nth: number): string => `word >= $${nth} and word < $${nth} || chr(${0x10ffff})`;
/** Takes the PESEL to go on after, the limit, and as many words. */
export const pageAccounts = (words: number): string =>
  `select ${accountList}, coalesce((select string_agg(word, ' ') from name_word as own ` +
  `where own.pesel = wanted.pesel), '') as words from account as wanted ${joinAccount} where wanted.pesel > $1` +
  Array.from(
    { length: words },
    (_, index) =>
      ` and exists (select 1 from name_word where name_word.pesel = wanted.pesel and ${begins(index + 3)})`,
  ).join("") +
  " order by wanted.pesel limit $2";
export const spanOfAccounts =
  "select count(*) as count, max(pesel) as through from " +
  "(select pesel from account where pesel > $1 order by pesel limit $2) as span";
export const lockAccounts = `select pesel from account where pesel = any(${listOf(1, "bigint")}) order by pesel for update`;
export const findKeys =
  `${selectFound} join ${unnest(["pesel", "key"])} as k (pesel, key) ` +
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
export const insertAccounts = insertInto("account", accountColumns);
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
