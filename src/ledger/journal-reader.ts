import { setImmediate as nextTurn } from "node:timers/promises";
import type { RateTable } from "../core/rates.ts";
import type { JournalRow } from "./rows.ts";
import type { JournalPlace, Store } from "./store.ts";

const pageSize = 1000;

/**
 * Reads the journal from the entry after `after` up to the account `through`, a page at a time, in the order of
 * (pesel, sequence). Orders go on in between: memory stays flat and the event loop is never held for long.
 */
export async function* readJournal(
  store: Store,
  { after, through }: { after?: JournalPlace; through?: string } = {},
): AsyncGenerator<readonly JournalRow[]> {
  let place = after;
  for (;;) {
    const rows = await store.journal({
      after: place,
      ...(through === undefined ? {} : { through }),
      limit: pageSize,
    });
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    place = { pesel: last.pesel, sequence: last.sequence };
    await nextTurn();
  }
}

/** Looks up the stored tables that entries name, each once. */
export class TableReader {
  readonly #store: Store;
  readonly #tables = new Map<string, RateTable | undefined>();

  constructor(store: Store) {
    this.#store = store;
  }

  async table(number: string): Promise<RateTable | undefined> {
    if (!this.#tables.has(number)) this.#tables.set(number, await this.#store.table(number));
    return this.#tables.get(number);
  }
}
