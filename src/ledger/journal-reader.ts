import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import type { Entry } from "../core/journal.ts";
import type { RateTable } from "../core/rates.ts";
import { clockToleranceMs } from "./clock.ts";
import { DamagedLedger } from "./damage.ts";
import { isEntryId } from "./entry-id.ts";
import type { FoundEntry, JournalPlace, JournalRow, Store } from "./store.ts";

/** A page takes some 4 ms, in which orders wait. */
const pageSize = 250;
/** The same of an export, which takes longer for each entry. */
const exportedAtOnce = 100;

/** Is waited for before each page of a long read, so that others are served. */
export type Pause = () => Promise<void>;

/**
 * Where a read rests, as in a server, a pause lasts as long as the page before it took; otherwise, a turn of the event
 * loop. A pause fails once nobody waits for the read.
 */
export function pauses({ rests, signal }: { rests: boolean; signal?: AbortSignal | undefined }): Pause {
  let startedMs = performance.now();
  return async () => {
    if (rests) await sleep(performance.now() - startedMs);
    else await nextTurn();
    if (signal?.aborted) throw new FxError("unreachable", "Nobody waits for it any more.");
    startedMs = performance.now();
  };
}

/**
 * Reads the entries of the accounts after `after` up to `through`, a page at a time, those of each account in their
 * order. Orders go on in between.
 */
export async function* readJournal(
  store: Store,
  range: JournalRange = {},
  pause: Pause = nextTurn,
): AsyncGenerator<readonly JournalRow[]> {
  let place: JournalPlace | undefined;
  do {
    await pause();
    const { rows, next } = await store.journal({ ...range, place, limit: pageSize });
    yield rows;
    place = next;
  } while (place !== undefined);
}

interface JournalRange {
  readonly after?: string | undefined;
  readonly through?: string | undefined;
}

/**
 * Reads the entries that there are now in the order in which they were made, a page at a time. Of an account those are
 * the first ones, up to any.
 */
export async function* readEntries(store: Store, pause: Pause = nextTurn): AsyncGenerator<readonly Entry[]> {
  const through = await store.newestEntry();
  let after: string | undefined;
  while (after !== through) {
    await pause();
    const found = await store.entries({ after, through, limit: exportedAtOnce });
    yield found.map(({ entry }) => entry);
    // The newest could only be missing if the ledger was changed by hand.
    after = found.at(-1)?.entry.id ?? through;
  }
}

/** The same from the newest back, those that there were at first. */
export async function* readEntriesBack(store: Store, pause: Pause): AsyncGenerator<readonly Entry[]> {
  let before: string | undefined;
  for (;;) {
    await pause();
    const found = await store.entriesBefore({ before, limit: pageSize });
    if (found.length === 0) return;
    yield found.map(({ entry }) => entry);
    before = found.at(-1)?.entry.id;
  }
}

/** The entry of this id, if it is there and can be read; an audit tells of others where their accounts are. */
export async function readableEntry(store: Store, id: string): Promise<FoundEntry | undefined> {
  if (!isEntryId(id)) return undefined;
  try {
    return await store.entry(id);
  } catch (error) {
    if (error instanceof DamagedLedger) return undefined;
    throw error;
  }
}

/** A time in which a table was in force. */
interface Term {
  readonly epoch: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The stored tables that exchanges were settled at. Each is looked up once. */
export class TableReader {
  readonly #store: Store;
  readonly #tables = new Map<string, () => RateTable | undefined>();
  #terms = new Map<string, Term[]>();
  #isCurrent = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws FxError internal if there is no such table */
  async required(id: string): Promise<RateTable> {
    if (!this.#tables.has(id)) await this.#look(id);
    const table = this.loaded(id);
    if (table !== undefined) return table;
    throw new FxError("internal", `Table ${id} is missing from the store. Run fx audit.`);
  }

  /**
   * A table that `load` has looked up.
   * @throws Error if its row cannot be read
   */
  loaded(id: string): RateTable | undefined {
    return this.#tables.get(id)?.();
  }

  async #look(id: string): Promise<void> {
    if (this.#tables.has(id)) return;
    try {
      const table = await this.#store.table(id);
      this.#tables.set(id, () => table);
    } catch (error) {
      if (error instanceof FxError && !(error instanceof DamagedLedger)) throw error;
      this.#tables.set(id, () => {
        throw error;
      });
    }
  }

  /** Has `load` look again, once, for what came into force since: to be called for each slice of entries. */
  nextSlice(): void {
    this.#isCurrent = false;
  }

  /** Whether `load` is to be called before `loaded` and `epoch` can tell. */
  lacks(id: string, least: number, timeMs: number): boolean {
    return !this.#tables.has(id) || (!this.#isCurrent && this.epoch(id, least, timeMs) === undefined);
  }

  async load(id: string): Promise<void> {
    await this.#look(id);
    if (this.#isCurrent) return;
    this.#terms = new Map();
    const accepted = await this.#store.acceptedTables();
    for (const [index, { id, epoch, at }] of accepted.entries()) {
      const untilMs = accepted[index + 1]?.at.getTime() ?? Number.POSITIVE_INFINITY;
      this.#terms.set(id, [...(this.#terms.get(id) ?? []), { epoch, fromMs: at.getTime(), untilMs }]);
    }
    this.#isCurrent = true;
  }

  /** The first epoch of the ledger, from `least` on, in which a table was in force at a time. */
  epoch(id: string, least: number, timeMs: number): number | undefined {
    const toleranceMs = Math.max(clockToleranceMs, this.#store.commitsWithinMs);
    return this.#terms
      .get(id)
      ?.find(
        ({ epoch, fromMs, untilMs }) =>
          epoch >= least && timeMs >= fromMs - toleranceMs && timeMs <= untilMs + toleranceMs,
      )?.epoch;
  }
}
