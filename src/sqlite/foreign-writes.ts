import { statSync } from "node:fs";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { unusable } from "./failures.ts";
import { schemaVersion } from "./schema.ts";

/** After another process's commit, its log is moved into the file at once, which takes less than this. */
const othersWriteForMs = 60_000;

/**
 * Notices that something other than SQLite wrote to the open file, as `cp` does. SQLite writes to it when it moves its log
 * there, which follows a commit: this process's own, or another's, which changes `version` (SQLite's data_version). And it
 * never makes the file of a ledger smaller.
 */
export class ForeignWrites {
  readonly #path: string;
  readonly #version: () => number;
  #knownVersion: number;
  #size = 0;
  #mtimeMs = 0;
  #othersUntilMs: number;
  #isForeign = false;

  /** @param mayMove whether another process may still move commits there that it made before */
  constructor(path: string, version: () => number, mayMove: boolean) {
    this.#path = path;
    this.#version = version;
    this.#knownVersion = version();
    this.#othersUntilMs = mayMove ? performance.now() + othersWriteForMs : 0;
    this.written();
  }

  /** To be called after each commit of this process. */
  written(): void {
    const { size, mtimeMs } = statSync(this.#path);
    this.#size = size;
    this.#mtimeMs = mtimeMs;
  }

  get isForeign(): boolean {
    const { size, mtimeMs } = statSync(this.#path);
    if (this.#isForeign || (size >= this.#size && mtimeMs === this.#mtimeMs)) return this.#isForeign;
    this.#isForeign = size < this.#size || !this.#isOthers();
    if (!this.#isForeign) this.written();
    return this.#isForeign;
  }

  /** @throws FxError storage-unavailable from the first foreign write on */
  require(): void {
    if (!this.isForeign) return;
    throw unusable(
      `${this.#path} was written by something other than fx while fx had it open, such as cp. ` +
        `Stop fx, move ${this.#path}-wal and ${this.#path}-shm away, put the file that is to be the ledger there, and start fx.`,
    );
  }

  #isOthers(): boolean {
    // On Windows the time of a file changes some time after it was written.
    if (process.platform === "win32") return true;
    let version: number;
    try {
      version = this.#version();
    } catch {
      // The first page is not one of SQLite any more.
      return false;
    }
    const now = performance.now();
    if (version !== this.#knownVersion) this.#othersUntilMs = now + othersWriteForMs;
    this.#knownVersion = version;
    return now < this.#othersUntilMs;
  }
}

/**
 * Moves all of the log into the file, so that nobody else does with what is there now; another may be doing it. The commit
 * before tells others who have the file open whose work it is.
 */
export function movesLog(database: DatabaseSyncInstance): boolean {
  try {
    database.exec(`begin immediate; pragma user_version = ${schemaVersion}; commit`);
    const moved = database.prepare("pragma wal_checkpoint(passive)").get() as Record<string, number>;
    return moved.busy === 0 && moved.log === moved.checkpointed;
  } catch {
    // Where the disk is full, for one, the ledger can still be read.
    if (database.isTransaction) database.exec("rollback");
    return false;
  }
}
