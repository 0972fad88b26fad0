import assert from "node:assert/strict";
import { closeSync, copyFileSync, existsSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { LedgerService } from "../../src/ledger/service.ts";
import { backUpSqlite } from "../../src/sqlite/backup.ts";
import { makeDurable } from "../../src/sqlite/open.ts";
import { openSqlite, type SqliteStore } from "../../src/sqlite/store.ts";
import { adult, fixedRates, now, opening, terms } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { ledgerFile } from "../support/ledger-file.ts";

function serve(t: TestContext, store: SqliteStore): LedgerService {
  const service = new LedgerService(store, fixedRates(), () => now);
  t.after(() => service.close().catch(() => {}));
  return service;
}

describe("The durability of a SQLite ledger", () => {
  const openAs = (t: TestContext, place: string) => {
    const database = new DatabaseSync(place);
    t.after(() => database.close());
    return database;
  };

  /** A file with a rollback journal, which nobody has open. */
  const fileWithoutLog = (t: TestContext) => {
    const path = join(newFolder(t), "plain.db");
    const database = new DatabaseSync(path);
    database.exec("create table a (b)");
    database.close();
    return path;
  };

  test("A database that keeps another journal without an error is refused", (t) => {
    const path = fileWithoutLog(t);
    for (const place of [`${pathToFileURL(path)}?vfs=unix-dotfile`, "file:any?vfs=memdb"]) {
      const database = openAs(t, place);
      assert.throws(() => makeDurable(database, path), {
        code: "storage-unavailable",
        message:
          /cannot be written durably: SQLite keeps the journal mode (delete|memory) and synchronous 2, /,
      });
    }
  });

  test("A file that was left with another journal gets its log and full synchronization", (t) => {
    const path = fileWithoutLog(t);
    const database = openAs(t, path);
    database.exec("pragma journal_mode = delete; pragma synchronous = off");
    makeDurable(database, path);
    assert.deepEqual({ ...database.prepare("pragma journal_mode").get() }, { journal_mode: "wal" });
    assert.deepEqual({ ...database.prepare("pragma synchronous").get() }, { synchronous: 2 });
  });
});

describe("A SQLite ledger that is open for reading", () => {
  test("A ledger that is open for reading answers and takes no writes", async (t) => {
    const service = serve(t, openSqlite(await ledgerFile(t, 2), { access: "read" }));
    assert.equal((await service.account(adult(1))).balances[1]?.minor, 1000n);
    assert.equal((await service.audit()).entries, 4);
    await assert.rejects(service.createAccount(opening({ index: 2 })), {
      code: "storage-unavailable",
      message: /read-only/,
    });
  });

  test("A reader sees the commits of a server that has the ledger open", async (t) => {
    const path = await ledgerFile(t, 2);
    const server = serve(t, openSqlite(path));
    await server.createAccount(opening({ index: 2 }));
    const reader = serve(t, openSqlite(path, { access: "read" }));
    await server.exchange({ ...terms("buy 10 USD for PLN"), pesel: adult(2) });
    assert.equal((await reader.account(adult(2))).balances[1]?.minor, 1000n);
  });

  test("A reader that works without locks fails once another process writes", async (t) => {
    const path = await ledgerFile(t, 2);
    const alone = join(newFolder(t), "alone.db");
    await backUpSqlite(path, alone);
    const reader = serve(t, openSqlite(alone, { access: "read" }));
    const server = serve(t, openSqlite(alone));
    const refusal = { code: "storage-unavailable", message: /Another process began to write to .*alone\.db/ };
    await server.createAccount(opening({ index: 2 }));
    await assert.rejects(reader.account(adult(2)), refusal);
    await server.close();
    await assert.rejects(reader.account(adult(2)), refusal);
  });

  test("A missing ledger is created neither for reading nor for writing", async (t) => {
    const path = join(newFolder(t), "none.db");
    for (const access of ["read", "write"] as const) {
      assert.throws(() => openSqlite(path, { access }), { message: /There is no database at .*none\.db/ });
    }
    assert.throws(() => readFileSync(path), { code: "ENOENT" });
  });
});

describe("A SQLite file under the name of a descriptor", { skip: !existsSync("/proc/self/fd") }, () => {
  test("A descriptor's name is that of its file, until the file is removed", async (t) => {
    const path = await ledgerFile(t, 2);
    const descriptor = openSync(path, "r");
    t.after(() => closeSync(descriptor));
    const name = `/proc/self/fd/${descriptor}`;
    const service = serve(t, openSqlite(name));
    await service.createAccount(opening({ index: 2 }));
    assert.ok(existsSync(`${path}-wal`));
    await service.close();
    rmSync(path);
    for (const access of ["read", "write", "create"] as const) {
      assert.throws(() => openSqlite(name, { access }), { message: /leads to a file that was removed/ });
    }
  });
});

describe("A SQLite file that is replaced while it is open", () => {
  const gone = {
    code: "storage-unavailable",
    message: /ledger\.db was replaced or removed while fx had it open/,
  };

  for (const [what, replace] of [
    ["another renamed over it", (path: string, other: string) => renameSync(other, path)],
    ["its removal", (path: string) => rmSync(path)],
  ] as const) {
    test(`After ${what}, an open file answers no order, read or ping`, async (t) => {
      const path = await ledgerFile(t, 2);
      const other = join(newFolder(t), "other.db");
      await backUpSqlite(path, other);
      const store = openSqlite(path);
      const service = serve(t, store);
      await service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult(0) });
      replace(path, other);
      await assert.rejects(service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult(0) }), gone);
      await assert.rejects(service.account(adult(0)), gone);
      await assert.rejects(service.statement(adult(0), { limit: 1 }), gone);
      await assert.rejects(store.ping(), gone);
    });
  }

  test("A file that is moved during a commit fails the commit", async (t) => {
    const path = await ledgerFile(t, 2);
    const store = openSqlite(path);
    t.after(() => store.close());
    await assert.rejects(
      store.transact([], () => {
        renameSync(path, `${path}.moved`);
        return { writes: { accounts: [], entries: [], tables: [] }, answer: "done" };
      }),
      gone,
    );
  });
});

