import { existsSync } from "node:fs";
import type { FxError } from "../core/errors.ts";
import type { AuditProgress, AuditReport } from "../core/service.ts";
import { auditLedger } from "../ledger/audit.ts";
import { NewFile } from "../ledger/new-file.ts";
import { storageFailure, unusable } from "./failures.ts";
import { filesOf, removeDatabase } from "./file.ts";
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
  const draft = startCopy(destination);
  const removeParts = () => removeDatabase(draft.draft);
  // Where a signal ends the process.
  process.once("exit", removeParts);
  try {
    const taken = filesOf(draft.path).find((part) => existsSync(part));
    if (taken !== undefined) throw exists(taken);
    copyLedger(source, draft.draft);
    const copy = openSqlite(draft.draft, { access: "read" });
    const report = await auditLedger(copy, { onProgress }).finally(() => copy.close());
    if (report.findingsTotal === 0) keep(draft);
    return report;
  } finally {
    process.off("exit", removeParts);
    draft.close();
    removeParts();
  }
}

function startCopy(destination: string): NewFile {
  try {
    return new NewFile(destination);
  } catch (error) {
    throw isTaken(error) ? exists(destination) : unwritable(destination, error);
  }
}

function keep(draft: NewFile): void {
  try {
    draft.keep();
  } catch (error) {
    throw isTaken(error) ? exists(draft.path) : unwritable(draft.path, error);
  }
}

function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EEXIST";
}

function exists(path: string): FxError {
  return unusable(`${path} exists. Name a new file: a backup replaces nothing.`);
}

/** SQLite would say no more than that it cannot open it. */
function unwritable(path: string, error: unknown): FxError {
  const [reason] = (error as Error).message.split(",");
  return unusable(`${path} cannot be written (${reason}).`, error);
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
