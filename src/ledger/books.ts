import type { ExportRequest } from "../core/export.ts";
import type { AuditProgress, AuditReport, Position } from "../core/service.ts";
import { auditLedger } from "./audit.ts";
import { exportJournal } from "./export.ts";
import { positionOf } from "./position.ts";
import type { Store } from "./store.ts";

/** What takes reading the whole journal. */
export interface Books {
  audit(onProgress?: (done: AuditProgress) => void): Promise<AuditReport>;
  position(): Promise<Position>;
  export(request: ExportRequest): AsyncIterable<string>;
  /** Ends what is under way, which then fails. */
  close(): Promise<void>;
}

/** Reads in this thread, a slice at a time. */
export function booksOf(store: Store): Books {
  return {
    audit: (onProgress) => auditLedger(store, onProgress),
    position: () => positionOf(store),
    export: (request) => exportJournal(store, request),
    close: async () => {},
  };
}
