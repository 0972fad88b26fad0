import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import type { Change } from "../../src/core/change.ts";
import { pln } from "../../src/core/currency.ts";
import { FxError } from "../../src/core/errors.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { SqlStatement } from "../../src/sql/statements.ts";
import { backUpSqlite } from "../../src/sqlite/backup.ts";
import { openDatabase } from "../../src/sqlite/open.ts";
import { openSqlite, SqliteStore } from "../../src/sqlite/store.ts";
import { exported } from "../support/bookkeeping.ts";
import { adult, decimal, now, opening, terms, tradedRates } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { ledgerFile } from "../support/ledger-file.ts";
import { sellGrosz } from "../support/postgres-store.ts";

async function serve(path: string): Promise<LedgerService> {
  const store = openSqlite(path);
  return new LedgerService(store, await tradedRates(store), () => now);
}

const deposit = (index: number): Change => {
  const amount = decimal("5");
  return { kind: "deposit", pesel: adult(index), amount, currency: pln, note: undefined };
};

/** Deletes the newest row of a table, and leaves those of its indexes, as an outdated page would. */
function loseNewest(table: "journal" | "refusal", path: string): void {
  const isIndex = `type = 'index' and tbl_name = '${table}' and sql is not null`;
  const database = new DatabaseSync(path);
  const indexes = database.prepare(`select * from sqlite_schema where ${isIndex}`).all() as Record<
    string,
    never
  >[];
  database.enableDefensive(false);
  database.exec("pragma writable_schema = on");
  database.exec(`delete from sqlite_schema where ${isIndex}; pragma schema_version = 9001`);
  database.close();
  const without = new DatabaseSync(path);
  without.exec(`delete from ${table} where position = (select max(position) from ${table})`);
  without.enableDefensive(false);
  without.exec("pragma writable_schema = on");
  const insert = without.prepare("insert into sqlite_schema values (?, ?, ?, ?, ?)");
  for (const row of indexes) insert.run(...Object.values(row));
  without.exec("pragma schema_version = 9002");
  without.close();
}

describe("Opening a SQLite file", () => {
  const refused: [what: string, damage: (path: string) => void, message: RegExp][] = [
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
      "a database of another program",
      (path) => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
        edit(path, "create table invoice (total integer)");
      },
      /not one of fx/,
    ],
  ];
  for (const [what, damage, message] of refused) {
    test(`Opening refuses ${what} and leaves it as it is`, async (t) => {
      const path = await ledgerFile(t, 30);
      damage(path);
      const before = readFileSync(path);
      assert.throws(() => openSqlite(path), { code: "storage-unavailable", message });
      assert.deepEqual(readFileSync(path), before);
    });
  }

  test("A log whose database is missing is refused", async (t) => {
    const path = join(newFolder(t), "ledger.db");
    writeFileSync(`${path}-wal`, "left behind");
    assert.throws(() => openSqlite(path), /missing, but its log/);
  });

  test("A folder that does not exist is refused by its name", (t) => {
    assert.throws(() => openSqlite(join(newFolder(t), "no", "ledger.db")), /folder .*no does not exist/);
  });
});

test("A read shows what another process committed since the last one, even in the same turn of the event loop", async (t) => {
  const path = await ledgerFile(t, 1);
  const [one, other] = [openSqlite(path), openSqlite(path)];
  t.after(() => Promise.all([one.close(), other.close()]));
  const before = await one.account(adult(0));
  await sellGrosz(other, [adult(0)]);
  assert.equal((await one.account(adult(0)))?.sequence, (before?.sequence ?? 0) + 1);
});

