import { setImmediate as nextTurn } from "node:timers/promises";
import { type Account, accountBeforeEntries, type Holder, type ListedAccount } from "../core/account.ts";
import { accountAfter } from "../core/journal.ts";
import type { Money } from "../core/money.ts";
import { holderWords } from "../core/names.ts";
import type { Pesel } from "../core/pesel.ts";
import type { Pause } from "./journal-reader.ts";
import { DamagedLedger } from "./rows.ts";
import type { AccountsPage, DamagedAccount, FoundEntry, Store, StoredAccount } from "./store.ts";

/** Accounts that are read at once. */
const accountsAtOnce = 50;
/** Accounts read for one page of a search at most: no index has the names of the past. */
const accountsAtMost = 10_000;

/**
 * The account's last entry up to `at`; undefined if it was not open yet. It is a binary search: the times of an account's
 * entries never go back.
 */
async function lastEntry(
  store: Store,
  { pesel, sequence }: StoredAccount,
  at: Date,
): Promise<FoundEntry | undefined> {
  let last: FoundEntry | undefined;
  let [first, end] = [1, sequence];
  while (first <= end) {
    const middle = Math.floor((first + end) / 2);
    // A statement without the entry fails.
    const [found] = (await store.statement(pesel, { before: middle + 1, limit: 1 })) as [FoundEntry];
    if (found.entry.time > at) {
      end = middle - 1;
    } else {
      last = found;
      first = middle + 1;
    }
  }
  return last;
}

/** The account at a past time, as its last entry up to then left it; undefined if it was not open yet. */
export async function accountAt(
  store: Store,
  account: StoredAccount,
  at: Date,
): Promise<Account | undefined> {
  if (account.time <= at) return account;
  const last = await lastEntry(store, account, at);
  return last === undefined ? accountBeforeEntries(account.pesel) : accountAfter(last.entry);
}

/**
 * A page of the accounts that were open at `at`, as they were then. Without a name, `limit` accounts are read, and those
 * that were open are returned. With a name, accounts are read until `limit` match, or `accountsAtMost` were read.
 */
export async function accountsAt(
  store: Store,
  { after, limit, name, at }: AccountsPage & { readonly at: Date },
  pause: Pause = nextTurn,
): Promise<{ readonly items: readonly ListedAccount[]; readonly last: Pesel | undefined }> {
  const items: ListedAccount[] = [];
  let last = after as Pesel | undefined;
  let left = name === undefined ? limit : accountsAtMost;
  while (left > 0) {
    const size = Math.min(left, accountsAtOnce);
    const found = await store.accounts({ after: last, limit: size + 1 });
    const then = await Promise.all(found.slice(0, size).map((each) => listedAt(store, each, at)));
    for (const [index, account] of then.entries()) {
      last = found[index]?.pesel;
      if (account !== undefined && isCalled(account, name)) items.push(account);
      if (items.length === limit) return { items, last: index + 1 < found.length ? last : undefined };
    }
    if (found.length <= size) return { items, last: undefined };
    left -= size;
    await pause();
  }
  return { items, last };
}

/** An account that cannot be read is listed, whether or not it was open then. */
async function listedAt(
  store: Store,
  account: StoredAccount | DamagedAccount,
  at: Date,
): Promise<ListedAccount | undefined> {
  if ("damaged" in account) return account;
  try {
    return await accountAt(store, account, at);
  } catch (error) {
    if (error instanceof DamagedLedger) return { ...account, balances: [], damaged: true };
    throw error;
  }
}

function isCalled(holder: Holder, name: readonly string[] = []): boolean {
  const words = holderWords(holder);
  return name.every((beginning) => words.some((word) => word.startsWith(beginning)));
}

/** `start` is included, `end` is not. */
export interface Period {
  readonly start: Date | undefined;
  readonly end: Date | undefined;
}

/** A page of a period's entries, newest first: up to `limit` with sequences below `before`. */
export async function entriesOf(
  store: Store,
  account: StoredAccount,
  { start, end, before, limit }: Period & { readonly before: number | undefined; readonly limit: number },
): Promise<{
  readonly page: readonly FoundEntry[];
  readonly hasMore: boolean;
  /** Before and after the period; only where the page is the first. */
  readonly opening: readonly Money[] | undefined;
  readonly closing: readonly Money[] | undefined;
}> {
  const none = { sequence: 0, balances: [] };
  const lastBefore = async (time: Date) =>
    (await lastEntry(store, account, new Date(time.getTime() - 1)))?.entry ?? none;
  const opening = start === undefined ? none : await lastBefore(start);
  const closing = end === undefined ? account : await lastBefore(end);
  const past = Math.min(before ?? Number.POSITIVE_INFINITY, closing.sequence + 1);
  const found = await store.statement(account.pesel, { before: past, limit: limit + 1 });
  const own = found.filter(({ entry }) => entry.sequence > opening.sequence);
  const [page, hasMore] = [own.slice(0, limit), own.length > limit];
  if (before !== undefined) return { page, hasMore, opening: undefined, closing: undefined };
  return { page, hasMore, opening: opening.balances, closing: closing.balances };
}
