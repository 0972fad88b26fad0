import { setImmediate as nextTurn } from "node:timers/promises";
import type { AccountsPage, ListedAccountRow, Store } from "./store.ts";

/** Read before the event loop has its turn: some 2 ms, in which orders wait. */
const sliceSize = 128;

/** A page of accounts, as `Store.accounts` has it, read a slice at a time. One of a name is found at once. */
export async function accountsPage(store: Store, page: AccountsPage): Promise<ListedAccountRow[]> {
  if (page.name !== undefined) return store.accounts(page);
  const rows: ListedAccountRow[] = [];
  let { after } = page;
  for (;;) {
    const limit = Math.min(sliceSize, page.limit - rows.length);
    const slice = await store.accounts({ after, limit });
    rows.push(...slice);
    if (slice.length < limit || rows.length === page.limit) return rows;
    after = slice.at(-1)?.pesel;
    await nextTurn();
  }
}
