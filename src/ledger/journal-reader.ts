import { setImmediate as nextTurn } from "node:timers/promises";
import type { ExchangeEntry } from "../core/journal.ts";
import { type RateTable, unknownTableId } from "../core/rates.ts";
import type { JournalPlace, JournalRow, Store } from "./store.ts";

/** The id of the table that an exchange was settled at. */
export function tableIdOf({ table, tableId }: ExchangeEntry): string {
  return tableId ?? unknownTableId(table);
}

const pageSize = 1000;

/**
 * Reads the journal from the entry after `after` up to the account `through`, a page at a time, in the order of
 * (pesel, sequence). Orders go on in between: memory stays flat and the event loop is never held for long.
 */
export async function* readJournal(
  store: Store,
  { after, through }: { after?: JournalPlace | undefined; through?: string | undefined } = {},
): AsyncGenerator<readonly JournalRow[]> {
  let place = after;
  for (;;) {
    const rows = await store.journal({ after: place, through, limit: pageSize });
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    place = { pesel: last.pesel, sequence: last.sequence };
    await nextTurn();
  }
}

/** Looks up the stored tables that exchanges were settled at, each once. */
export class TableReader {
  readonly #store: Store;
  readonly #tables = new Map<string, RateTable | undefined>();
  #epochs = new Map<string, number[]>();
  #isCurrent = false;

  constructor(store: Store) {
    this.#store = store;
  }

  async table(id: string): Promise<RateTable | undefined> {
    if (!this.#tables.has(id)) this.#tables.set(id, await this.#store.table(id));
    return this.#tables.get(id);
  }

  /** Has `epoch` look again, once, for what came into force since: to be called for each page of entries. */
  nextPage(): void {
    this.#isCurrent = false;
  }

  /** The first epoch of the ledger, from `least` on, in which a table was in force. */
  async epoch(id: string, least: number): Promise<number | undefined> {
    const find = () => this.#epochs.get(id)?.find((epoch) => epoch >= least);
    const known = find();
    if (known !== undefined || this.#isCurrent) return known;
    this.#epochs = new Map();
    for (const { id, epoch } of await this.#store.acceptedTables()) {
      this.#epochs.set(id, [...(this.#epochs.get(id) ?? []), epoch]);
    }
    this.#isCurrent = true;
    return find();
  }
}
