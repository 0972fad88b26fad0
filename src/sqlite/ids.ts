import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { IdRange } from "../ledger/entry-id.ts";
import { foundEntry } from "../ledger/rows.ts";
import type { FoundEntry } from "../ledger/store.ts";
import { idOf, reversedBy } from "./statements.ts";

const selectId = `select ${idOf("journal")} as id from journal where position = ?`;
const selectEntries =
  `select *, ${reversedBy} from journal ` +
  `where position >= ? and position < ? and ${idOf("journal")} between ? and ? limit ?`;
/** Of an id: the milliseconds since 1970. */
const timeDigits = 13;

/**
 * Entries whose ids are in the range. There is no index of ids: an id begins with its time, and positions are in the
 * order of time.
 */
export function entriesIn(
  statement: (sql: string) => StatementSyncInstance,
  { first, last }: IdRange,
  { last: lastPosition, limit }: { last: number; limit: number },
): FoundEntry[] {
  /** The first position from which on `isPast` is true of all ids. */
  const positionWhere = (isPast: (time: string) => boolean): number => {
    let [low, high] = [1, lastPosition + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const { id = "" } = (statement(selectId).get(middle) ?? {}) as { id?: string };
      if (isPast(id.slice(0, timeDigits))) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const from = positionWhere((time) => time >= first.slice(0, timeDigits));
  const to = positionWhere((time) => time > last.slice(0, timeDigits));
  return statement(selectEntries).all(from, to, first, last, limit).map(foundEntry);
}
