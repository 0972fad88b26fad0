import type { ExportRequest } from "../core/export.ts";
import type { AuditReport, Position } from "../core/service.ts";
import { auditLedger } from "./audit.ts";
import type { BooksAuditOptions } from "./checkpoint.ts";
import { exportJournal } from "./export.ts";
import { positionOf } from "./position.ts";
import type { Store } from "./store.ts";

/** What takes reading the whole journal. */
export interface Books {
  audit(options?: BooksAuditOptions): Promise<AuditReport>;
  position(at?: Date): Promise<Position>;
  export(request: ExportRequest): AsyncIterable<string>;
  /** Ends what is under way, which then fails. */
  close(): Promise<void>;
}

/** Reads in this thread, a slice at a time. */
export function booksOf(store: Store): Books {
  return {
    audit: (options) => auditLedger(store, options),
    position: (at) => positionOf(store, at),
    export: (request) => exportJournal(store, request),
    close: async () => {},
  };
}
