import { setImmediate as nextTurn } from "node:timers/promises";
import type { Account, Holder } from "../core/account.ts";
import { FxError } from "../core/errors.ts";
import { accountAfter, type Entry } from "../core/journal.ts";
import type { Money } from "../core/money.ts";
import { holderWords } from "../core/names.ts";
import type { Pesel } from "../core/pesel.ts";
import type { Pause } from "./journal-reader.ts";
import { limits } from "./limits.ts";
import { decodeListed } from "./rows.ts";
import type { AccountsPage, FoundEntry, Store, StoredAccount } from "./store.ts";

/** An account at a time is what its last entry that is not later left. */

/** Entries of an account that are read at once: a millisecond, in which orders wait. */
const sliceSize = 128;
/** Accounts that are looked back on at once. */
const accountsAtOnce = 16;
/** No index has the names of the past: accounts are looked at in slices of this size, and at most so many for a page. */
const nameSlice = 500;
const nameSlices = 20;

/** @throws FxError invalid-request if entries from before `at` may still be on their way */
export function requireSettled(at: Date | undefined, now: Date): void {
  if (at === undefined || at.getTime() + limits.settledAfterMs <= now.getTime()) return;
  const detail = `must be at least ${limits.settledAfterMs / 1000} seconds ago`;
  throw new FxError(
    "invalid-request",
    `The request is not valid: at ${detail}, because entries from before it may still be on their way.`,
    { fields: [{ pointer: "/at", detail }] },
  );
}

/** An account's entries from the one before `before`, newest first; the first `atFirst` are read at once. */
export async function* backwards(
  store: Store,
  pesel: Pesel,
  pause: Pause,
  { before, atFirst = 1 }: { before?: Entry | undefined; atFirst?: number } = {},
): AsyncGenerator<FoundEntry> {
  let place = before;
  for (let limit = atFirst; ; limit = Math.min(4 * limit, sliceSize)) {
    const found = await store.statement(pesel, { before: place, limit });
    yield* found;
    if (found.length < limit) return;
    place = found.at(-1)?.entry;
    await pause();
  }
}

/** An account as it was, from what it is now; undefined if it was not open yet. */
export async function accountAt(
  store: Store,
  account: Account,
  at: Date,
  pause: Pause = nextTurn,
): Promise<Account | undefined> {
  let last: Entry | undefined;
  let isRenamed = false;
  for await (const { entry } of backwards(store, account.pesel, pause)) {
    if (last === undefined && entry.time > at) {
      isRenamed ||= entry.holder !== undefined;
      continue;
    }
    last ??= entry;
    if (!isRenamed) return accountAfter(last, account);
    if (entry.holder !== undefined) return accountAfter(last, entry.holder);
  }
  return undefined;
}

/** The accounts as they were, each in its place; undefined where one was not open yet. */
async function accountsThen(
  store: Store,
  accounts: readonly StoredAccount[],
  at: Date,
  pause: Pause,
): Promise<(Account | undefined)[]> {
  const then: (Account | undefined)[] = [];
  for (let start = 0; start < accounts.length; start += accountsAtOnce) {
    const some = accounts.slice(start, start + accountsAtOnce);
    const asThen = (each: StoredAccount) => (each.time <= at ? each : accountAt(store, each, at, pause));
    then.push(...(await Promise.all(some.map(asThen))));
    await pause();
  }
  return then;
}

/**
 * A page of the accounts that were open, as they were. Without a name, it is what is left of `limit` accounts. With one,
 * accounts are looked at until `limit` are found whose names were so, but not all of a large ledger for one page.
 */
export async function accountsAt(
  store: Store,
  { after, limit, name, at }: AccountsPage & { readonly at: Date },
  pause: Pause = nextTurn,
): Promise<{ readonly items: readonly Account[]; readonly last: Pesel | undefined }> {
  const items: Account[] = [];
  const slice = name === undefined ? limit : nameSlice;
  let last = after as Pesel | undefined;
  for (let left = name === undefined ? 1 : nameSlices; left > 0; left -= 1) {
    const rows = await store.accounts({ after: last, limit: slice + 1 });
    const accounts = rows.slice(0, slice).map(decodeListed);
    const then = await accountsThen(store, accounts, at, pause);
    for (const [index, { pesel }] of accounts.entries()) {
      last = pesel;
      const account = then[index];
      if (account !== undefined && isCalled(account, name)) items.push(account);
      if (items.length === limit) return { items, last: index + 1 < rows.length ? last : undefined };
    }
    if (rows.length <= slice) return { items, last: undefined };
  }
  return { items, last };
}

function isCalled(holder: Holder, name: readonly string[] = []): boolean {
  const words = holderWords(holder);
  return name.every((beginning) => words.some((word) => word.startsWith(beginning)));
}

/** From `start` until before `end`. */
export interface Period {
  readonly start: Date | undefined;
  readonly end: Date | undefined;
}

/** A page of a period's entries, newest first: up to `limit` from the one before `before`. */
export async function entriesOf(
  store: Store,
  pesel: Pesel,
  { start, end, before, limit }: Period & { readonly before: Entry | undefined; readonly limit: number },
  pause: Pause = nextTurn,
): Promise<{
  readonly page: readonly FoundEntry[];
  readonly hasMore: boolean;
  /** Before and after the period; only where the page is the first. */
  readonly opening: readonly Money[] | undefined;
  readonly closing: readonly Money[] | undefined;
}> {
  const isFirst = before === undefined;
  const page: FoundEntry[] = [];
  let hasMore = false;
  let opening: readonly Money[] = [];
  let closing: readonly Money[] | undefined;
  const atFirst = isFirst && end !== undefined ? 1 : limit + 1;
  for await (const found of backwards(store, pesel, pause, { before, atFirst })) {
    const { time, balances } = found.entry;
    if (end !== undefined && time >= end) continue;
    closing ??= balances;
    if (start !== undefined && time < start) {
      opening = balances;
      break;
    }
    if (page.length < limit) {
      page.push(found);
      continue;
    }
    hasMore = true;
    if (start === undefined || !isFirst) break;
  }
  if (!isFirst) return { page, hasMore, opening: undefined, closing: undefined };
  return { page, hasMore, opening, closing: closing ?? [] };
}
