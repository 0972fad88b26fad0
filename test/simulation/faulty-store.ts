import { FxError } from "../../src/core/errors.ts";
import type { Decision, Loaded, Store, Touch } from "../../src/ledger/store.ts";

/**
 * What goes wrong with the next commit:
 * - "fails": the disk refuses it, and nothing is written;
 * - "answer lost": it is durable, and the store says that it failed;
 * - "dies before", "dies after": the process ends before or after the commit, and nobody is ever answered.
 */
export type Fault = "none" | "fails" | "answer lost" | "dies before" | "dies after";

/** A store that fails on purpose. Whatever it does, `written` tells whether the commit is in the store behind it. */
export class FaultyStore implements Store {
  fault: Fault = "none";
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether a commit has met its end. */
  died = false;

  static written(fault: Fault): boolean {
    return fault === "none" || fault === "answer lost" || fault === "dies after";
  }

  async transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T> {
    const fault = this.fault;
    if (fault === "none") return this.#store.transact(touched, decide);
    if (FaultyStore.written(fault)) await this.#store.transact(touched, decide);
    else await this.#store.transact(touched, (loaded) => abort(decide(loaded))).catch(ignoreAbort);
    if (fault.startsWith("dies")) {
      this.died = true;
      return new Promise(() => {});
    }
    throw new FxError("storage-unavailable", "The disk failed on purpose.");
  }

  look: Store["look"] = (touched, see) => this.#store.look(touched, see);
  account: Store["account"] = (pesel) => this.#store.account(pesel);
  accounts: Store["accounts"] = (page) => this.#store.accounts(page);
  statement: Store["statement"] = (pesel, page) => this.#store.statement(pesel, page);
  entryOf: Store["entryOf"] = (pesel, sequence) => this.#store.entryOf(pesel, sequence);
  journal: Store["journal"] = (page) => this.#store.journal(page);
  lastPosition: Store["lastPosition"] = () => this.#store.lastPosition();
  entriesBetween: Store["entriesBetween"] = (...range) => this.#store.entriesBetween(...range);
  rows: Store["rows"] = (name, page) => this.#store.rows(name, page);
  strayWords: Store["strayWords"] = (range) => this.#store.strayWords(range);
  inForce: Store["inForce"] = () => this.#store.inForce();
  acceptedTables: Store["acceptedTables"] = () => this.#store.acceptedTables();
  acceptTable: Store["acceptTable"] = (table, accepted) => this.#store.acceptTable(table, accepted);
  saveTables: Store["saveTables"] = (tables) => this.#store.saveTables(tables);
  tables: Store["tables"] = (range) => this.#store.tables(range);
  rateHistory: Store["rateHistory"] = (range) => this.#store.rateHistory(range);
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