test("A commit that fails half-way writes nothing, and the next one goes through", async (t) => {
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

for (const accountsKept of [1, 2, 3, 4]) {
  test(`A group is answered rightly where the cache of ${accountsKept} accounts is full in the middle of it`, async (t) => {
    const store = openSqlite(":memory:", { accountsKept });
    const service = new LedgerService(store, await tradedRates(store), () => now);
    t.after(() => service.close());
    for (const index of [0, 1, 2, 3]) await service.createAccount(opening({ index }));
    for (const index of [1, 2]) await service.account(adult(index));
    const answers = await Promise.all([0, 1, 2, 3].map((index) => service.change(deposit(index))));
    assert.deepEqual(
      answers.map(({ account }) => account.balances[0]?.minor),
      Array(4).fill(100_500n),
    );
  });
}

test("A row that is lost from its table, and not from its indexes, fails a position, and the orders of its account alone", async (t) => {
  const path = await ledgerFile(t);
  const service = await serve(path);
  t.after(() => service.close());
  loseNewest("journal", path);
  await assert.rejects(service.position(), {
    message: /^The ledger is damaged: the journal lacks 1 entries/,
  });
  const outcomes = await Promise.all(
    [0, 1, 2].map((index) =>
      service.change(deposit(index)).then(
        () => "done",
        ({ message }: Error) => message.slice(0, 22),
      ),
    ),
  );
  assert.deepEqual(outcomes, ["done", "done", "The ledger is damaged:"]);
});

for (const position of ["9007199254740993", "9223372036854775807", "0", "-9223372036854775808"]) {
  test(`A position and an export fail where an entry was given the place ${position}`, async (t) => {
    const path = await ledgerFile(t);
    edit(path, `update journal set position = ${position} where position = 4`);
    const service = await serve(path);
    t.after(() => service.close());
    const damaged = { message: /^The ledger is damaged: the journal lacks 1 entries/ };
    await assert.rejects(service.position(), damaged);
    await assert.rejects(exported(service, { format: "csv", full: false }), damaged);
  });
}

test("A list of accounts whose database goes away in the middle is not told as damaged", async (t) => {
  const path = await ledgerFile(t, 2);
  const store = openSqlite(path);
  const service = new LedgerService(store, await tradedRates(store), () => now);
  t.after(() => service.close());
  store.statement = () => Promise.reject(new FxError("storage-unavailable", "The database is away."));
  await assert.rejects(service.accounts({ limit: 1 }), { message: "The database is away." });
});

test("A server that catches up while a statement is read is not told as damaged", async (t) => {
  const path = await ledgerFile(t, 1);
  let lags = true;
  class Lagging extends SqliteStore {
    protected override async select(statement: SqlStatement) {
      const rows = await super.select(statement);
      if (!lags) return rows;
      lags = false;
      return rows.slice(1);
    }
  }
  const store = new Lagging(openDatabase(path, {}), {});
  t.after(() => store.close());
  const found = await store.statement(adult(0), { before: 3, limit: 2 });
  assert.deepEqual(
    found.map(({ entry }) => entry.sequence),
    [2, 1],
  );
});

test("A damaged page fails the order that needs it, and none beside it", async (t) => {
  const path = join(newFolder(t), "ledger.db");
  const indexes = Array.from({ length: 500 }, (_, index) => index);
  const first = await serve(path);
  await Promise.all(indexes.map((index) => first.createAccount(opening({ index }))));
  await first.close();
  const service = await serve(path);
  t.after(() => service.close());
  // The page with the lowest PESELs' words of names.
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

describe("A backup", () => {
  test("A backup of a ledger in use is whole, audited and of one moment", async (t) => {
    const path = await ledgerFile(t);
    const service = await serve(path);
    t.after(() => service.close());
    const target = join(newFolder(t), "backup.db");
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

  test("A backup of an edited ledger gives the findings", async (t) => {
    const path = await ledgerFile(t);
    edit(path, `update journal set entry = replace(entry, '"debited":"', '"debited":"1') where sequence = 2`);
    const target = join(newFolder(t), "backup.db");
    assert.ok((await backUpSqlite(path, target)).findingsTotal >= 3);
  });

  test("A backup is refused where an index leads to a row that is not there", async (t) => {
    const path = await ledgerFile(t);
    const service = await serve(path);
    await assert.rejects(service.exchange({ ...terms("sell 999 USD for PLN"), pesel: adult(), key: "poor" }));
    await service.close();
    loseNewest("refusal", path);
    const target = join(newFolder(t), "backup.db");
    await assert.rejects(backUpSqlite(path, target), {
      code: "storage-unavailable",
      message: `${path} is damaged: wrong # of entries in index refusal_time. Restore it from a backup.`,
    });
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
