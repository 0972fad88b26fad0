import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import type { Entry } from "../core/journal.ts";
import type { RateTable } from "../core/rates.ts";
import { DamagedLedger } from "./damage.ts";
import { isEntryId } from "./entry-id.ts";
import { decodeEntry } from "./rows.ts";
import type { FoundEntry, JournalRow, Store } from "./store.ts";

/** A page takes some 4 ms, in which orders wait. */
const pageSize = 250;

/** Is waited for before each page of a long read, so that others are served. */
export type Pause = () => Promise<void>;

/**
 * A pause is a turn of the event loop. Where a read rests, as in a server, it lasts as long as the page before it took,
 * too. It fails once nobody waits for the read.
 */
export function pauses({ rests, signal }: { rests: boolean; signal?: AbortSignal | undefined }): Pause {
  let startedMs = performance.now();
  return async () => {
    if (rests) await sleep(performance.now() - startedMs);
    // Several reads' timers that come due during each other's pages would let nothing else have its turn.
    await nextTurn();
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

/**
 * The entries of the journal, or those up to `at`, in the order of commits, a page at a time.
 * @throws DamagedLedger if one cannot be read
 */
export async function* readEntries(
  store: Store,
  at: Date | undefined,
  pause?: Pause,
): AsyncGenerator<readonly Entry[]> {
  for await (const rows of readJournal(store, pause)) {
    const entries = rows.map((row) => decodeEntry(row).entry);
    yield at === undefined ? entries : entries.filter(({ time }) => time <= at);
  }
}

/** What is read, unless it is damaged: an audit tells of that where it checks it. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof DamagedLedger) return undefined;
    throw error;
  }
}

/** The stored tables that exchanges were settled at. Each is looked up once. */
export class TableReader {
  readonly #store: Store;
  readonly #tables = new Map<string, Promise<RateTable | undefined>>();

  constructor(store: Store) {
    this.#store = store;
  }

  find(id: string): Promise<RateTable | undefined> {
    const found = this.#tables.get(id) ?? this.#store.table(id);
    this.#tables.set(id, found);
    return found;
  }

  /** @throws FxError internal if there is no such table, storage-unavailable if it cannot be read */
  async required(id: string): Promise<RateTable> {
    const table = await this.find(id);
    if (table !== undefined) return table;
    throw new FxError("internal", `Table ${id} is missing from the store. Run fx audit.`);
  }
}
