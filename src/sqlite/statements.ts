import { journalColumns, lookedAtOnce } from "./links.ts";

/** The SQL of the store. */

export const appendEntry =
  "insert into journal (position, previous, pesel, sequence, idempotency_key, entry, hash) values (?, ?, ?, ?, ?, ?, ?)";
export const insertAccount = "insert into account (pesel, name, surname, newest) values (?, ?, ?, ?)";
export const updateAccount = "update account set newest = ? where pesel = ?";
export const renameAccount = "update account set newest = ?, name = ?, surname = ? where pesel = ?";
export const insertReversal = "insert into reversal (reversed, reversed_by) values (?, ?)";
/** An entry's text begins with its id. */
export const idOf = (journal: string): string => `substr(${journal}.entry, 8, 36)`;
/** The id of the entry's reversal, where the journal is `journal`. */
export const reversedBy =
  `(select ${idOf("later")} from reversal join journal as later on later.position = reversal.reversed_by ` +
  "where reversal.reversed = journal.position) as reversed_by";
/** An account is as its newest entry leaves it; without that entry, which an audit tells, it holds nothing. */
const accountColumns =
  "account.pesel, name, surname, newest, coalesce(sequence, 0) as sequence, coalesce(hash, '') as hash, " +
  "case when entry is null then '{}' when json_valid(entry) then coalesce(entry ->> 'balances', '') else '' end as balances, " +
  "case when json_valid(entry) then entry ->> 'time' else 0 end as time, " +
  "case when json_valid(entry) then entry ->> 'kind' = 'closing' else 0 end as closed";
const fromAccount = "from account left join journal on position = newest and journal.pesel = account.pesel";
export const selectAccount = `select ${accountColumns} ${fromAccount} where account.pesel = ?`;
export const insertTable =
  "insert into rate_table (id, source, number, trading_date, effective_date, rates) values (?, ?, ?, ?, ?, ?) " +
  "on conflict do nothing";
export const insertAccepted =
  "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) values (?, ?, ?, ?, ?)";
export const selectInForce =
  "select epoch, table_id, rate_table.* from accepted_table left join rate_table on id = table_id order by epoch desc limit 1";
export const selectTable = "select * from rate_table where id = ?";
export const selectAccepted =
  "select accepted_table.*, rate_table.* from accepted_table join rate_table on id = table_id order by epoch";
export const selectTables =
  "select rate_table.* from rate_table left join " +
  "(select table_id, max(epoch) as epoch from accepted_table group by table_id) on table_id = id " +
  "where source = ? and effective_date >= ? and effective_date < ? order by effective_date, number, epoch";
export const pageJournal =
  `select ${journalColumns} from journal ` +
  `where position > ? and position <= min(? + ${lookedAtOnce}, ?) and pesel > ? and pesel <= ? order by position limit ?`;
export const spanOfAccounts =
  "select count(*) as count, max(pesel) as through from " +
  "(select pesel from account where pesel > ? and pesel <= ? order by pesel limit ?)";
/** Found from the newest entry of each account to its first. */
export const pageChains = `with recursive chain as (
  select journal.* from account join journal on position = newest and journal.pesel = account.pesel
    where account.pesel > ? and account.pesel <= ?
  union all
  select journal.* from chain join journal
    on journal.position = chain.previous and journal.pesel = chain.pesel and journal.position < chain.position
) select ${journalColumns} from chain order by position`;
/** Takes a PESEL, or the position of the entry that the page comes before, and the limit. */
export const pageStatement = (isFirst: boolean) => `with recursive page as (
  select 1 as nth, * from journal where position =
    (${isFirst ? "select newest from account where pesel = ?" : "select previous from journal where position = ?"})
  union all
  select nth + 1, journal.* from page join journal on journal.position = page.previous where nth < ?
) select journal.*, ${reversedBy} from page as journal`;
export const pageEntries =
  "select entry, hash from journal where position > ? and position <= ? order by position limit ?";
export const pageEntriesBack =
  "select entry, hash from journal where position < ? order by position desc limit ?";
export const pageOfAccounts =
  `select ${accountColumns}, coalesce((select group_concat(word, ' ') from name_word as own ` +
  `where own.pesel = account.pesel), '') as words ${fromAccount}`;
export const pageAccounts = `${pageOfAccounts} where account.pesel > ? order by account.pesel limit ?`;
