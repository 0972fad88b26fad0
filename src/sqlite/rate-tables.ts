import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { RateTable, TableInForce } from "../core/rates.ts";
import { decodeInForce, encodeAcceptance, encodeTable } from "../ledger/rows.ts";
import type { Writes } from "../ledger/store.ts";
import { selectInForce } from "../sql/statements.ts";
import { insertAccepted, insertTable } from "./statements.ts";

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
      const row = this.#statement(selectInForce).get();
      this.#inForce = { value: row && decodeInForce(row) };
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
