import { peselText, rangeOf } from "../ledger/rows.ts";
import type { AccountSpan, JournalPage, JournalRow, Store } from "../ledger/store.ts";
import { lookedAtOnce, pageJournal, spanOfAccounts } from "./statements.ts";

/** Rows as arrays. */
export type Select = <Values>(sql: string, ...parameters: (string | number)[]) => Values[];

type Wanted = Parameters<Store["journal"]>[0];

/** What the statements of pages select. */
type JournalValues = readonly [
  position: number,
  pesel: number,
  sequence: number,
  entry: string,
  hash: string,
];

/** In the order of commits: to look at each entry takes a tenth of what it takes to read them account by account. */
export function journalPage(
  select: Select,
  { place, limit, ...range }: Wanted,
  lastPosition: () => number,
): JournalPage {
  const [from = 0, last = lastPosition()] = place ?? [];
  const rows = select<JournalValues>(pageJournal, from, from, last, ...rangeOf(range), limit);
  const reached = rows.length < limit ? from + lookedAtOnce : (rows.at(-1)?.[0] ?? last);
  return { rows: rows.map(journalRow), next: reached < last ? [reached, last] : undefined };
}

function journalRow([, pesel, sequence, entry, hash]: JournalValues): JournalRow {
  return { pesel: peselText(pesel), sequence, entry, hash };
}

export function accountSpan(
  select: Select,
  { after, limit }: Parameters<Store["accountSpan"]>[0],
): AccountSpan {
  const [[count, last] = [0, null]] = select<[number, number | null]>(
    spanOfAccounts,
    Number(after ?? -1),
    limit,
  );
  return { count, through: last === null ? undefined : peselText(last) };
}
