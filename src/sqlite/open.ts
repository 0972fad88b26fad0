import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { NewFile } from "../files/new-file.ts";
import { limits } from "../ledger/limits.ts";
import type { OpenOptions } from "../ledger/store.ts";
import { resultCodeOf, resultCodes, storageFailure, unusable } from "./failures.ts";
import { LedgerFile, resolveLedger } from "./file.ts";
import { creation, numberOf, requireSchema } from "./schema.ts";

export interface SqliteOptions extends OpenOptions {
  /** How long a write waits for another process that writes. 5 s if absent. */
  readonly lockWaitMs?: number;
  /** How long after its time an entry may be committed at most. 10 s if absent. */
  readonly commitsWithinMs?: number;
  /** Accounts that are kept in memory, once they were read. */
  readonly accountsKept?: number;
}

export interface OpenDatabase {
  readonly database: DatabaseSyncInstance;
  /**
   * Called before what was read or committed is answered.
   * @throws FxError storage-unavailable if the file is not the one that was opened any more
   */
  readonly requireFile: () => void;
  /** Whether this connection may move the write-ahead log into the file. */
  readonly ownsLog: () => boolean;
}

/** While a file is opened. Afterwards nothing waits in SQLite: see write-lock.ts. */
const busyTimeoutMs = limits.sqliteLockWaitMs;
/** A process that opens a file, or looks whether it is open, holds a lock for some milliseconds before there is a log. */
const lockWithoutLogMs = 2000;
/** 32 MiB of log between checkpoints: a page that many orders change is written to the file once. */
const checkpointPages = 8000;
/**
 * At a commit after a page was split, SQLite looks through all pages of its cache, so a larger one is slower: the rest
 * is read from the system's cache.
 */
const cacheKibibytes = 8 * 1024;
const settings =
  // On macOS only fullfsync reaches the disk itself. Elsewhere it changes nothing.
  `pragma synchronous = full; pragma fullfsync = on; pragma journal_mode = wal; pragma wal_autocheckpoint = ${checkpointPages}; ` +
  `pragma cache_size = -${cacheKibibytes}`;
/** The answer of `pragma synchronous` for full. */
const synchronousFull = 2;
/** Unlike ":memory:", it keeps few of its pages in SQLite's cache. Private to the connection; at most 1 GiB. */
const memoryPath = "file:ledger?vfs=memdb";
/** SQLITE_IOERR_SHMSIZE */
const noRoomToShareCode = 4874;
/** A full check of more would take minutes. */
const fullCheckBytes = 64 * 1024 * 1024;

/**
 * Opens the database of a ledger, or a new one in memory for ":memory:".
 * @throws FxError storage-unavailable if the file is not a whole ledger
 */
export function openDatabase(given: string, { access = "create", onNotice }: SqliteOptions): OpenDatabase {
  if (given === ":memory:") {
    const database = new DatabaseSync(memoryPath);
    database.exec(`${creation()}; ${settings}`);
    return { database, requireFile: () => {}, ownsLog: () => true };
  }
  if (access === "create") createUnlessThere(given);
  const { file, ...reader } = openReader(given);
  if (access === "read") return reader;
  reader.database.close();
  return failing(file.path, () => {
    const database = openWritable(file);
    if (file.isOpenToOthers) {
      onNotice?.(`other users of this machine may read or write ${given}: chmod 600 ends that`);
    }
    return { database, requireFile: () => file.requireInPlace(), ownsLog: () => file.isNamed };
  });
}

/** A new ledger gets its name when it is whole, so that no process ever finds a part of one. */
function createUnlessThere(given: string): void {
  const path = failing(given, () => resolveLedger(given));
  if (isThere(path)) return;
  const folder = dirname(path);
  if (!existsSync(folder)) {
    throw unusable(`${path} cannot be made: the folder ${folder} does not exist.`);
  }
  failing(path, () => {
    let file: NewFile | undefined;
    try {
      file = new NewFile(path);
      const database = new DatabaseSync(file.draft);
      // Nothing is beside the draft, and `keep` synchronizes it.
      database.exec(`pragma journal_mode = off; ${creation()}`);
      database.close();
      file.keep();
    } catch (error) {
      // Another process made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      file?.close();
    }
  });
}

/** Refuses an empty file, or a log without its database: the remains of a ledger, of which SQLite would make a new one. */
function isThere(path: string): boolean {
  const sizeNow = () => failing(path, () => statSync(path, { throwIfNoEntry: false })?.size);
  // Another process may make both just now: the log comes after the file.
  const hasLog = sizeNow() === undefined && existsSync(`${path}-wal`);
  const size = sizeNow();
  if (size === 0) {
    throw unusable(
      `${path} is empty, which no ledger is. Restore it from a backup, or delete it to start a new one.`,
    );
  }
  if (size === undefined && hasLog) {
    throw unusable(
      `${path} is missing, but its log ${path}-wal is there. Restore the database beside it, or delete the log.`,
    );
  }
  return size !== undefined;
}

/**
 * Opens a ledger so that nothing of it, and nothing beside it, is changed.
 * @throws FxError storage-unavailable if the file is not a whole ledger
 */
export function openReader(given: string): OpenDatabase & { readonly file: LedgerFile } {
  const path = failing(given, () => resolveLedger(given));
  if (!isThere(path)) {
    throw unusable(`There is no database at ${path}. fx serve, fx account create and fx batch create one.`);
  }
  return failing(path, () => {
    for (;;) {
      const file = unlockedUnlessLogged(path, given);
      const database = openReadOnly(file);
      try {
        requireSchema(database, path);
        refuseDamage(database, file);
        file.requireReadable();
        return { database, requireFile: () => file.requireReadable(), ownsLog: () => false, file };
      } catch (error) {
        database.close();
        // Another process began to use it meanwhile: now it is to be read with locks.
        if (!file.isQuiet || file.isUnchanged) throw error;
      }
    }
  });
}

