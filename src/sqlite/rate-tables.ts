import type { StatementSyncInstance } from "@photostructure/sqlite";
import { endOfTime } from "../core/date.ts";
import type { AcceptedTable, RateTable, TableInForce, TableLedger } from "../core/rates.ts";
import {
  decodeAcceptedTable,
  decodeTable,
  encodeAcceptance,
  encodeTable,
  missingTable,
  requireAcceptance,
} from "../ledger/rows.ts";
import type { AcceptedTableRow, RateTableRow, Writes } from "../ledger/store.ts";
import {
  insertAccepted,
  insertTable,
  selectAccepted,
  selectInForce,
  selectTable,
  selectTables,
} from "./statements.ts";

/** The tables that are kept, and which of them is in force. */
export class RateTables {
  readonly #statement: (sql: string) => StatementSyncInstance;
  /** Undefined until it is read, and where another process may have changed it. */
  #inForce: { readonly value: TableInForce | undefined } | undefined;

  constructor(statement: (sql: string) => StatementSyncInstance) {
    this.#statement = statement;
  }

  /** Call it when another process may have written. */
  forget(): void {
    this.#inForce = undefined;
  }

  inForce(): TableInForce | undefined {
    if (this.#inForce === undefined) {
      const row = this.#statement(selectInForce).get() as
        | (RateTableRow & AcceptedTableRow & { accepted: number; id: string | null })
        | undefined;
      if (row !== undefined) requireAcceptance(row, row.accepted);
      if (row?.id === null) throw missingTable(row.table_id);
      this.#inForce = { value: row && { epoch: row.epoch, table: decodeTable(row) } };
    }
    return this.#inForce.value;
  }

  accepted(): AcceptedTable[] {
    return (this.#statement(selectAccepted).all() as (AcceptedTableRow & RateTableRow)[]).map(
      decodeAcceptedTable,
    );
  }

  of({ source, since, before = endOfTime }: Parameters<TableLedger["tables"]>[0]): RateTable[] {
    return (this.#statement(selectTables).all(source, since, before) as RateTableRow[]).map(decodeTable);
  }

  table(id: string): RateTable | undefined {
    const row = this.#statement(selectTable).get(id) as RateTableRow | undefined;
    return row && decodeTable(row);
  }

  save(table: RateTable): void {
    const { id, source, number, trading_date, effective_date, rates } = encodeTable(table);
    this.#statement(insertTable).get(id, source, number, trading_date, effective_date, rates);
  }

  accept(epoch: number, accepted: NonNullable<Writes["accepted"]>): void {
    this.save(accepted.table);
    const { table_id, accepted_at, overridden_by, hash } = encodeAcceptance(epoch, accepted);
    this.#statement(insertAccepted).get(epoch, table_id, accepted_at, overridden_by, hash);
  }

  /** Call it when what was accepted is committed. */
  accepts(next: TableInForce): void {
    this.#inForce = { value: next };
  }
}