describe("A large SQLite file beside a log that a killed server left", () => {
  /** Files of a ledger of more than 64 MiB: a backup, and what was there when its server was killed later. */
  async function killed(t: TestContext): Promise<{ backup: string; file: string; log: string }> {
    const path = await ledgerFile(t, 2);
    const database = new DatabaseSync(path);
    database.exec("create table ballast (x blob); insert into ballast values (zeroblob(70000000))");
    database.close();
    const kept = newFolder(t);
    const [backup, file, log] = ["backup", "file", "log"].map((name) => join(kept, name)) as [
      string,
      string,
      string,
    ];
    await backUpSqlite(path, backup);
    const service = serve(t, openSqlite(path));
    for (let index = 2; index < 12; index += 1) await service.createAccount(opening({ index }));
    copyFileSync(path, file);
    copyFileSync(`${path}-wal`, log);
    return { backup, file, log };
  }

  test("A file that was put beside an older log is refused", async (t) => {
    const { backup, log } = await killed(t);
    const path = join(newFolder(t), "ledger.db");
    renameSync(log, `${path}-wal`);
    await pause(20);
    renameSync(backup, path);
    assert.throws(() => openSqlite(path), { code: "storage-unavailable", message: /do not fit together/ });
  });

  test("A file with its own log is opened", async (t) => {
    const { file, log } = await killed(t);
    const path = join(newFolder(t), "ledger.db");
    renameSync(log, `${path}-wal`);
    await pause(20);
    renameSync(file, path);
    assert.equal((await serve(t, openSqlite(path)).audit()).accounts, 12);
  });
});
