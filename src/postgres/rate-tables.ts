import type { RateTable, TableInForce } from "../core/rates.ts";
import { decodeTable, missingTable, requireAcceptance } from "../ledger/rows.ts";
import type { AcceptedTableRow, RateTableRow } from "../ledger/store.ts";
import type { Connection } from "./connection.ts";

const selectInForce = "select * from accepted_table order by epoch desc limit $1";
export const tableColumns = ["id", "source", "number", "trading_date", "effective_date", "rates"] as const;
const tableList = tableColumns.join(", ");
const selectTable = `select ${tableList} from rate_table where id = $1`;
/** Rate tables that this process has read. */
export interface KnownTables {
  readonly byId: Map<string, RateTable>;
  inForce: TableInForce | undefined;
}

/**
 * The table in force, as the connection's transaction sees it.
 * @throws DamagedLedger if the ledger does not have it, or does not have all epochs before it
 */
export async function readInForce(
  connection: Connection,
  known: KnownTables,
): Promise<TableInForce | undefined> {
  const [row] = await connection.query(selectInForce, [1]);
  if (row === undefined) return undefined;
  const id = String(row.table_id);
  const epoch = Number(row.epoch);
  if (known.inForce?.epoch === epoch && known.inForce.table.id === id) return known.inForce;
  const [counted] = await connection.query("select count(*)::int as count from accepted_table");
  requireAcceptance(row as unknown as AcceptedTableRow, Number(counted?.count));
  const table = known.byId.get(id) ?? (await loadTable(connection, id));
  if (table === undefined) throw missingTable(id);
  known.byId.set(id, table);
  known.inForce = { epoch, table };
  return known.inForce;
}

async function loadTable(connection: Connection, id: string): Promise<RateTable | undefined> {
  const [row] = await connection.query(selectTable, [id]);
  return row && decodeTable(row as unknown as RateTableRow);
}
