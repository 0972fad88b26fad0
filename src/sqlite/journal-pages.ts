import { peselText, rangeOf } from "../ledger/rows.ts";
import type { AccountSpan, JournalPage, Store } from "../ledger/store.ts";
import { type JournalValues, linkedRows, lookedAtOnce } from "./links.ts";
import { pageChains, pageJournal, spanOfAccounts } from "./statements.ts";

/** Rows as arrays. */
export type Select = <Values>(sql: string, ...parameters: (string | number)[]) => Values[];

type Wanted = Parameters<Store["journal"]>[0];

/** Accounts whose chains a page has. */
const chainsAtOnce = 100;

/** In the order of commits: to look at each entry takes a tenth of what it takes to read them account by account. */
export function journalPage(
  select: Select,
  { place, limit, ...range }: Wanted,
  lastPosition: () => number,
): JournalPage {
  const [from = 0, last = lastPosition()] = place ?? [];
  const rows = linkedRows(select<JournalValues>(pageJournal, from, from, last, ...rangeOf(range), limit));
  const newest = rows.length < limit ? undefined : rows.at(-1);
  const reached = newest?.position ?? from + lookedAtOnce;
  return { rows, next: reached < last ? [reached, last] : undefined };
}

/** Whole chains, so that each account's entries are in their order. */
export function chainsPage(select: Select, { place, ...range }: Wanted): JournalPage {
  const [after, through] = rangeOf(range);
  const [from = after] = place ?? [];
  const { count, last } = spanFrom(select, from, through, chainsAtOnce);
  if (count === 0) return { rows: [], next: undefined };
  return { rows: linkedRows(select<JournalValues>(pageChains, from, last)), next: [last] };
}

export function accountSpan(
  select: Select,
  { after, limit }: Parameters<Store["accountSpan"]>[0],
): AccountSpan {
  const { count, last } = spanFrom(select, ...rangeOf({ after }), limit);
  return { count, through: count === 0 ? undefined : peselText(last) };
}

function spanFrom(select: Select, ...range: readonly [after: number, through: number, limit: number]) {
  const [[count, last] = [0, null]] = select<[number, number | null]>(spanOfAccounts, ...range);
  return { count, last: last ?? 0 };
}
