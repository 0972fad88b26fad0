/** The SQL of the store. */

export const appendEntry = "insert into journal (entry, hash) values (?, ?)";
export const insertAccount = "insert into account (pesel, name, surname, sequence) values (?, ?, ?, ?)";
export const updateAccount = "update account set sequence = ? where pesel = ?";
export const renameAccount = "update account set sequence = ?, name = ?, surname = ? where pesel = ?";

export const insertTable =
  "insert into rate_table (id, source, number, trading_date, effective_date, rates) values (?, ?, ?, ?, ?, ?) " +
  "on conflict do nothing";
export const insertAccepted =
  "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) values (?, ?, ?, ?, ?)";
