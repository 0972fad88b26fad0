import type { AuditProgress, AuditReport } from "../core/service.ts";
import { auditLedger } from "../ledger/audit.ts";
import { storageFailure, unusable, writeFailureOf } from "./failures.ts";
import { faultIn, openReader } from "./open.ts";
import { openSqlite } from "./store.ts";

/**
 * Copies the ledger in the SQLite file `source`, which may be in use, as it is at one moment, and audits the copy.
 * @param copy the path of the copy, where there is no file, or an empty one
 * @throws FxError storage-unavailable, also if an index of the copy differs from its table
 */
export async function backUpSqlite(
  source: string,
  copy: string,
  onProgress?: (done: AuditProgress) => void,
): Promise<AuditReport> {
  copyLedger(source, copy);
  const store = openSqlite(copy, { access: "read" });
  const report = await auditLedger(store, { onProgress }).finally(() => store.close());
  if (report.findingsTotal === 0) requireSoundIndexes(copy, source);
  return report;
}

/** Compares the indexes, which are copied as they are, with their tables: an audit does not see rows that only an index has. */
function requireSoundIndexes(copy: string, source: string): void {
  const { database } = openReader(copy);
  let fault: string | undefined;
  try {
    fault = faultIn(database, "integrity_check");
  } finally {
    database.close();
  }
  if (fault !== undefined) throw unusable(`${source} is damaged: ${fault}. Restore it from a backup.`);
}

function copyLedger(source: string, copy: string): void {
  const { database, requireFile } = openReader(source);
  try {
    database.prepare("vacuum into ?").run(copy);
    requireFile();
  } catch (error) {
    const reason = writeFailureOf(error);
    if (reason !== undefined) throw unusable(`The copy cannot be written (${reason}).`, error);
    throw storageFailure(error, source);
  } finally {
    database.close();
  }
}
