import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { FxError } from "../core/errors.ts";
import type { AuditProgress, AuditReport } from "../core/service.ts";
import { auditLedger } from "./audit.ts";
import { openSqlite } from "./sqlite.ts";

/**
 * Copies the ledger in the SQLite file `source`, which may be in use, to `destination`, as it is at one moment. The
 * copy gets its name only after it is on disk and its audit is clean, so a file of that name is a good backup.
 * @returns the audit of the copy; with findings there is no file
 * @throws FxError storage-unavailable, also if `destination` exists
 */
export async function backUpSqlite(
  source: string,
  destination: string,
  onProgress?: (done: AuditProgress) => void,
): Promise<AuditReport> {
  if (!existsSync(source)) throw failure(`There is no database at ${source}.`);
  if (existsSync(destination))
    throw failure(`${destination} exists. Name a new file: a backup replaces nothing.`);
  const partial = `${destination}.partial`;
  removeDatabase(partial);
  try {
    const ledger = openSqlite(source);
    await ledger.copyTo(partial).finally(() => ledger.close());
    const copy = openSqlite(partial);
    const report = await auditLedger(copy, onProgress).finally(() => copy.close());
    if (report.findingsTotal > 0) return report;
    syncToDisk(partial);
    renameSync(partial, destination);
    syncToDisk(dirname(resolve(destination)));
    return report;
  } finally {
    removeDatabase(partial);
  }
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

function failure(message: string): FxError {
  return new FxError("storage-unavailable", message);
}
