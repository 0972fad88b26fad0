import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import type { Pesel } from "../../src/core/pesel.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { backUpSqlite } from "../../src/sqlite/backup.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult, now, opening, terms, tradedRates } from "../support/fixture.ts";
import { sellGrosz } from "../support/postgres-store.ts";

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "fx-sqlite-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

async function serve(path: string): Promise<LedgerService> {
  const store = openSqlite(path);
  return new LedgerService(store, await tradedRates(store), () => now);
}

async function ledgerFile(t: TestContext, accounts = 3): Promise<string> {
  const path = join(folder(t), "ledger.db");
  const service = await serve(path);
  for (let index = 0; index < accounts; index += 1) {
    await service.createAccount(opening({ index }));
    await service.exchange({ ...terms("buy 10 USD for PLN"), pesel: adult(index) });
  }
  await service.close();
  return path;
}

describe("opening a SQLite file", () => {
  test("finds everything again after a restart", async (t) => {
    const service = await serve(await ledgerFile(t));
    t.after(() => service.close());
    assert.deepEqual((await service.account(adult(2))).balances, [
      { currency: "PLN", minor: 96300n },
      { currency: "USD", minor: 1000n },
    ]);
    assert.equal((await service.audit()).entries, 6);
  });

  const refused: [what: string, spoil: (path: string) => void, message: RegExp][] = [
    ["a file that was emptied", (path) => truncateSync(path), /is empty, which no ledger is/],
    ["a file cut in half", (path) => truncateSync(path, statSync(path).size / 2), /damaged/],
    [
      "a file of another kind",
      (path) => writeFileSync(path, "PLN,USD\n".repeat(1000)),
      /not a SQLite database/,
    ],
    ["a page overwritten", (path) => overwrite(path, 4096 * 3), /damaged/],
    ["the header overwritten", (path) => overwrite(path, 0), /not a SQLite database/],
    [
      "a file of another version of fx",
      (path) => edit(path, "pragma user_version = 99"),
      /another version of fx \(schema 99; this one has schema 1\)/,
    ],
    [
      "a database of another program",
      (path) => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
        edit(path, "create table invoice (total integer)");
      },
      /not one of fx/,
    ],
  ];
  for (const [what, spoil, message] of refused) {
    test(`refuses ${what}, and leaves it as it is`, async (t) => {
      const path = await ledgerFile(t, 30);
      spoil(path);
      const before = readFileSync(path);
      assert.throws(() => openSqlite(path), { code: "storage-unavailable", message });
      assert.deepEqual(readFileSync(path), before);
    });
  }

  test("refuses a log whose database is missing", async (t) => {
    const path = join(folder(t), "ledger.db");
    writeFileSync(`${path}-wal`, "left behind");
    assert.throws(() => openSqlite(path), /missing, but its log/);
  });

  test("refuses a folder that does not exist, by its name", (t) => {
    assert.throws(() => openSqlite(join(folder(t), "no", "ledger.db")), /folder .*no does not exist/);
  });
});

describe("two processes over one file", () => {
  test("each sees what the other committed", async (t) => {
    const path = await ledgerFile(t);
    const [one, other] = [await serve(path), await serve(path)];
    t.after(() => Promise.all([one.close(), other.close()]));
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(
        [one, other].map((service) => service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult(0) })),
      );
    }
    assert.equal((await one.account(adult(0))).balances[1]?.minor, 5000n);
    assert.deepEqual((await other.audit()).findings, []);
  });
});

test("a read shows what another process committed since the last one, in the same turn of the event loop, too", async (t) => {
  const path = await ledgerFile(t, 1);
  const [one, other] = [openSqlite(path), openSqlite(path)];
  t.after(() => Promise.all([one.close(), other.close()]));
  const before = await one.account(adult(0));
  await sellGrosz(other, [adult(0)]);
  assert.equal((await one.account(adult(0)))?.sequence, (before?.sequence ?? 0) + 1);
});

test("a commit that fails half-way writes nothing, and the next one goes through", async (t) => {
  const path = await ledgerFile(t, 1);
  const service = await serve(path);
  t.after(() => service.close());
  edit(path, "create trigger full before update on account begin select raise(abort, 'no room'); end");
  const order = { ...terms("buy 1 USD for PLN"), pesel: adult(0) };
  await assert.rejects(service.exchange(order), { code: "storage-unavailable" });
  assert.equal((await service.account(adult(0))).balances[1]?.minor, 1000n);
  edit(path, "drop trigger full");
  assert.equal((await service.exchange(order)).account.balances[1]?.minor, 1100n);
  assert.deepEqual((await service.audit()).findings, []);
});

