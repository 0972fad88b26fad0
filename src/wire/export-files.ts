import type { ExportFormat } from "../core/service.ts";

/** The media type of an export, and how the name of its file ends. */
export const exportFiles: Readonly<Record<ExportFormat, { readonly type: string; readonly ending: string }>> =
  {
    hledger: { type: "text/plain", ending: "journal" },
    beancount: { type: "text/plain", ending: "beancount" },
    csv: { type: "text/csv", ending: "csv" },
    ndjson: { type: "application/x-ndjson", ending: "ndjson" },
    register: { type: "text/csv", ending: "register.csv" },
  };

export const longestLastLine = 200;

const lastLine =
  /^(?:; end of export: \d+ entries|end of export: \d+ entries,*|\{"kind":"end","entries":\d+\}|koniec ewidencji: \d+;*\r)$/;

/**
 * Whether an export came to its end, which its last line says.
 * @param tail of an export: at least its last line
 */
export function isWholeExport(tail: string): boolean {
  return tail.endsWith("\n") && lastLine.test(tail.slice(tail.lastIndexOf("\n", tail.length - 2) + 1, -1));
}
