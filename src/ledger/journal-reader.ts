import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import type { RateTable } from "../core/rates.ts";
import { idsOfTime, isEntryId } from "./ids.ts";
import { type AuditedRow, type AuditedRows, DamagedLedger, lagging } from "./rows.ts";
import type { FoundEntry, PlacedEntry, RowsPage, Store } from "./store.ts";

/** Rows or entries read at once: some 15 ms, in which orders wait. */
export const pageSize = 1000;

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
 * Reads the entries of the journal up to where it ends now, in the order of commits, a page at a time, each checked. Orders
 * go on in between.
 * @param at a past time, up to which entries are read
 * @throws DamagedLedger if one was changed or is missing; for the last one of an account only at the end
 */
export async function* readEntries(
  store: Store,
  at: Date | undefined,
  pause: Pause = nextTurn,
): AsyncGenerator<readonly FoundEntry[]> {
  const { position: through, entries } = await store.journalEnd();
  let unread = entries;
  for await (const page of pages(store, { after: 0, through }, pause)) {
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
): AsyncGenerator<readonly FoundEntry[]> {
  const places = await store.positionsBetween(idsOfTime(start, end));
  if (places === undefined) return;
  const range = { after: places.first - 1, through: places.last };
  for await (const page of pages(store, range, pause)) {
    yield page.filter(({ entry }) => entry.time >= start && entry.time < end);
  }
}

function pages(
  store: Store,
  { after, through }: { readonly after: number; readonly through: number },
  pause: Pause,
): AsyncGenerator<readonly FoundEntry[]> {
  const read = (last: PlacedEntry | undefined) =>
    store.entries({ after: last?.position ?? after, through, limit: pageSize });
  return pagesOf(read, pause);
}

/** Reads the rows of a table as they are, in the order of their primary keys, a page at a time. */
export function readRows<Name extends keyof AuditedRows>(
  store: Store,
  name: Name,
  pause: Pause = nextTurn,
  range: Omit<RowsPage, "limit"> = {},
): AsyncGenerator<readonly AuditedRow<Name>[]> {
  const read = (last: AuditedRow<Name> | undefined) =>
    store.rows(name, { ...range, after: last?.place ?? range.after, limit: pageSize });
  return pagesOf(read, pause);
}

/** Pages up to an empty one. */
async function* pagesOf<Row>(
  read: (last: Row | undefined) => Promise<readonly Row[]>,
  pause: Pause,
): AsyncGenerator<readonly Row[]> {
  for (let last: Row | undefined; ; ) {
    await pause();
    const rows = await read(last);
    if (rows.length === 0) return;
    yield rows;
    last = rows.at(-1);
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
