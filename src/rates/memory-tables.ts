import { endOfTime } from "../core/date.ts";
import type { Acceptance, AcceptedTable, RateTable, TableInForce, TableLedger } from "../core/rates.ts";

/** The tables that a process has judged for itself alone, where its ledger does not say. They are lost when it ends. */
export class MemoryTables implements TableLedger {
  readonly #accepted: (AcceptedTable & { readonly table: RateTable })[] = [];
  #saved: readonly RateTable[] = [];

  async inForce(): Promise<TableInForce | undefined> {
    return this.current;
  }

  get current(): TableInForce | undefined {
    return this.#accepted.at(-1);
  }

  async acceptedTables(): Promise<readonly AcceptedTable[]> {
    return this.#accepted;
  }

  async acceptTable(table: RateTable, { epoch, at, overriddenBy }: Acceptance): Promise<boolean> {
    const { id, source, number } = table;
    this.#accepted.push({ epoch: epoch + 1, id, source, number, at, overriddenBy, table });
    return true;
  }

  async saveTables(tables: readonly RateTable[]): Promise<void> {
    this.#saved = tables;
  }

  async tables({ source, since, before = endOfTime }: Parameters<TableLedger["tables"]>[0]) {
    const all = [...this.#saved, ...this.#accepted.map(({ table }) => table)];
    return all
      .filter(
        (table) => table.source === source && table.effectiveDate >= since && table.effectiveDate < before,
      )
      .sort((a, b) => (a.effectiveDate < b.effectiveDate ? -1 : 1));
  }

  async tablesVersion(): Promise<string> {
    return `${this.#saved.length} ${this.#accepted.length}`;
  }
}
