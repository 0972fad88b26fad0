import type { CalendarDate } from "./date.ts";

/** Whose files the journal can be had as. */
export const exportFormats = ["hledger", "beancount", "csv", "ndjson"] as const;

export type ExportFormat = (typeof exportFormats)[number];

/** Which entries of the journal, and how. Those of a limit itself belong to it. */
export interface ExportRequest {
  readonly format: ExportFormat;
  /** In Warsaw. */
  readonly from?: CalendarDate | undefined;
  /** In Warsaw. */
  readonly to?: CalendarDate | undefined;
  /** The journal as it was then. */
  readonly at?: Date | undefined;
  /** With what tells of people: PESELs, names, notes, reasons, the keys that clients chose, and the names of tokens. */
  readonly full: boolean;
}

const lastLine =
  /^(?:; end of export: \d+ entries|end of export: \d+ entries,*|\{"kind":"end","entries":\d+\})$/;

/**
 * Whether an export came to its end, which its last line says.
 * @param tail of an export: at least its last line
 */
export function isWholeExport(tail: string): boolean {
  return tail.endsWith("\n") && lastLine.test(tail.slice(tail.lastIndexOf("\n", tail.length - 2) + 1, -1));
}