/** @throws FxError storage-unavailable if another process has the file open under a name that it does not have any more */
function unlockedUnlessLogged(path: string, given: string): LedgerFile {
  for (const end = performance.now() + lockWithoutLogMs; ; pauseBriefly()) {
    const file = new LedgerFile(path, given);
    if (!file.isQuiet || !isLocked(path)) return file;
    if (performance.now() > end) {
      throw unusable(
        `Another process has ${path} open, and there is no log ${path}-wal: that process opened the file under another name, and the log with its newest orders is beside that name. ` +
          "Stop that process, and give the file its earlier name back.",
      );
    }
  }
}

/**
 * Whether another process has the file open, and so holds a lock on it. Without permission to write it, that cannot be
 * known.
 */
function isLocked(path: string): boolean {
  let database: DatabaseSyncInstance | undefined;
  try {
    database = new DatabaseSync(`${pathToFileURL(path)}?mode=rw`, { timeout: 0 });
    database.exec("pragma locking_mode = exclusive; select 1 from sqlite_schema");
    return false;
  } catch (error) {
    // Any other failure comes up again when the file is read.
    return resultCodeOf(error) === resultCodes.busy;
  } finally {
    database?.close();
  }
}

/** Entries that are not in the file yet are read from its log, for which SQLite needs a `-shm`. */
function openReadOnly({ path, isQuiet }: LedgerFile): DatabaseSyncInstance {
  const place = isQuiet ? `${pathToFileURL(path)}?immutable=1` : path;
  const database = new DatabaseSync(place, { readOnly: true, timeout: busyTimeoutMs });
  try {
    database.exec("select 1 from sqlite_schema");
    return database;
  } catch (error) {
    database.close();
    const code = resultCodeOf(error);
    if (isQuiet || (code !== resultCodes.readOnly && code !== resultCodes.cannotOpen)) throw error;
    throw unusable(
      `${path} is not complete without its log ${path}-wal, which can be read only where fx may write. ` +
        "Copy both to such a folder.",
      error,
    );
  }
}

/** Checks the whole of a small database, and of a large one if the log beside it may not belong to it. */
function refuseDamage(database: DatabaseSyncInstance, { path, isNewerThanLog }: LedgerFile): void {
  const bytes = numberOf(database, "page_count") * numberOf(database, "page_size");
  if (bytes > fullCheckBytes && !isNewerThanLog) return;
  const fault = faultIn(database, "quick_check");
  if (fault === undefined) return;
  throw unusable(
    isNewerThanLog
      ? `${path} and its log ${path}-wal, which is older, do not fit together: ${fault}. ` +
          `If the file was restored from a backup, move ${path}-wal and ${path}-shm away.`
      : `${path} is damaged: ${fault}. Restore it from a backup.`,
  );
}

/** @param check "integrity_check" compares each index with its table, too, which takes some five times as long */
export function faultIn(
  database: DatabaseSyncInstance,
  check: "quick_check" | "integrity_check",
): string | undefined {
  try {
    const [verdict] = Object.values(database.prepare(`pragma ${check}(1)`).get() as Record<string, string>);
    return verdict === "ok" ? undefined : verdict?.replace(/^\*.*\n/, "");
  } catch (error) {
    if (resultCodeOf(error) === resultCodes.corrupt) return (error as Error).message;
    throw error;
  }
}

function openWritable(file: LedgerFile, locking: "normal" | "exclusive" = "normal"): DatabaseSyncInstance {
  const database = new DatabaseSync(`${pathToFileURL(file.path)}?mode=rw`, { timeout: busyTimeoutMs });
  try {
    whenFree(() => {
      database.exec(`pragma locking_mode = ${locking}`);
      makeDurable(database, file.path);
    });
    file.requireInPlace();
    database.exec("pragma busy_timeout = 0");
    return database;
  } catch (error) {
    database.close();
    // The disk is too full for the -shm, which a process that has the file for itself does not need.
    const lacksRoom = (error as { errcode?: number }).errcode === noRoomToShareCode;
    if (lacksRoom && locking === "normal") return openWritable(file, "exclusive");
    throw error;
  }
}

/**
 * Sets what makes a commit durable, and reads it back: SQLite keeps another mode of the journal without an error where
 * it cannot have a log.
 * @throws FxError storage-unavailable if the database did not take it
 */
export function makeDurable(database: DatabaseSyncInstance, path: string): void {
  database.exec(`${settings}; select 1 from sqlite_schema`);
  const { journal_mode } = database.prepare("pragma journal_mode").get() as { journal_mode: string };
  const synchronous = numberOf(database, "synchronous");
  if (journal_mode === "wal" && synchronous === synchronousFull) return;
  throw unusable(
    `${path} cannot be written durably: SQLite keeps the journal mode ${journal_mode} and synchronous ${synchronous}, ` +
      `where fx needs wal and ${synchronousFull} (full). Put the ledger on a local disk, or use PostgreSQL.`,
  );
}

/** SQLite does not wait for its lock where several processes turn a file into one with a log at once. */
function whenFree(work: () => void): void {
  for (const end = performance.now() + busyTimeoutMs; ; pauseBriefly()) {
    try {
      work();
      return;
    } catch (error) {
      if (resultCodeOf(error) !== resultCodes.busy || performance.now() > end) throw error;
    }
  }
}

function pauseBriefly(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + Math.random() * 20);
}

function failing<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    throw syscall === undefined
      ? storageFailure(error, path)
      : unusable(`${path} cannot be opened (${code}).`, error);
  }
}
