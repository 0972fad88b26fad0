import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { unusable } from "./failures.ts";

/** The file of a ledger as it was before it was opened. */
export class LedgerFile {
  readonly path: string;
  /**
   * No process has the file open, judging by its log, so all data is in the file itself. SQLite can then read it
   * without locks, and so without writing anything beside it.
   */
  readonly isQuiet: boolean;
  /**
   * The log was written before the file was put where it is, as when a backup was restored beside it. After a
   * checkpoint it is so too, until the next commit.
   */
  readonly isNewerThanLog: boolean;
  readonly #stat: Stats;

  constructor(path: string) {
    this.path = path;
    this.#stat = statSync(path);
    const log = statOf(`${path}-wal`);
    const hasLog = log !== undefined && (log.size > 0 || existsSync(`${path}-shm`));
    this.isQuiet = !hasLog && !existsSync(`${path}-journal`);
    this.isNewerThanLog = log !== undefined && log.size > 0 && this.#stat.ctimeMs > log.ctimeMs;
  }

  /** Whether the path still names the file that was opened: another may have been renamed over it. */
  get isInPlace(): boolean {
    const now = statOf(this.path);
    return now?.ino === this.#stat.ino && now.dev === this.#stat.dev;
  }

  /** On Windows a mode says nothing. */
  get isOpenToOthers(): boolean {
    return process.platform !== "win32" && (this.#stat.mode & 0o077) !== 0;
  }

  /** @throws FxError storage-unavailable */
  requireInPlace(): void {
    if (this.isInPlace) return;
    throw unusable(
      `${this.path} was replaced or removed while fx had it open. ` +
        `Stop fx, move ${this.path}-wal and ${this.path}-shm away, and start it on the file that is to be the ledger.`,
    );
  }

  /** Whether no process has written since it was opened, so that what was read without locks is valid. */
  get isUnchanged(): boolean {
    return (
      this.isInPlace && statOf(this.path)?.mtimeMs === this.#stat.mtimeMs && !statOf(`${this.path}-wal`)?.size
    );
  }

  /** @throws FxError storage-unavailable */
  requireUnchanged(): void {
    if (this.isUnchanged) return;
    this.requireInPlace();
    throw unusable(`Another process began to write to ${this.path} while it was read. Read it again.`);
  }
}

export function syncToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** @returns whether it got the name */
export function nameUnlessTaken(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    // Not every file system has links. There, a process whose file is replaced finds out before it answers.
    renameSync(draft, path);
  }
  return true;
}

/** The files that a database may consist of. */
export function filesOf(path: string): readonly string[] {
  return ["", "-wal", "-shm", "-journal"].map((suffix) => path + suffix);
}

/** Removes a database that nobody has open. */
export function removeDatabase(path: string): void {
  for (const file of filesOf(path)) rmSync(file, { force: true });
}

/** Undefined if there is none, or no permission to see it. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
