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
