import { setImmediate as nextTurn } from "node:timers/promises";
import { decodeAccount } from "./rows.ts";
import type { AccountsPage, Store, StoredAccount } from "./store.ts";

/** Read before the event loop has its turn: half a millisecond, in which orders wait. */
const sliceSize = 64;

/** A page of accounts, as `Store.accounts` has it, read a slice at a time. One of a name is found at once. */
export async function accountsPage(store: Store, page: AccountsPage): Promise<StoredAccount[]> {
  if (page.name !== undefined) return (await store.accounts(page)).map(decodeAccount);
  const accounts: StoredAccount[] = [];
  let { after } = page;
  for (;;) {
    const limit = Math.min(sliceSize, page.limit - accounts.length);
    const slice = (await store.accounts({ after, limit })).map(decodeAccount);
    accounts.push(...slice);
    if (slice.length < limit || accounts.length === page.limit) return accounts;
    after = slice.at(-1)?.pesel;
    await nextTurn();
  }
}
