import { endOfTime } from "../core/date.ts";
import type { Acceptance, AcceptedTable, RateOfTable, RateTable, TableLedger } from "../core/rates.ts";
import { planAcceptance } from "../ledger/acceptance.ts";
import { decodeAcceptedTable, decodeRate, decodeTable } from "../ledger/rows.ts";
import type { AcceptedTableRow, Decision, Loaded, RateTableRow, Touch } from "../ledger/store.ts";
import { selectAccepted, selectRates, selectTable, selectTables } from "./statements.ts";

/** A row of a database. Whole numbers come as numbers. */
export type SqlRow = Readonly<Record<string, unknown>>;
export type SqlValue = string | number;

/** The reading half of a store. Its SQL is the same in every database. */
export abstract class SqlReader {
  /** Reads rows. The statement's parameters are ?1, ?2 and so on. */
  protected abstract select(sql: string, ...parameters: SqlValue[]): Promise<readonly SqlRow[]>;
  abstract transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T>;

  async acceptedTables(): Promise<readonly AcceptedTable[]> {
    const rows = await this.select(selectAccepted);
    return rows.map((row) => decodeAcceptedTable(row as unknown as AcceptedTableRow & RateTableRow));
  }

  acceptTable(table: RateTable, acceptance: Acceptance): Promise<boolean> {
    return this.transact([], planAcceptance(table, acceptance));
  }

  async tables({
    source,
    since,
    before = endOfTime,
  }: Parameters<TableLedger["tables"]>[0]): Promise<RateTable[]> {
    const rows = await this.select(selectTables, source, since, before);
    return rows.map((row) => decodeTable(row as unknown as RateTableRow));
  }

  async table(id: string): Promise<RateTable | undefined> {
    const [row] = await this.select(selectTable, id);
    return row && decodeTable(row as unknown as RateTableRow);
  }

  async rateHistory({
    source,
    currency,
    since,
    until,
  }: Parameters<TableLedger["rateHistory"]>[0]): Promise<readonly RateOfTable[]> {
    const rows = (await this.select(selectRates, source, since, until)) as unknown as RateTableRow[];
    // The last of several rows under one number is the one that was in force last.
    const lastOfNumber = new Map(rows.map((row) => [row.number, row]));
    return [...lastOfNumber.values()].flatMap((row) => decodeRate(row, currency) ?? []);
  }
}
