/**
 * How far clocks may be apart, in milliseconds: those of several machines, and one before and after it was set back. An
 * entry is dated no further ahead of the clock, and an audit compares times with this tolerance.
 */
export const clockToleranceMs = 5 * 60_000;

/** A time that no date can hold is shown as its number. */
export function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
