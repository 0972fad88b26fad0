import type { ExportRequest } from "../core/export.ts";
import type { AuditReport, Position } from "../core/service.ts";
import { type AuditHelp, auditLedger } from "./audit.ts";
import type { BooksAuditOptions } from "./checkpoint.ts";
import { exportJournal } from "./export.ts";
import { positionOf } from "./position.ts";
import type { Store } from "./store.ts";

/** What takes reading the whole journal. */
export interface Books {
  audit(options?: BooksAuditOptions): Promise<AuditReport>;
  position(at?: Date, signal?: AbortSignal): Promise<Position>;
  export(request: ExportRequest): AsyncIterable<string>;
  /** Ends what is under way, which then fails. */
  close(): Promise<void>;
}

/**
 * Reads in this thread, a slice at a time.
 * @param reader the store as one who reads sees it, until the signal ends that
 * @param help does half of a large audit
 */
export function booksOf(
  store: Store,
  reader: (signal: AbortSignal | undefined) => Store = () => store,
  help?: AuditHelp,
): Books {
  return {
    audit: (options) => auditLedger(reader(options?.signal), options, help),
    position: (at, signal) => positionOf(reader(signal), at),
    export: (request) => exportJournal(reader(undefined), request),
    close: async () => {},
  };
}
