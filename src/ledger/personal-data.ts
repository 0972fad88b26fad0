import type { Receipt } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { longestPage, type PersonalData } from "../core/service.ts";
import { customerId, identityKeyOf } from "./ids.ts";
import type { Pause } from "./journal-reader.ts";
import type { Store } from "./store.ts";

/**
 * Everything that the ledger holds about one person: the entries up to the one that the account was read with, and
 * refusals, also without an account. Undefined if there is nothing.
 * @throws DamagedLedger if something of it was changed
 */
export async function personalDataOf(
  store: Store,
  pesel: Pesel,
  { time, pause }: { readonly time: Date; readonly pause: Pause },
): Promise<PersonalData | undefined> {
  const account = await store.account(pesel);
  const { refusals, words } = await store.besideEntries(pesel);
  if (account === undefined && refusals.length === 0) return undefined;
  const newestFirst: Receipt[] = [];
  for (let before = (account?.sequence ?? 0) + 1; before > 1; before -= longestPage) {
    await pause();
    const found = await store.statement(pesel, { before, limit: longestPage });
    newestFirst.push(...found.map(({ entry, reversedBy }) => ({ ...entry, reversedBy })));
  }
  return {
    time,
    account,
    customer: customerId(pesel, await identityKeyOf(store)),
    nameWords: words,
    refusals: refusals.map(({ time, key, by, code, message }) => ({ time, key, by, code, message })),
    entries: newestFirst.toReversed(),
  };
}
