import type { KeptRows } from "../ledger/store.ts";

/** SQL that is the same in every database. */

/** Entries as `foundEntry` reads them. */
export const foundColumns =
  "journal.entry, journal.hash, (select before.hash from journal as before " +
  "where before.pesel = journal.pesel and before.sequence = journal.sequence - 1) as hash_before, " +
  "later.id as reversed_by, later.pesel as reversed_for";
export const foundFrom = "from journal left join journal as later on later.reverses = journal.id";
export const pageStatement =
  `select ${foundColumns} ${foundFrom} where journal.pesel = ?1 and journal.sequence < ?2 ` +
  "order by journal.sequence desc limit ?3";
export const entriesBetween = `select ${foundColumns} ${foundFrom} where journal.id between ?1 and ?2 limit ?3`;

const newestOf = (column: string, offset = 0): string =>
  `(select one.${column} from journal as one where one.pesel = wanted.pesel order by one.sequence desc limit 1 offset ${offset})`;
/** Accounts as `decodeAccount` reads them, of the PESELs in `wanted`. */
export const accountColumns =
  "wanted.pesel, account.name, account.surname, account.sequence, " +
  `${newestOf("entry")} as entry, ${newestOf("hash")} as hash, ${newestOf("hash", 1)} as hash_before`;
export const joinAccount = "left join account on account.pesel = wanted.pesel";
export const oneAccount = `select ${accountColumns} from (select cast(?1 as bigint) as pesel) as wanted ${joinAccount}`;

/**
 * Takes the PESEL to go on after, the limit, and for each word what it begins with and what comes after all such words.
 * Accounts are found by the first word, and looked at for the others.
 */
export function pageAccounts(words: number): string {
  const begins = (nth: number) => `word >= ?${2 * nth + 3} and word < ?${2 * nth + 4}`;
  const others = Array.from(
    { length: words - 1 },
    (_, index) =>
      "and exists (select 1 from name_word as other " +
      `where other.pesel = name_word.pesel and ${begins(index + 1)}) `,
  );
  const where =
    words === 0
      ? "wanted.pesel > ?1"
      : `wanted.pesel in (select pesel from name_word where ${begins(0)} and pesel > ?1 ` +
        `group by pesel having true ${others.join("")}order by pesel limit ?2)`;
  return (
    `select ${accountColumns} from account as wanted ${joinAccount} ` +
    `where ${where} order by wanted.pesel limit ?2`
  );
}
/** The rows of a table; those of accounts with the words that they are found by. */
export function selectRows(table: keyof KeptRows): string {
  const words =
    "coalesce((select string_agg(word, ' ') from name_word where name_word.pesel = account.pesel), '') as words";
  return table === "account" ? `select account.*, ${words} from account` : `select * from ${table}`;
}
/** PESELs that words lead to, and that have no account. */
export const strayWords =
  "select distinct pesel from name_word where pesel > ?1 and pesel <= ?2 " +
  "and not exists (select 1 from account where account.pesel = name_word.pesel)";

export const pageJournal =
  "select position, pesel, sequence, entry, hash from journal where position > ?1 and position <= ?2 " +
  "order by position limit ?3";
export const lastPosition = "select coalesce(max(position), 0) as position from journal";

/** Columns of `answeredEntry`, beside those of `foundEntry`, and the join that they need. */
export const holderColumns =
  "named.entry as holder_entry, named.hash as holder_hash, (select before.hash from journal as before " +
  "where before.pesel = named.pesel and before.sequence = named.sequence - 1) as holder_hash_before";
export const joinHolder =
  "left join journal as named on named.pesel = journal.pesel and named.sequence = (" +
  "select max(one.sequence) from journal as one " +
  "where one.pesel = journal.pesel and one.sequence <= journal.sequence and one.name is not null)";
export const entryOfAccount =
  `select ${foundColumns}, ${holderColumns} ${foundFrom} ${joinHolder} ` +
  "where journal.pesel = ?1 and journal.sequence = ?2";

export const selectTable = "select * from rate_table where id = ?1";
export const selectInForce =
  "select accepted_table.*, (select count(*) from accepted_table) as accepted, rate_table.* " +
  "from accepted_table left join rate_table on id = table_id order by epoch desc limit 1";
export const selectAccepted =
  "select accepted_table.*, rate_table.* from accepted_table join rate_table on id = table_id order by epoch";
const tablesOfDays =
  "from rate_table left join " +
  "(select table_id, max(epoch) as epoch from accepted_table group by table_id) as accepted on table_id = id " +
  "where source = ?1 and effective_date >= ?2 and effective_date";
const oldestFirst = "order by effective_date, number, coalesce(epoch, 0)";
export const selectTables = `select rate_table.* ${tablesOfDays} < ?3 ${oldestFirst}`;
export const selectRates = `select number, effective_date, rates ${tablesOfDays} <= ?3 ${oldestFirst}`;
