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
