import type { StatementSyncInstance } from "@photostructure/sqlite";
import { holderWords } from "../core/names.ts";
import { encodeAcceptance, encodeRefusal, encodeTable } from "../ledger/rows.ts";
import type { Writes } from "../ledger/store.ts";

const insertEntry = "insert into journal (entry, hash) values (?, ?)";
const writeAccount =
  "insert into account (pesel, name, surname, sequence) values (?, ?, ?, ?) on conflict (pesel) " +
  "do update set name = excluded.name, surname = excluded.surname, sequence = excluded.sequence";
const deleteWords = "delete from name_word where pesel = ?";
const insertWord = "insert into name_word (pesel, word) values (?, ?)";
const writeRefusal =
  "insert or replace into refusal (pesel, idempotency_key, digest, code, message, refused_at, asked_by, hash) " +
  "values (:pesel, :idempotency_key, :digest, :code, :message, :refused_at, :asked_by, :hash)";
/** Looks at as many of the oldest as the last parameter says. */
const deleteRefusals =
  "delete from refusal where (refused_at < ? or position <= (select max(position) from refusal) - ?) " +
  "and position in (select position from refusal order by position limit ?)";
const insertTable =
  "insert into rate_table (id, source, number, trading_date, effective_date, rates) " +
  "values (:id, :source, :number, :trading_date, :effective_date, :rates) on conflict do nothing";
const insertAccepted =
  "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) " +
  "values (:epoch, :table_id, :accepted_at, :overridden_by, :hash)";

/**
 * Writes what was decided, within a transaction.
 * @param epochInForce of the table that was in force before; 0 without one
 */
export function writeRows(
  { accounts, entries, refusals, tables = [], accepted }: Writes,
  prepared: (sql: string) => StatementSyncInstance,
  epochInForce: () => number,
): void {
  const entry = prepared(insertEntry);
  for (const { text, hash } of entries) entry.run(text, hash);
  const named = new Set(entries.map(({ entry: { holder, pesel } }) => holder && pesel));
  for (const account of accounts) {
    const pesel = Number(account.pesel);
    prepared(writeAccount).run(pesel, account.name, account.surname, account.sequence);
    if (!named.has(account.pesel)) continue;
    prepared(deleteWords).run(pesel);
    for (const word of holderWords(account)) prepared(insertWord).run(pesel, word);
  }
  if (refusals !== undefined) keepRefusals(refusals, prepared);
  const kept = accepted === undefined ? tables : [...tables, accepted.table];
  for (const table of kept) prepared(insertTable).run({ ...encodeTable(table) });
  if (accepted === undefined) return;
  prepared(insertAccepted).run({ ...encodeAcceptance(epochInForce() + 1, accepted) });
}

function keepRefusals(
  { kept, limits }: NonNullable<Writes["refusals"]>,
  prepared: (sql: string) => StatementSyncInstance,
): void {
  for (const refusal of kept) {
    const row = encodeRefusal(refusal);
    prepared(writeRefusal).run({ ...row, pesel: Number(row.pesel) });
  }
  // Twice as many as were added, so that those that are to go do not pile up.
  prepared(deleteRefusals).run(limits.since.getTime(), limits.most, 2 * kept.length);
}
