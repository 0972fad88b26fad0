/** A calendar date as ISO 8601 text, "2026-11-21". Such texts compare as the dates do. */
export type CalendarDate = string;

const formatter = new Intl.DateTimeFormat("en-US", {
  timeZone: "Europe/Warsaw",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
});
/** Intl is slow and every order needs today's date, so the last minute's answer is kept (docs/PERFORMANCE.md). */
let last: { minute: number; date: CalendarDate } | undefined;

/** The calendar date in Poland at `now`. */
export function warsawDate(now: Date): CalendarDate {
  const minute = Math.floor(now.getTime() / 60_000);
  if (minute !== last?.minute) {
    const part = Object.fromEntries(formatter.formatToParts(now).map(({ type, value }) => [type, value]));
    last = { minute, date: `${part.year}-${part.month}-${part.day}` };
  }
  return last.date;
}

/** The date this many days after `date`; before it, if negative. */
export function addDays(date: CalendarDate, days: number): CalendarDate {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Reads a calendar date; undefined if it is none. */
export function parseDate(text: string): CalendarDate | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(text) && dateExists(text) ? text : undefined;
}

/** Reads a time of RFC 3339, "2026-11-21T14:00:36.973Z"; undefined if it is none. */
export function parseTime(text: string): Date | undefined {
  const [, date = "", rest] =
    /^([\d-]{10})[Tt](\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d))$/.exec(text) ?? [];
  const time = new Date(`${parseDate(date)}T${rest?.toUpperCase()}`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** Whether there is such a day. Date.parse accepts 30 February, and is slower. */
export function dateExists(date: CalendarDate): boolean {
  const month = Number(date.slice(5, 7));
  const day = Number(date.slice(8, 10));
  // A day that its month does not have falls into another month.
  return new Date(Date.UTC(Number(date.slice(0, 4)), month - 1, day)).getUTCMonth() === month - 1;
}
