/** The SQL of the store. */

export const appendEntry = "insert into journal (entry, hash) values (?, ?)";
export const insertAccount = "insert into account (pesel, name, surname, sequence) values (?, ?, ?, ?)";
export const updateAccount = "update account set sequence = ? where pesel = ?";
export const renameAccount = "update account set sequence = ?, name = ?, surname = ? where pesel = ?";

/** Entries as `foundEntry` reads them. */
export const selectFound =
  "select journal.entry, journal.hash, (select before.hash from journal as before " +
  "where before.pesel = journal.pesel and before.sequence = journal.sequence - 1) as hash_before, " +
  "later.id as reversed_by, later.pesel as reversed_for " +
  "from journal left join journal as later on later.reverses = journal.id";
/** Rows as `decodeAccount` reads them, of `wanted`. */
const accountColumns =
  "wanted.pesel, account.name, account.surname, account.sequence, newest.entry, newest.hash, " +
  "(select before.hash from journal as before " +
  "where before.pesel = newest.pesel and before.sequence = newest.sequence - 1) as hash_before";
const newestEntry =
  "left join journal as newest on newest.pesel = wanted.pesel " +
  "and newest.sequence = (select max(sequence) from journal as one where one.pesel = wanted.pesel)";
export const selectAccount =
  `select ${accountColumns} from (select ? as pesel) as wanted ` +
  `left join account on account.pesel = wanted.pesel ${newestEntry}`;
export const pageOfAccounts =
  `select ${accountColumns}, coalesce((select group_concat(word, ' ') from name_word as own ` +
  "where own.pesel = wanted.pesel), '') as words " +
  `from account as wanted join account on account.pesel = wanted.pesel ${newestEntry}`;
export const pageAccounts = `${pageOfAccounts} where wanted.pesel > ? order by wanted.pesel limit ?`;
export const spanOfAccounts =
  "select count(*), max(pesel) from (select pesel from account where pesel > ? order by pesel limit ?)";

/** Entries that a page of the journal looks at: some 1 ms. */
export const lookedAtOnce = 5_000;
const journalColumns = "position, pesel, sequence, entry, hash";
export const pageJournal =
  `select ${journalColumns} from journal ` +
  `where position > ? and position <= min(? + ${lookedAtOnce}, ?) and pesel > ? and pesel <= ? order by position limit ?`;
export const pageEntries = "select entry, hash from journal where id > ? and id <= ? order by id limit ?";
export const pageEntriesBack = "select entry, hash from journal where id < ? order by id desc limit ?";
export const pageStatement = `${selectFound} where journal.pesel = ? and journal.sequence < ? order by journal.sequence desc limit ?`;

export const insertTable =
  "insert into rate_table (id, source, number, trading_date, effective_date, rates) values (?, ?, ?, ?, ?, ?) " +
  "on conflict do nothing";
export const selectInForce =
  "select accepted_table.*, (select count(*) from accepted_table) as accepted, rate_table.* from accepted_table left join rate_table on id = table_id order by epoch desc limit 1";
export const insertAccepted =
  "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) values (?, ?, ?, ?, ?)";
