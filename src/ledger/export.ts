import { type CalendarDate, endOfTime, warsawDate } from "../core/date.ts";
import { housePlaceOf } from "../core/house.ts";
import type { ExportRequest } from "../core/service.ts";
import { bookingOf, roundingBooking } from "./booking.ts";
import { formatOf } from "./export-formats.ts";
import { customerId, identityKeyOf } from "./ids.ts";
import { type Pause, readEntries, TableReader } from "./journal-reader.ts";
import { exportRegister } from "./register.ts";
import { exactSpread, lostInRounding, spreadOf } from "./spread.ts";
import type { Store } from "./store.ts";

/**
 * The journal in the format asked for: text, a part at a time, in flat memory, in the order of commits.
 * @throws DamagedLedger if an entry or a rate table is missing or was changed
 */
export function exportJournal(store: Store, request: ExportRequest, pause?: Pause): AsyncGenerator<string> {
  const { format } = request;
  return format === "register"
    ? exportRegister(store, request, pause)
    : exportBooks(store, formatOf(format, request), request, pause);
}

/** Double entry. The spread of each exchange is exact; at the end, what rounding takes from their sum is taken off. */
async function* exportBooks(
  store: Store,
  format: ReturnType<typeof formatOf>,
  { full, from = "", to = endOfTime, at }: ExportRequest,
  pause?: Pause,
): AsyncGenerator<string> {
  const key = await identityKeyOf(store);
  const tables = new TableReader(store);
  let count = 0;
  let earnedBefore = 0n;
  let earned = 0n;
  let last: CalendarDate | undefined;
  yield format.head;
  for await (const entries of readEntries(store, at, pause)) {
    let text = "";
    for (const { entry } of entries) {
      const date = warsawDate(entry.time);
      if (date > to) continue;
      const isHouse = housePlaceOf(entry.pesel) !== undefined;
      const customer = isHouse ? undefined : customerId(entry.pesel, key);
      // Earlier customers are declared, too: which of them the export needs is not known before its end.
      if (entry.sequence === 1 && customer !== undefined) text += format.customer(customer);
      const spread = await spreadOf(entry, tables);
      if (date < from) {
        earnedBefore += spread;
        continue;
      }
      earned += spread;
      const exact = entry.exchange && exactSpread(spread);
      text += format.booking(bookingOf(entry, { date, customer, spread: exact, full }));
      count += 1;
      if (last === undefined || date > last) last = date;
    }
    yield text;
  }
  const lost = lostInRounding(earnedBefore, earned);
  if (last !== undefined && lost.coefficient !== 0n) yield format.booking(roundingBooking(last, lost));
  yield format.end(count);
}
