import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { RateTable, TableInForce } from "../core/rates.ts";
import {
  decodeTable,
  encodeAcceptance,
  encodeTable,
  missingTable,
  requireAcceptance,
} from "../ledger/rows.ts";
import type { AcceptedTableRow, RateTableRow, Writes } from "../ledger/store.ts";
import { insertAccepted, insertTable, selectInForce } from "./statements.ts";

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
