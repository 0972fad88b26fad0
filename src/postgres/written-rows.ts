import { holderWords } from "../core/names.ts";
import type { RateTable } from "../core/rates.ts";
import { encodeAcceptance, encodeRefusal, encodeTable } from "../ledger/rows.ts";
import type { Writes } from "../ledger/store.ts";
import type { Parameter } from "./connection.ts";

const writeAccounts =
  "insert into account (pesel, name, surname, sequence) " +
  "select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) " +
  "on conflict (pesel) do update set name = excluded.name, surname = excluded.surname, sequence = excluded.sequence";
const deleteWords = "delete from name_word where pesel = any($1::bigint[])";
const insertWords = "insert into name_word (pesel, word) select * from unnest($1::bigint[], $2::text[])";
const insertEntries = "insert into journal (entry, hash) select * from unnest($1::text[], $2::text[])";
const insertRefusals =
  "insert into refusal (pesel, idempotency_key, digest, code, message, refused_at, asked_by, hash) select * from " +
  "unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[]) " +
  "on conflict (idempotency_key, pesel) do update set position = default, digest = excluded.digest, " +
  "code = excluded.code, message = excluded.message, refused_at = excluded.refused_at, " +
  "asked_by = excluded.asked_by, hash = excluded.hash";
/** Deletes some of the oldest: more than a batch adds, and few enough that orders do not wait. */
const deleteRefusals =
  "delete from refusal where position in (select position from refusal order by position limit 512) " +
  "and (refused_at < $1 or position <= (select max(position) from refusal) - $2::bigint)";
const insertTables =
  "insert into rate_table (id, source, number, trading_date, effective_date, rates) select * from " +
  "unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) on conflict do nothing";
const insertAccepted =
  "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) values ($1, $2, $3, $4, $5)";

/** Its parameters are lists of the same length, one for each column, or values. */
export type SqlStatement = readonly [text: string, parameters: readonly Parameter[]];

/**
 * What writes a decision.
 * @param epoch of the table that comes into force, if one does
 */
export function statementsOf(
  { accounts, entries, accepted, refusals, tables = [] }: Writes,
  epoch: number,
): SqlStatement[] {
  // In the order in which accounts are locked, so that processes that open the same ones do not wait for each other.
  const rows = accounts.toSorted((a, b) => (a.pesel < b.pesel ? -1 : 1));
  const named = new Set(entries.filter(({ entry }) => entry.holder).map(({ entry }) => entry.pesel));
  const renamed = rows.filter(({ pesel }) => named.has(pesel));
  const words = renamed.flatMap((row) => holderWords(row).map((word) => ({ pesel: row.pesel, word })));
  const statements: SqlStatement[] = [
    // First, so that of two processes that put a table in force only one commits.
    ...(accepted === undefined ? [] : acceptStatements(accepted, epoch)),
    listed(writeAccounts, rows, ["pesel", "name", "surname", "sequence"]),
    listed(deleteWords, renamed, ["pesel"]),
    listed(insertWords, words, ["pesel", "word"]),
    listed(insertEntries, entries, ["text", "hash"]),
    ...(refusals === undefined ? [] : refusalStatements(refusals)),
    tableStatement(tables),
  ];
  return statements.filter(([, [first]]) => !(Array.isArray(first) && first.length === 0));
}

function tableStatement(tables: readonly RateTable[]): SqlStatement {
  return listed(insertTables, tables.map(encodeTable), [
    "id",
    "source",
    "number",
    "trading_date",
    "effective_date",
    "rates",
  ]);
}

function acceptStatements(accepted: NonNullable<Writes["accepted"]>, newEpoch: number): SqlStatement[] {
  const { epoch, table_id, accepted_at, overridden_by, hash } = encodeAcceptance(newEpoch, accepted);
  return [
    tableStatement([accepted.table]),
    [insertAccepted, [epoch, table_id, accepted_at, overridden_by, hash]],
  ];
}

function refusalStatements({ kept, limits }: NonNullable<Writes["refusals"]>): SqlStatement[] {
  const columns = [
    ...(["pesel", "idempotency_key", "digest", "code"] as const),
    ...(["message", "refused_at", "asked_by", "hash"] as const),
  ];
  return [
    listed(insertRefusals, kept.map(encodeRefusal), columns),
    [deleteRefusals, [limits.since.getTime(), limits.most]],
  ];
}

/** A statement that takes a list for each of the columns. */
function listed<Column extends string>(
  text: string,
  rows: readonly Readonly<Record<Column, string | number | null>>[],
  columns: readonly Column[],
): SqlStatement {
  return [text, columns.map((column) => rows.map((row) => row[column]))];
}
