import type { AuditProgress, AuditReport, Position } from "../core/service.ts";
import { auditLedger } from "./audit.ts";
import { positionOf } from "./position.ts";
import type { Store } from "./store.ts";

/** What takes reading the whole journal. */
export interface Books {
  audit(onProgress?: (done: AuditProgress) => void): Promise<AuditReport>;
  position(at?: Date): Promise<Position>;
  /** Ends what is under way, which then fails. */
  close(): Promise<void>;
}

/** Reads in this thread, a slice at a time. */
export function booksOf(store: Store): Books {
  return {
    audit: (onProgress) => auditLedger(store, onProgress),
    position: (at) => positionOf(store, at),
    close: async () => {},
  };
}
