import { type CalendarDate, endOfTime, warsawDate } from "../core/date.ts";
import type { ExportRequest } from "../core/service.ts";
import { bookingOf, roundingBooking } from "./booking.ts";
import { customerId, identityKeyOf } from "./customer-id.ts";
import { formatOf } from "./export-formats.ts";
import { type Pause, readEntries, TableReader } from "./journal-reader.ts";
import { exactSpread, lostInRounding, twiceSpreadOf } from "./spread.ts";
import type { Store } from "./store.ts";

/**
 * The journal as double entry: text, a part at a time, in flat memory, in the order of commits. The spread of each
 * exchange is exact; at the end, what rounding takes from their sum is taken off.
 * @throws FxError storage-unavailable if an entry or a table cannot be read, internal if a table is missing
 */
export async function* exportJournal(
  store: Store,
  request: ExportRequest,
  pause?: Pause,
): AsyncGenerator<string> {
  const { full, from = "", to = endOfTime, at } = request;
  const format = formatOf(request);
  const key = await identityKeyOf(store);
  const tables = new TableReader(store);
  let count = 0;
  let earnedBefore = 0n;
  let earned = 0n;
  let last: CalendarDate | undefined;
  yield format.head;
  for await (const entries of readEntries(store, at, pause)) {
    let text = "";
    for (const entry of entries) {
      const date = warsawDate(entry.time);
      if (date > to) continue;
      const customer = customerId(entry.pesel, key);
      // Those of earlier customers, too: which of them the export has is not known before its end.
      if (entry.sequence === 1) text += format.customer(customer);
      const twice = await twiceSpreadOf(entry, tables);
      if (date < from) {
        earnedBefore += twice;
        continue;
      }
      earned += twice;
      const spread = entry.exchange && exactSpread(twice);
      text += format.booking(bookingOf(entry, { date, customer, spread, full }));
      count += 1;
      if (last === undefined || date > last) last = date;
    }
    yield text;
  }
  const lost = lostInRounding(earnedBefore, earned);
  if (last !== undefined && lost.coefficient !== 0n) yield format.booking(roundingBooking(last, lost));
  yield format.end(count);
}
