import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import type { RateTable } from "../core/rates.ts";
import { idsOfTime, isEntryId } from "./ids.ts";
import { DamagedLedger, type JournalRow, lagging } from "./rows.ts";
import type { FoundEntry, JournalPage, PlacedEntry, Store } from "./store.ts";

/** A page takes some 4 ms, in which orders wait. */
const pageSize = 250;

/** Awaited before each page of a long read, so that others are served. */
export type Pause = () => Promise<void>;

/**
 * Pauses of one turn of the event loop. With `rests`, as in a server, a pause lasts at least as long as the page before it
 * took. It fails once the signal is aborted.
 */
export function pauses({ rests, signal }: { rests: boolean; signal?: AbortSignal | undefined }): Pause {
  let startedMs = performance.now();
  return async () => {
    if (rests) await sleep(performance.now() - startedMs);
    // The timers of several reads can come due during each other's pages: without this turn, nothing else would run.
    await nextTurn();
    if (signal?.aborted) throw new FxError("unreachable", "Nobody waits for it any more.");
    startedMs = performance.now();
  };
}

/**
 * Reads the rows of the journal up to where it ends now, in the order of commits, a page at a time. Orders go on in
 * between.
 */
export async function* readJournal(
  store: Store,
  pause: Pause = nextTurn,
): AsyncGenerator<readonly JournalRow[]> {
  const { position: through } = await store.journalEnd();
  yield* pages((page) => store.journal(page), { through }, pause);
}

/**
 * Reads the entries of the journal in the same way as `readJournal`, each checked.
 * @param at a past time, up to which entries are read
 * @throws DamagedLedger if one was changed or is missing; for the last one of an account only at the end
 */
export async function* readEntries(
  store: Store,
  at: Date | undefined,
  pause: Pause = nextTurn,
): AsyncGenerator<readonly PlacedEntry[]> {
  const { position: through, entries } = await store.journalEnd();
  let unread = entries;
  for await (const page of pages((page) => store.entries(page), { after: 0, through }, pause)) {
    unread -= page.length;
    yield at === undefined ? page : page.filter(({ entry }) => entry.time <= at);
  }
  if (unread <= 0) return;
  if ((await store.journalEnd()).entries < entries) throw lagging();
  throw new DamagedLedger(`the journal lacks ${unread} entries that accounts should have`);
}

/**
 * Reads the entries of a period, and only the pages of the journal that have some of them.
 * @param start inclusive
 * @param end exclusive
 * @throws DamagedLedger if one, or the one before it in its account, was changed or is missing
 */
export async function* readPeriod(
  store: Store,
  { start, end }: { readonly start: Date; readonly end: Date },
  pause: Pause = nextTurn,
): AsyncGenerator<readonly PlacedEntry[]> {
  const places = await store.positionsBetween(idsOfTime(start, end));
  if (places === undefined) return;
  const range = { after: places.first - 1, through: places.last };
  for await (const page of pages((page) => store.entries(page), range, pause)) {
    yield page.filter(({ entry }) => entry.time >= start && entry.time < end);
  }
}

async function* pages<Row extends { readonly position: number }>(
  read: (page: JournalPage) => Promise<readonly Row[]>,
  range: { readonly after?: number; readonly through: number },
  pause: Pause,
): AsyncGenerator<readonly Row[]> {
  for (let { after } = range; ; ) {
    await pause();
    const rows = await read({ ...range, after, limit: pageSize });
    yield rows;
    if (rows.length < pageSize) return;
    after = rows.at(-1)?.position;
  }
}

export async function entryWithId(store: Store, id: string): Promise<FoundEntry | undefined> {
  const known = id.toLowerCase();
  const ids = { first: known, last: known };
  return isEntryId(known) ? (await store.entriesBetween(ids, 1))[0] : undefined;
}

/** The stored rate tables that exchanges were settled at. Each is looked up once. */
export class TableReader {
  readonly #store: Store;
  readonly #tables = new Map<string, RateTable>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws DamagedLedger if there is no such table, or it was changed */
  async find(id: string): Promise<RateTable> {
    const table = this.#tables.get(id) ?? (await this.#store.table(id));
    if (table === undefined) throw new DamagedLedger(`the rate table ${id} is missing`);
    this.#tables.set(id, table);
    return table;
  }
}
