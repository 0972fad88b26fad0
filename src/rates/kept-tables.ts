import { setImmediate as nextTurn } from "node:timers/promises";
import { addDays, type CalendarDate } from "../core/date.ts";
import type { RateTable, TableLedger } from "../core/rates.ts";

const dayMs = 86_400_000;
/** Of tables that are read before the event loop has its turn: some 3 ms, in which orders wait. */
const sliceDays = 128;

/** The tables that a ledger keeps, each read once. */
export class KeptTables {
  readonly #ledger: TableLedger;
  #version: string | undefined;
  /** By source and number of the slice. */
  #slices = new Map<string, readonly RateTable[]>();

  constructor(ledger: TableLedger) {
    this.#ledger = ledger;
  }

  /** As `TableLedger.tables`, up to the day `through` or some later one. */
  async tables(range: { source: string; since: CalendarDate; through: CalendarDate }): Promise<RateTable[]> {
    const { source, since, through } = range;
    const version = await this.#ledger.tablesVersion();
    if (version !== this.#version) {
      this.#version = version;
      // A new one, so that what is being read for the old one does not get into it.
      this.#slices = new Map();
    }
    const slices = this.#slices;
    const found: RateTable[] = [];
    for (let nth = sliceOf(since); nth <= sliceOf(through); nth += 1) {
      const place = `${source} ${nth}`;
      let slice = slices.get(place);
      if (slice === undefined) {
        const first = new Date(nth * sliceDays * dayMs).toISOString().slice(0, 10);
        slice = await this.#ledger.tables({ source, since: first, before: addDays(first, sliceDays) });
        slices.set(place, slice);
        await nextTurn();
      }
      found.push(...slice);
    }
    return found;
  }
}

function sliceOf(date: CalendarDate): number {
  return Math.floor(Date.parse(date) / dayMs / sliceDays);
}
