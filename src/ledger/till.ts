import { createHash } from "node:crypto";
import { type CurrencyCode, compareCurrencies } from "../core/currency.ts";
import { addDays, type CalendarDate, startOfDay } from "../core/date.ts";
import { housePlaceOf } from "../core/house.ts";
import type { Entry } from "../core/journal.ts";
import type { Till, TillEntry } from "../core/service.ts";
import { entryWithId, type Pause, readPeriod } from "./journal-reader.ts";
import { DamagedLedger } from "./rows.ts";
import type { Store } from "./store.ts";

/**
 * Derives the cash of a till from the journal alone. The digest is the SHA-256 of the hashes of its entries, one a line,
 * in the order of the journal.
 * @throws DamagedLedger as `readPeriod` does, or if an entry that was reversed cannot be read
 */
export async function tillOf(
  store: Store,
  { date, by }: { readonly date: CalendarDate; readonly by: string | undefined },
  pause?: Pause,
): Promise<Till> {
  const [start, end] = [startOfDay(date), startOfDay(addDays(date, 1))];
  const flows = new Map<CurrencyCode, { in: bigint; out: bigint }>();
  const digest = createHash("sha256");
  let [entries, first, last]: [number, TillEntry?, TillEntry?] = [0];
  for await (const page of readPeriod(store, { start, end }, pause)) {
    for (const { entry, hash } of page) {
      const { id, time, debited, credited } = entry;
      if (!movesCash(entry) || (await tillHolder(store, entry)) !== by) continue;
      for (const money of [debited, credited]) {
        if (money === undefined) continue;
        const flow = flows.get(money.currency) ?? { in: 0n, out: 0n };
        flow[money === credited ? "in" : "out"] += money.minor;
        flows.set(money.currency, flow);
      }
      digest.update(`${hash}\n`);
      entries += 1;
      first ??= { id, time };
      last = { id, time };
    }
  }
  const currencies = [...flows].sort(([one], [other]) => compareCurrencies(one, other));
  return {
    ...{ date, by },
    currencies: currencies.map(([currency, flow]) => ({ currency, ...flow })),
    ...{ entries, first, last, digest: digest.digest("hex") },
  };
}

/** Whether an entry moves cash: an opening, a deposit, a withdrawal, or the reversal of one; not at the house's bank. */
function movesCash({ pesel, debited, credited, exchange }: Entry): boolean {
  return housePlaceOf(pesel) !== "bank" && exchange === undefined && (debited ?? credited) !== undefined;
}

/** The actor whose cash an entry moves. A reversal corrects the till of the entry that it undoes. */
async function tillHolder(store: Store, { by, reverses }: Entry): Promise<string | undefined> {
  if (reverses === undefined) return by;
  const undone = await entryWithId(store, reverses);
  if (undone === undefined) throw new DamagedLedger(`the entry ${reverses}, which was reversed, is missing`);
  return undone.entry.by;
}
