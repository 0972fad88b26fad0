import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { openDatabase } from "../../src/sqlite/open.ts";
import { openSqlite, SqliteStore } from "../../src/sqlite/store.ts";
import { adapters } from "../support/adapters.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { instead } from "../support/instead.ts";
import { cash } from "../support/service.ts";

const limitMs = 2000;
const deposit = (key = "k") => cash("deposit", adult(), "7 PLN", { key });

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A service whose process stands still, for a time that a test sets, after an entry has got its time. */
function standing(store: Store): { service: LedgerService; pause: { ms: number } } {
  const pause = { ms: 0 };
  const now = () => {
    const time = new Date();
    standStill(pause.ms);
    pause.ms = 0;
    return time;
  };
  return { service: new LedgerService(store, fixedRates(), now), pause };
}

async function openLimited(t: TestContext, url: string): Promise<Store> {
  const store = url.startsWith("sqlite:")
    ? openSqlite(url.slice("sqlite:".length), { commitsWithinMs: limitMs })
    : await openPostgres(`${url}?deadline=${limitMs / 1000}`);
  t.after(() => store.close());
  return store;
}

const plnOf = async (service: LedgerService) => (await service.account(adult())).balances[0]?.minor;

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  describe(`a process that stands still between decision and COMMIT, over ${name}`, () => {
    const opened = async (t: TestContext) => {
      const { url } = await database(t);
      const { service, pause } = standing(await openLimited(t, url));
      await service.createAccount(opening({ key: "opening" }));
      return { service, pause, before: (await plnOf(service)) as bigint };
    };

    test("A process that stands still for longer than an entry may be late does not answer the order as done", async (t) => {
      const { service, pause, before } = await opened(t);
      pause.ms = limitMs + 300;
      await assert.rejects(service.change(deposit()), { code: "storage-unavailable" });
      await service.change(deposit());
      assert.equal(await plnOf(service), before + 700n);
      assert.equal((await service.audit()).findingsTotal, 0);
    });

    test("A process that stands still for less than an entry may be late answers the order", async (t) => {
      const { service, pause, before } = await opened(t);
      pause.ms = limitMs / 4;
      await service.change(deposit());
      assert.equal(await plnOf(service), before + 700n);
    });
  });
}

describe("an order that SQLite", () => {
  test("An order that SQLite would commit too late is rolled back, with all of its group", async () => {
    const { service, pause } = standing(openSqlite(":memory:", { commitsWithinMs: limitMs }));
    await service.createAccount(opening());
    const before = await plnOf(service);
    pause.ms = limitMs + 100;
    const group = ["a", "b"].map((key) => service.change(deposit(key)));
    for (const { status } of await Promise.allSettled(group)) assert.equal(status, "rejected");
    assert.equal((await service.audit()).entries, 1);
    assert.equal(await plnOf(service), before);
  });

  test("An order that SQLite has committed too late is not answered as done, and is there once when it is sent again", async () => {
    const opened = openDatabase(":memory:", {});
    let pauseMs = 0;
    const database = instead(opened.database, {
      exec: (sql) => {
        if (sql === "commit") {
          standStill(pauseMs);
          pauseMs = 0;
        }
        opened.database.exec(sql);
      },
    });
    const store = new SqliteStore({ ...opened, database }, { commitsWithinMs: limitMs });
    const service = new LedgerService(store, fixedRates());
    await service.createAccount(opening());
    const before = (await plnOf(service)) as bigint;
    pauseMs = limitMs + 100;
    await assert.rejects(service.change(deposit()), {
      code: "storage-unavailable",
      message: /sending them again with the same keys is safe/,
    });
    await service.change(deposit());
    assert.equal(await plnOf(service), before + 700n);
    assert.equal((await service.audit()).entries, 2);
  });
});
