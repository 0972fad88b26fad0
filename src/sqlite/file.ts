import { existsSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDraftOf, realName } from "../files/new-file.ts";
import { unusable } from "./failures.ts";

/**
 * The canonical path of a ledger. SQLite follows symbolic links, and keeps its log and locks beside the target.
 * @returns the path as given, if its folder does not exist
 * @throws FxError storage-unavailable if the file has other names, under which its log could be; Error with the
 * system's code
 */
export function resolveLedger(given: string): string {
  // First: another process may be making the file just now.
  const found = existing(() => statSync(given));
  const path = existing(() => realName(given)) ?? given;
  const stat = existing(() => statSync(path));
  if (found !== undefined && stat?.ino !== found.ino) {
    throw unusable(
      `${given} leads to a file that was removed or moved, so its log cannot be found. Name the path that the ledger has now.`,
    );
  }
  if (stat === undefined || !stat.isFile()) return path;
  refuseOtherLinks(path, stat);
  if (isMountPoint(path)) {
    throw unusable(
      `${path} is mounted by itself, so its log would not be where other users of the file look for it. ` +
        "Mount the folder that it is in, not the file.",
    );
  }
  return path;
}

/** Each hard link would have its own log. A draft that fx left when it was killed is not counted. */
function refuseOtherLinks(path: string, { nlink, ino, dev }: Stats): void {
  if (nlink <= 1) return;
  const folder = dirname(path);
  const others = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((name) => {
      const other = statOf(name);
      return name !== path && other?.ino === ino && other.dev === dev;
    });
  const drafts = others.filter((name) => isDraftOf(path, name)).length;
  // Another process may be removing its draft just now.
  if ((statOf(path)?.nlink ?? 0) - drafts <= 1) return;
  throw unusable(
    `${path} has another hard link${others.length === 0 ? "" : `, ${others.join(", ")}`}, under which its newest orders may be. ` +
      "Stop every process that has it open there, and remove the other name, or copy the ledger with fx backup under the name that is in use. " +
      "If fx backup was killed, the other name has .new- in it and is where the backup was made: remove it.",
  );
}

/** On Linux, a file that is mounted can be on the same device as its folder. */
function isMountPoint(path: string): boolean {
  const mounts = existing(() => readFileSync("/proc/self/mountinfo", "utf8"));
  if (mounts === undefined) return statSync(path).dev !== statSync(dirname(path)).dev;
  const escaped = path.replaceAll(
    /[ \t\n\\]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return mounts.split("\n").some((line) => line.split(" ")[4] === escaped);
}

/** The file of a ledger as it was before it was opened. */
export class LedgerFile {
  readonly path: string;
  readonly #given: string;
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

  /**
   * @param path as `resolveLedger` gives it
   * @param given the path that was resolved
   */
  constructor(path: string, given: string) {
    this.path = path;
    this.#given = given;
    this.#stat = statSync(path);
    const log = statOf(`${path}-wal`);
    const hasLog = log !== undefined && (log.size > 0 || existsSync(`${path}-shm`));
    this.isQuiet = !hasLog && !existsSync(`${path}-journal`);
    this.isNewerThanLog = log !== undefined && log.size > 0 && this.#stat.ctimeMs > log.ctimeMs;
  }

  /** Whether others may read or write the file. On Windows, its mode does not say. */
  get isOpenToOthers(): boolean {
    return process.platform !== "win32" && (this.#stat.mode & 0o077) !== 0;
  }

  /** Whether the path still names the file that was opened: another may have been renamed over it. */
  get isNamed(): boolean {
    return this.#isAt(this.path);
  }

  /** Whether no process has written to it since it was opened. */
  get isUnchanged(): boolean {
    return statOf(this.path)?.mtimeMs === this.#stat.mtimeMs && !statOf(`${this.path}-wal`)?.size;
  }

  /** @throws FxError storage-unavailable unless the path, and the path as it was given, lead to the file */
  requireInPlace(): void {
    if (!this.isNamed) {
      throw unusable(
        `${this.path} was replaced or removed while fx had it open. ` +
          `Stop fx, move ${this.path}-wal and ${this.path}-shm away, and start it on the file that is to be the ledger.`,
      );
    }
    // A link on the way may have been switched.
    if (this.#given !== this.path && !this.#isAt(this.#given)) {
      throw unusable(
        `${this.#given} led to ${this.path} when fx opened it, and does not any more. Start fx again on the ledger that is meant.`,
      );
    }
  }

  /** @throws FxError storage-unavailable unless what was read, without locks if it was quiet, is valid */
  requireReadable(): void {
    this.requireInPlace();
    if (this.isQuiet && !this.isUnchanged) {
      throw unusable(`Another process began to write to ${this.path} while it was read. Read it again.`);
    }
  }

  #isAt(path: string): boolean {
    const now = statOf(path);
    return now?.ino === this.#stat.ino && now.dev === this.#stat.dev;
  }
}

/** Undefined if there is no such file. */
function existing<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Undefined if there is no such file, or no permission to see it. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
