import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import type { RateTable } from "../core/rates.ts";
import { clockToleranceMs } from "./clock.ts";
import { DamagedLedger } from "./damage.ts";
import { isEntryId } from "./entry-id.ts";
import type { FoundEntry, JournalRow, Store } from "./store.ts";

/** A page takes some 4 ms, in which orders wait. */
const pageSize = 250;

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
 * Reads the entries that there are now, in the order of commits, a page at a time. Orders go on in between.
 *
 * Of each account those are the first entries, up to any. An entry gets its position while its account is locked, so when
 * one gets it, those before it are committed. Where several transactions commit at once, an entry may be committed after
 * its place was read; the account's next entries then get positions after `through`.
 */
export async function* readJournal(
  store: Store,
  pause: Pause = nextTurn,
): AsyncGenerator<readonly JournalRow[]> {
  const through = await store.lastPosition();
  let after: number | undefined;
  for (;;) {
    await pause();
    const rows = await store.journal({ after, through, limit: pageSize });
    yield rows;
    if (rows.length < pageSize) return;
    after = rows.at(-1)?.position;
  }
}

export async function entryWithId(store: Store, id: string): Promise<FoundEntry | undefined> {
  return isEntryId(id) ? (await store.entriesBetween(id, id, 1))[0] : undefined;
}

/** The entry of this id, if it is there and can be read; an audit tells of others where their accounts are. */
export async function readableEntry(store: Store, id: string): Promise<FoundEntry | undefined> {
  try {
    return await entryWithId(store, id);
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
    return this.#terms
      .get(id)
      ?.find(
        ({ epoch, fromMs, untilMs }) =>
          epoch >= least && timeMs >= fromMs - clockToleranceMs && timeMs <= untilMs + clockToleranceMs,
      )?.epoch;
  }
}
