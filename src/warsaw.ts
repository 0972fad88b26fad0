import type { CalendarDate } from "./core/pesel.ts";

const formatter = new Intl.DateTimeFormat("en-US", {
  timeZone: "Europe/Warsaw",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
});
/** Every order asks for today, and Intl takes 2 µs, so the last minute's answer is kept. */
let last = { minute: Number.NaN, date: "" };

/** The calendar date in Poland at `now`. */
export function warsawDate(now: Date): CalendarDate {
  const minute = Math.floor(now.getTime() / 60_000);
  if (minute !== last.minute) {
    const part = Object.fromEntries(formatter.formatToParts(now).map(({ type, value }) => [type, value]));
    last = { minute, date: `${part.year}-${part.month}-${part.day}` };
  }
  return last.date;
}

/** The date so many whole days after `date`, or before it. */
export function addDays(date: CalendarDate, days: number): CalendarDate {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}
