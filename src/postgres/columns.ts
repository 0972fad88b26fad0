import { timeText } from "../ledger/clock.ts";
import type { AccountRow, ChainEnd, ChainedRow, Disagreement, JournalRow } from "../ledger/store.ts";

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
