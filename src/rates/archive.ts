import { type RateTable, sameTable } from "../core/rates.ts";

/** Where tables outlast the process, and where sister processes find them. The ledger's Store is one. */
export interface TableArchive {
  /** Keeps tables. One kept under the same number before stays as it is. */
  saveTables(tables: readonly RateTable[]): Promise<void>;
  /** The newest so many, oldest first. */
  tables(range: { last: number }): Promise<RateTable[]>;
  table(number: string): Promise<RateTable | undefined>;
}

/**
 * Keeps `table` before it comes into force.
 * @throws Error if the archive says something else under its number: nobody could audit an exchange at it then
 */
export async function keepTable(archive: TableArchive, table: RateTable): Promise<void> {
  await archive.saveTables([table]);
  const kept = await archive.table(table.number);
  if (kept !== undefined && sameTable(kept, table)) return;
  throw new Error(
    `Table ${table.number} is not the one that the database holds under that number. Only one can be the bank's.`,
  );
}
