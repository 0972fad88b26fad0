import { type Account, accountBeforeEntries, type ListedAccount } from "../core/account.ts";
import { accountAfter } from "../core/journal.ts";
import type { Money } from "../core/money.ts";
import type { Pause } from "./journal-reader.ts";
import { DamagedLedger } from "./rows.ts";
import type { DamagedAccount, FoundEntry, Store, StoredAccount } from "./store.ts";

/** Accounts that are read without a pause. */
const accountsAtOnce = 50;

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

/** The accounts as they were at a past time, without those that were not open then. */
export async function accountsAt(
  store: Store,
  accounts: readonly (StoredAccount | DamagedAccount)[],
  at: Date,
  pause: Pause,
): Promise<readonly ListedAccount[]> {
  const items: ListedAccount[] = [];
  for (let start = 0; start < accounts.length; start += accountsAtOnce) {
    if (start > 0) await pause();
    const read = accounts.slice(start, start + accountsAtOnce).map((account) => listedAt(store, account, at));
    items.push(...(await Promise.all(read)).filter((account) => account !== undefined));
  }
  return items;
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
  /** The balances before and after the period; only on the first page. */
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
