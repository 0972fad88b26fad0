import { timeText } from "../ledger/clock.ts";
import {
  type AccountRow,
  type ChainEnd,
  type ChainedRow,
  type Disagreement,
  type JournalRow,
  type KeptRows,
  pagedBy,
} from "../ledger/store.ts";

export const pageRows = (name: keyof KeptRows, hasPlace: boolean): string =>
  `select * from ${name} ${hasPlace ? `where ${pagedBy[name]} > $2` : ""} order by ${pagedBy[name]} limit $1`;
export const pageReversals = (hasPlace: boolean): string =>
  `select reversed, reversed_by from reversal ${hasPlace ? "where reversed > $2" : ""} order by reversed limit $1`;
export const selectStrayWords =
  "select distinct pesel from name_word where pesel > $1 and pesel <= $2 " +
  "and not exists (select 1 from account where account.pesel = name_word.pesel)";

/** Where an entry is found by another id than it has. */
export function misplacedEntry(row: JournalRow, id: string | undefined): Disagreement[] {
  const { id: recorded } = row as JournalRow & { readonly id: string };
  return recorded === id ? [] : [["id of the row", recorded, id ?? "none that can be read"]];
}

/** An account is found by its PESEL alone. What its newest entry says is kept beside it. */
export function misplacedAccount(
  row: AccountRow,
  _newest: ChainedRow,
  { timeMs, isClosed }: ChainEnd,
): Disagreement[] {
  const pairs: Disagreement[] = [
    ["time of the last entry", timeText(Number(row.time)), timeText(timeMs)],
    ["closed", String(Number(row.closed)), isClosed ? "1" : "0"],
  ];
  return pairs.filter(([, kept, right]) => kept !== right);
}