test("a page that is damaged fails the order that needs it, and none beside it", async (t) => {
  const path = join(folder(t), "ledger.db");
  const indexes = Array.from({ length: 500 }, (_, index) => index);
  const first = await serve(path);
  await Promise.all(indexes.map((index) => first.createAccount(opening({ index }))));
  await first.close();
  const service = await serve(path);
  t.after(() => service.close());
  // Of the words of names, which are by PESEL, those of the lowest ones.
  const leaves = "select pageno from dbstat where name = 'name_word' and pagetype = 'leaf' order by path";
  const database = new DatabaseSync(path);
  const { pageno } = database.prepare(leaves).get() as { pageno: number };
  database.close();
  overwrite(path, 4096 * (pageno - 1));
  const pesels = indexes.map(adult).sort();
  const outcomes = await Promise.all(
    [pesels[0] as Pesel, pesels.at(-1) as Pesel].map((pesel) =>
      service.change({ kind: "renaming", pesel, name: "Ewa", surname: "Lis" }).then(
        () => "done",
        ({ message }: Error) => message,
      ),
    ),
  );
  assert.match(outcomes[0] ?? "", /^The ledger is damaged: SQLite says: database disk image is malformed/);
  assert.equal(outcomes[1], "done");
});

describe("a backup", () => {
  test("of a ledger in use is one moment of it, whole and audited", async (t) => {
    const path = await ledgerFile(t);
    const service = await serve(path);
    t.after(() => service.close());
    const target = join(folder(t), "backup.db");
    let working = true;
    const orders = (async () => {
      while (working) await service.exchange({ ...terms("buy 0.01 USD for PLN"), pesel: adult(0) });
    })();
    const report = await backUpSqlite(path, target);
    working = false;
    await orders;
    assert.equal(report.findingsTotal, 0);
    const restored = await serve(target);
    t.after(() => restored.close());
    assert.equal((await restored.audit()).entries, report.entries);
  });

  test("replaces nothing", async (t) => {
    const path = await ledgerFile(t);
    const target = join(folder(t), "backup.db");
    copyFileSync(path, target);
    await assert.rejects(backUpSqlite(path, target), { message: /exists. Name a new file/ });
  });

  test("leaves alone what is not its own, whatever it is called", async (t) => {
    const path = await ledgerFile(t);
    const target = join(folder(t), "backup.db");
    const others = ["partial", "partial-wal", "new", "bak"].map((ending) => `${target}.${ending}`);
    for (const other of others) writeFileSync(other, "not of fx");
    assert.equal((await backUpSqlite(path, target)).findingsTotal, 0);
    for (const other of others) assert.equal(readFileSync(other, "utf8"), "not of fx");
    assert.equal(readdirSync(join(target, "..")).length, others.length + 1);
  });

  test("does not take a name that another process took meanwhile", async (t) => {
    const path = await ledgerFile(t);
    const target = join(folder(t), "backup.db");
    const takeName = () => writeFileSync(target, "not of fx");
    await assert.rejects(backUpSqlite(path, target, takeName), { message: /exists. Name a new file/ });
    assert.equal(readFileSync(target, "utf8"), "not of fx");
    assert.deepEqual(readdirSync(join(target, "..")), ["backup.db"]);
  });

  for (const ending of ["-wal", "-shm", "-journal"]) {
    test(`is not put beside a ${ending} that SQLite would take for its own`, async (t) => {
      const path = await ledgerFile(t);
      const target = join(folder(t), "backup.db");
      writeFileSync(target + ending, "not of fx");
      await assert.rejects(backUpSqlite(path, target), {
        message: `${target}${ending} exists. Name a new file: a backup replaces nothing.`,
      });
      assert.deepEqual(readdirSync(join(target, "..")), [`backup.db${ending}`]);
    });
  }

  test("of an edited ledger leaves no file, only the findings", async (t) => {
    const path = await ledgerFile(t);
    edit(path, `update journal set entry = replace(entry, '"sold":"', '"sold":"1') where sequence = 2`);
    const target = join(folder(t), "backup.db");
    assert.ok((await backUpSqlite(path, target)).findingsTotal >= 3);
    assert.equal(existsSync(target), false);
    assert.deepEqual(readdirSync(join(target, "..")), []);
  });

  test("to where no file can be written says why, and leaves nothing", async (t) => {
    const path = await ledgerFile(t);
    const target = join(folder(t), "none", "backup.db");
    await assert.rejects(backUpSqlite(path, target), {
      code: "storage-unavailable",
      message: `${target} cannot be written (ENOENT: no such file or directory).`,
    });
    await assert.rejects(backUpSqlite(path, join(path, "backup.db")), {
      code: "storage-unavailable",
      message: /cannot be written \(ENOTDIR: not a directory\)\.$/,
    });
    assert.equal(readdirSync(join(path, "..")).filter((name) => name.includes("backup")).length, 0);
  });

  test("of nothing is refused", async (t) => {
    const path = join(folder(t), "none.db");
    await assert.rejects(backUpSqlite(path, `${path}.bak`), { message: /no database at/ });
    assert.equal(existsSync(path), false);
  });
});

function edit(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

function overwrite(path: string, offset: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, offset, offset + 1024);
  writeFileSync(path, bytes);
}
