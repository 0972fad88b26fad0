import { FxError } from "../../src/core/errors.ts";
import type { Decision, LedgerView, Lookup, Store } from "../../src/ledger/store.ts";

/**
 * The fault of the next commit:
 * - "fails": the disk refuses it, and nothing is written;
 * - "answer lost": it is durable, but the store reports a failure;
 * - "dies before", "dies after": the process ends before or after the commit, and no caller gets an answer.
 */
export type Fault = "none" | "fails" | "answer lost" | "dies before" | "dies after";

/** A store that fails on purpose. `written` tells for a fault whether its commit is durable. */
export class FaultyStore implements Store {
  fault: Fault = "none";
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether a "dies" fault has occurred. */
  died = false;

  static written(fault: Fault): boolean {
    return fault === "none" || fault === "answer lost" || fault === "dies after";
  }

  async transact<T>(lookups: readonly Lookup[], decide: (view: LedgerView) => Decision<T>): Promise<T> {
    const fault = this.fault;
    if (fault === "none") return this.#store.transact(lookups, decide);
    if (FaultyStore.written(fault)) await this.#store.transact(lookups, decide);
    else await this.#store.transact(lookups, (view) => abort(decide(view))).catch(ignoreAbort);
    if (fault.startsWith("dies")) {
      this.died = true;
      return new Promise(() => {});
    }
    throw new FxError("storage-unavailable", "The disk failed on purpose.");
  }

  read: Store["read"] = (lookups, see) => this.#store.read(lookups, see);
  account: Store["account"] = (pesel) => this.#store.account(pesel);
  accounts: Store["accounts"] = (page) => this.#store.accounts(page);
  statement: Store["statement"] = (pesel, page) => this.#store.statement(pesel, page);
  entries: Store["entries"] = (page) => this.#store.entries(page);
  journalEnd: Store["journalEnd"] = () => this.#store.journalEnd();
  entriesBetween: Store["entriesBetween"] = (...range) => this.#store.entriesBetween(...range);
  positionsBetween: Store["positionsBetween"] = (ids) => this.#store.positionsBetween(ids);
  rows: Store["rows"] = (name, page) => this.#store.rows(name, page);
  besideEntries: Store["besideEntries"] = (pesel) => this.#store.besideEntries(pesel);
  orphanWords: Store["orphanWords"] = (range) => this.#store.orphanWords(range);
  inForce: Store["inForce"] = () => this.#store.inForce();
  acceptedTables: Store["acceptedTables"] = () => this.#store.acceptedTables();
  acceptTable: Store["acceptTable"] = (table, accepted) => this.#store.acceptTable(table, accepted);
  saveTables: Store["saveTables"] = (tables) => this.#store.saveTables(tables);
  tables: Store["tables"] = (range) => this.#store.tables(range);
  table: Store["table"] = (id) => this.#store.table(id);
  ping: Store["ping"] = () => this.#store.ping();
  close: Store["close"] = () => this.#store.close();
}

class Abort extends Error {}

function abort(_decided: unknown): never {
  throw new Abort("decided, and not committed");
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Abort)) throw error;
}
