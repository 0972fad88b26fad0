import { existsSync } from "node:fs";
import type { FxError } from "../core/errors.ts";
import type { AuditProgress, AuditReport } from "../core/service.ts";
import { NewFile } from "../files/new-file.ts";
import { auditLedger } from "../ledger/audit.ts";
import { storageFailure, unusable, writeFailureOf } from "./failures.ts";
import { faultIn, openReader } from "./open.ts";
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
  const draft = writing(destination, () => new NewFile(destination));
  try {
    const taken = ["-wal", "-shm", "-journal"].map((ending) => draft.path + ending).find(existsSync);
    if (taken !== undefined) throw exists(taken);
    copyLedger(source, draft.draft, destination);
    const copy = openSqlite(draft.draft, { access: "read" });
    const report = await auditLedger(copy, { onProgress }).finally(() => copy.close());
    if (report.findingsTotal > 0) return report;
    requireSoundIndexes(draft.draft, source);
    writing(destination, () => draft.keep());
    return report;
  } finally {
    draft.close();
  }
}

/** Names the path, which SQLite's own message does not. */
function writing<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw exists(path);
    const [reason = ""] = (error as Error).message.split(",");
    throw unwritable(path, reason, error);
  }
}

function unwritable(path: string, reason: string, cause: unknown): FxError {
  return unusable(`${path} cannot be written (${reason}).`, cause);
}

function exists(path: string): FxError {
  return unusable(`${path} exists. Name a new file: a backup replaces nothing.`);
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

function copyLedger(source: string, draft: string, destination: string): void {
  const { database, requireFile } = openReader(source);
  try {
    database.prepare("vacuum into ?").run(draft);
    requireFile();
  } catch (error) {
    const reason = writeFailureOf(error);
    if (reason !== undefined) throw unwritable(destination, reason, error);
    throw storageFailure(error, source);
  } finally {
    database.close();
  }
}
