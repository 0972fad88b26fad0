/** A calendar date as ISO 8601 text, "2026-11-21". Such texts compare as the dates do. */
export type CalendarDate = string;

/** The last date: a period that ends with it has no end. */
export const endOfTime: CalendarDate = "9999-12-31";

/** Intl is slow and every order needs today's date, so the last minute's answer is kept. */
let last: { minute: number; date: CalendarDate } | undefined;

/** The calendar date in Poland at `now`. */
export function warsawDate(now: Date): CalendarDate {
  const minute = Math.floor(now.getTime() / 60_000);
  if (minute !== last?.minute) {
    const [date = ""] = warsawTime(now).split(" ");
    last = { minute, date };
  }
  return last.date;
}

const clock = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "Europe/Warsaw",
  dateStyle: "short",
  timeStyle: "medium",
});

/** The date and the time in Poland: "2026-11-21 09:30:00". */
export function warsawTime(at: Date): string {
  return clock.format(at);
}

/** When a day begins in Poland. */
export function startOfDay(date: CalendarDate): Date {
  const midnight = (hoursAhead: number) => new Date(Date.parse(date) - hoursAhead * 3_600_000);
  const inSummer = midnight(2);
  return warsawDate(inSummer) === date ? inSummer : midnight(1);
}

/** The date this many days after `date`; before it, if negative. */
export function addDays(date: CalendarDate, days: number): CalendarDate {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Whether a text is a date of the years 1 to 9999. */
export function isDate(text: string): text is CalendarDate {
  return /^(?!0000)\d{4}-\d\d-\d\d$/.test(text) && dateExists(text);
}

/** Whether the day exists, for a text of the form of a date. Date.parse reads 30 February as 2 March. */
export function dateExists(date: CalendarDate): boolean {
  return new Date(date).getUTCDate() === Number(date.slice(8));
}
