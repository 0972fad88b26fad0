import { randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { FxError } from "../core/errors.ts";
import type { AuditProgress, AuditReport } from "../core/service.ts";
import { auditLedger } from "../ledger/audit.ts";
import { storageFailure, unusable } from "./failures.ts";
import { filesOf, nameUnlessTaken, removeDatabase, syncToDisk } from "./file.ts";
import { openReader } from "./open.ts";
import { openSqlite } from "./store.ts";

/**
 * Copies the ledger in the SQLite file `source`, which may be in use, to `destination`, as it is at one moment.
 * The copy gets its name only after it is on disk and its audit is clean, so a file of that
 * name is a good backup. Until then it has a name that no other file has, so nothing else is ever replaced or removed.
 * @returns the audit of the copy; with findings there is no file
 * @throws FxError storage-unavailable, also if `destination` exists, or what SQLite would take for a part of it
 */
export async function backUpSqlite(
  source: string,
  destination: string,
  onProgress?: (done: AuditProgress) => void,
): Promise<AuditReport> {
  const taken = filesOf(destination).find((path) => existsSync(path));
  if (taken !== undefined) throw exists(taken);
  const draft = `${destination}.partial-${randomUUID()}`;
  const removeDraft = () => removeDatabase(draft);
  try {
    // SQLite would say no more than that it cannot open it.
    closeSync(openSync(draft, "wx"));
  } catch (error) {
    const [reason] = (error as Error).message.split(",");
    throw unusable(`${destination} cannot be written (${reason}).`, error);
  }
  // Where a signal ends the process.
  process.once("exit", removeDraft);
  try {
    copyLedger(source, draft);
    const copy = openSqlite(draft, { access: "read" });
    const report = await auditLedger(copy, { onProgress }).finally(() => copy.close());
    if (report.findingsTotal > 0) return report;
    syncToDisk(draft);
    if (!nameUnlessTaken(draft, destination)) throw exists(destination);
    syncToDisk(dirname(resolve(destination)));
    return report;
  } finally {
    process.off("exit", removeDraft);
    removeDraft();
  }
}

function exists(path: string): FxError {
  return new FxError("storage-unavailable", `${path} exists. Name a new file: a backup replaces nothing.`);
}

function copyLedger(source: string, destination: string): void {
  const { database, requireFile } = openReader(source);
  try {
    database.prepare("vacuum into ?").run(destination);
    requireFile();
  } catch (error) {
    throw storageFailure(error, source);
  } finally {
    database.close();
  }
}
