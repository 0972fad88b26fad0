/** SQL that every database of fx understands. */

export const selectTable = "select * from rate_table where id = ?1";
export const selectAccepted =
  "select accepted_table.*, rate_table.* from accepted_table join rate_table on id = table_id order by epoch";
const tablesOfDays =
  "from rate_table left join " +
  "(select table_id, max(epoch) as epoch from accepted_table group by table_id) as accepted on table_id = id " +
  "where source = ?1 and effective_date >= ?2 and effective_date";
const oldestFirst = "order by effective_date, number, coalesce(epoch, 0)";
export const selectTables = `select rate_table.* ${tablesOfDays} < ?3 ${oldestFirst}`;
export const selectRates = `select number, effective_date, rates ${tablesOfDays} <= ?3 ${oldestFirst}`;
