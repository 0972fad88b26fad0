import { positionInId } from "../ledger/entry-id.ts";
import { peselText } from "../ledger/rows.ts";
import type { AccountRow, ChainedRow, Disagreement, JournalRow, ListedAccountRow } from "../ledger/store.ts";

/** An account's row as SQLite has it: with the position of its newest entry, from which those before it are found. */
export interface LinkedAccountRow extends AccountRow {
  readonly newest: number;
}

/** An entry's row as SQLite has it: with its place in the order of commits, and that of the account's entry before it. */
export interface LinkedJournalRow extends JournalRow {
  readonly position: number;
  readonly previous: number | null;
}

/** What a page of accounts selects. */
export type AccountValues = readonly [
  pesel: number,
  name: string,
  surname: string,
  newest: number,
  sequence: number,
  hash: string,
  balances: string,
  time: number,
  closed: number,
  words: string,
];

export function accountRows(rows: readonly AccountValues[]): ListedAccountRow[] {
  return rows.map(
    ([pesel, name, surname, newest, sequence, hash, balances, time, closed, words]): ListedAccountRow &
      LinkedAccountRow => ({
      pesel: peselText(pesel),
      name,
      surname,
      newest,
      sequence,
      hash,
      balances,
      time,
      closed,
      words,
    }),
  );
}

export const journalColumns = "position, previous, pesel, sequence, idempotency_key, entry, hash";

/** What `journalColumns` select. */
export type JournalValues = readonly [
  position: number,
  previous: number | null,
  pesel: number,
  sequence: number,
  key: string | null,
  entry: string,
  hash: string,
];

/** Each takes some 2 KB of memory while an audit reads their entries. With fewer, it looks at the whole journal more often. */
export const accountsTogether = { reading: 25_000, besideOrders: 10_000 };
/** Entries that a page of the journal looks at: some 1 ms. */
export const lookedAtOnce = 5_000;

export function linkedRows(values: readonly JournalValues[]): LinkedJournalRow[] {
  return values.map(([position, previous, pesel, sequence, idempotency_key, entry, hash]) => ({
    pesel: peselText(pesel),
    sequence,
    idempotency_key,
    entry,
    hash,
    position,
    previous,
  }));
}

/** Where an entry is not at the position in its id, or does not lead to the account's entry before it. */
export function misplacedEntry(
  row: JournalRow,
  id: string | undefined,
  before: ChainedRow | undefined,
): Disagreement[] {
  const { position, previous } = row as LinkedJournalRow;
  const expected = positionOf(before);
  if (previous === expected && id !== undefined && position === positionInId(id)) return [];
  return [
    ...differing("link to the entry before", previous, expected),
    ...(id === undefined ? [] : differing("position of the row", position, positionInId(id))),
  ];
}

/** Where an account does not lead to its newest entry. */
export function misplacedAccount(row: AccountRow, newest: ChainedRow): Disagreement[] {
  return differing("link to the last entry", (row as LinkedAccountRow).newest, positionOf(newest));
}

function positionOf(row: ChainedRow | undefined): number | null {
  return row === undefined ? null : (row as Omit<LinkedJournalRow, "entry">).position;
}

function differing(problem: string, recorded: number | null, right: number | null): Disagreement[] {
  return recorded === right ? [] : [[problem, `position ${recorded}`, `position ${right}`]];
}
