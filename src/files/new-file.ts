import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";

/**
 * A file for its user alone, which gets its name when it is whole and on disk, and never in place of another. Until then it is a draft
 * under a random name. Nothing is left of one that is closed without being kept, or whose process exits, unless the
 * folder lets nothing be removed.
 */
export class NewFile {
  /** The name that it gets, without symbolic links. */
  readonly path: string;
  /** The name that it has until then. */
  readonly draft: string;
  readonly #descriptor: number;
  readonly #remove = () => {
    try {
      rmSync(this.draft, { force: true });
      // SQLite leaves it beside a database that it could not write.
      rmSync(`${this.draft}-journal`, { force: true });
    } catch {
      // In a folder where files can only be added, the draft stays.
    }
  };

  /** @throws Error with the system's code; EEXIST if there is such a file */
  constructor(path: string) {
    this.path = realName(path);
    this.draft = draftOf(this.path);
    if (existsSync(this.path)) throw taken(this.path);
    const [, database] = /^(.+)-(?:wal|shm|journal)$/.exec(this.path) ?? [];
    if (database !== undefined && existsSync(database)) {
      throw new Error(`SQLite would take it for a part of ${database}`);
    }
    this.#descriptor = openSync(this.draft, "wx", 0o600);
    process.once("exit", this.#remove);
  }

  write(text: string): void {
    writeFileSync(this.#descriptor, text);
  }

  /** @throws Error with the system's code; EEXIST if another process made a file of that name meanwhile */
  keep(): void {
    fsyncSync(this.#descriptor);
    nameUnlessTaken(this.draft, this.path);
    this.#remove();
    syncFolder(dirname(this.path));
  }

  close(): void {
    closeSync(this.#descriptor);
    this.#remove();
    process.off("exit", this.#remove);
  }
}

/**
 * The path of a file that may not be there yet, without symbolic links. They are followed before "..", as the system
 * does it.
 * @throws Error with the system's code; ENOENT if there is no such folder
 */
export function realName(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    const name = join(realpathSync.native(dirname(path)), basename(path));
    const target = targetOf(name);
    if (target === undefined) return name;
    return realName(isAbsolute(target) ? target : `${dirname(name)}/${target}`);
  }
}

/** Whether a file beside `path` is, or was, a draft of it. */
export function isDraftOf(path: string, name: string): boolean {
  return name.startsWith(`${path}${draftMark}`);
}

const draftMark = ".new-";

function draftOf(path: string): string {
  return `${path}${draftMark}${randomUUID()}`;
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    // It is not there, or no link.
    if (["ENOENT", "EINVAL"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}

function nameUnlessTaken(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    // A file system without hard links refuses with one of these.
    if (!["EPERM", "ENOTSUP", "ENOSYS"].includes(codeOf(error) ?? "")) throw error;
    if (existsSync(path)) throw taken(path);
    renameSync(draft, path);
  }
}

/** A folder that may not be read cannot be synchronized by its users. */
function syncFolder(path: string): void {
  let folder: number;
  try {
    folder = openSync(path, "r");
  } catch (error) {
    if (codeOf(error) === "EACCES") return;
    throw error;
  }
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function taken(path: string): Error {
  return Object.assign(new Error(`${path} exists`), { code: "EEXIST" });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
