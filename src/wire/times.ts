import { dateExists } from "../core/date.ts";

/** Reads a time as RFC 3339 has it, "2026-11-21T04:33:31Z" or with another offset. Beyond milliseconds it is cut off. */
export function parseTime(text: string): Date | undefined {
  const form = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
  return form.test(text) && dateExists(text.slice(0, 10)) ? new Date(text.toUpperCase()) : undefined;
}
