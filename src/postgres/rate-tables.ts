import type { RateTable, TableInForce } from "../core/rates.ts";
import { decodeTable, missingTable } from "../ledger/rows.ts";
import type { RateTableRow } from "../ledger/store.ts";
import type { Connection } from "./connection.ts";

const selectInForce = "select epoch, table_id from accepted_table order by epoch desc limit $1";
export const tableColumns = ["id", "source", "number", "trading_date", "effective_date", "rates"] as const;
const tableList = tableColumns.join(", ");
const selectTable = `select ${tableList} from rate_table where id = $1`;
export const selectTables =
  `select ${tableList} from rate_table left join ` +
  "(select table_id, max(epoch) as epoch from accepted_table group by table_id) as accepted on table_id = id " +
  "where source = $1 and effective_date >= $2 and effective_date < $3 " +
  "order by effective_date, number, coalesce(epoch, 0)";
/** The table in force, as the connection's transaction sees it. `tables` are those that are known, by id. */
export async function readInForce(
  connection: Connection,
  tables: Map<string, RateTable>,
): Promise<TableInForce | undefined> {
  const [row] = await connection.query(selectInForce, [1]);
  if (row === undefined) return undefined;
  const id = String(row.table_id);
  const table = tables.get(id) ?? (await loadTable(connection, id));
  if (table === undefined) throw missingTable(id);
  tables.set(id, table);
  return { epoch: Number(row.epoch), table };
}

export async function loadTable(connection: Connection, id: string): Promise<RateTable | undefined> {
  const [row] = await connection.query(selectTable, [id]);
  return row && decodeTable(row as unknown as RateTableRow);
}
