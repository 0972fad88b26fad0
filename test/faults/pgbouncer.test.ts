import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import type { OpenOptions } from "../../src/ledger/store.ts";
import { Connection } from "../../src/postgres/connection.ts";
import { openPostgres, type PostgresOptions } from "../../src/postgres/store.ts";
import { type PostgresHost, parsePostgresUrl } from "../../src/postgres/url.ts";
import { adult, opening, terms, tradedRates } from "../support/fixture.ts";
import { type PgBouncer, startPgBouncer, withoutPgBouncer } from "../support/pgbouncer.ts";
import { createDatabase, type Database, runSql } from "../support/postgres.ts";
import { runFx } from "../support/run-fx.ts";

type Settings = Readonly<Record<string, string>>;

async function start(t: TestContext, settings: Settings): Promise<{ database: Database; pooler: PgBouncer }> {
  const database = await createDatabase();
  t.after(() => database.drop());
  const pooler = await startPgBouncer(database.url, settings);
  t.after(() => pooler.stop());
  return { database, pooler };
}

async function openService(
  t: TestContext,
  url: string,
  options: PostgresOptions & OpenOptions = {},
): Promise<LedgerService> {
  const store = await openPostgres(url, options);
  const service = new LedgerService(store, await tradedRates(store));
  t.after(() => service.close());
  return service;
}

/** What is tried again until the deadline does not end before its test. */
const untilTestEnds = { deadlineMs: 600_000 };
const order = (index: number, key: string) => ({ ...terms("buy 1 USD for PLN"), pesel: adult(index), key });

describe("PgBouncer", { skip: withoutPgBouncer }, () => {
  const refused: Settings[] = [
    { pool_mode: "transaction" },
    { pool_mode: "transaction", default_pool_size: "1" },
    { pool_mode: "transaction", default_pool_size: "2", server_round_robin: "1" },
    { pool_mode: "transaction", server_reset_query_always: "1" },
    { pool_mode: "transaction", default_pool_size: "1", server_reset_query_always: "1" },
    { pool_mode: "statement" },
    { pool_mode: "statement", default_pool_size: "1" },
  ];
  for (const settings of refused) {
    const set = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    for (const parameters of ["", "?pool_size=1"]) {
      test(`with ${set.join(", ")} is found out${parameters && `, by ${parameters}`}`, async (t) => {
        const { pooler } = await start(t, settings);
        await assert.rejects(openPostgres(pooler.url + parameters, untilTestEnds), {
          code: "storage-unavailable",
          message: /a pooler that .* Set pool_mode = session/,
        });
      });
    }
  }

  test("in transaction mode is found out while others use it", async (t) => {
    const { pooler, database } = await start(t, { pool_mode: "session", default_pool_size: "4" });
    const service = await openService(t, pooler.url);
    await service.createAccount(opening({ pln: "100000" }));
    await pooler.set("pool_mode", "transaction");
    let others = true;
    const trade = async (name: string) => {
      for (let count = 0; others; count += 1) await service.exchange(order(0, `${name}-${count}`));
    };
    const trading = Promise.all([trade("a"), trade("b")]);
    try {
      for (let count = 0; count < 10; count += 1) {
        await assert.rejects(openPostgres(pooler.url), { message: /a pooler that/ });
      }
    } finally {
      others = false;
      await trading;
    }
    assert.ok((await database.run("select from journal")).length > 1);
  });

  test("that does not keep synchronous_commit = on for a connection costs fx that connection", async (t) => {
    const settings = { pool_mode: "transaction", default_pool_size: "2", server_round_robin: "1" };
    const { pooler, database } = await start(t, settings);
    const name = new URL(database.url).pathname.slice(1);
    await database.run(`alter database ${name} set synchronous_commit = off`);
    // Has it open both sessions, which it then takes in turn.
    await Promise.all([1, 2].map(() => runSql(pooler.url, "select pg_sleep(0.2)")));
    const place = parsePostgresUrl(pooler.url);
    await assert.rejects(Connection.open(place, place.hosts[0] as PostgresHost), {
      name: "ConnectionLost",
      permanent: true,
      message: /synchronous_commit stays off .* pool_mode = session/,
    });
  });

  test("that refuses what fx sends when it connects is named at once, with what to set", async (t) => {
    const { pooler } = await start(t, { pool_mode: "session", ignore_startup_parameters: "" });
    await assert.rejects(openPostgres(pooler.url, untilTestEnds), {
      code: "storage-unavailable",
      message: /a pooler refuses .*ignore_startup_parameters = statement_timeout,.*pool_mode = session/,
    });
  });

  test("in session mode carries orders, and is not taken for anything else", async (t) => {
    const { pooler, database } = await start(t, { pool_mode: "session" });
    const service = await openService(t, pooler.url);
    await service.createAccount(opening());
    await Promise.all(Array.from({ length: 20 }, (_, count) => service.exchange(order(0, `order-${count}`))));
    assert.deepEqual((await service.audit()).findings, []);
    assert.equal((await database.run("select from journal")).length, 21);
  });

  test("in session mode with one session in all is worked with, and the doubt is told", async (t) => {
    const { pooler } = await start(t, { pool_mode: "session", default_pool_size: "1" });
    const notices: string[] = [];
    const onNotice = (notice: string): void => void notices.push(notice);
    const service = await openService(t, `${pooler.url}?pool_size=1`, { onNotice });
    await service.createAccount(opening());
    assert.equal((await service.audit()).accounts, 1);
    assert.match(notices.join("\n"), /second connection.*pooler/);
  });

  for (const pool_mode of ["transaction", "statement"]) {
    test(`in ${pool_mode} mode ends fx serve with exit 7 and a word about the pooler`, async (t) => {
      const { pooler } = await start(t, { pool_mode });
      const env = { FX_DB: pooler.url, FX_PORT: "0", FX_RATES: "demo" };
      const { exit, stderr } = await runFx(["serve"], { env });
      assert.equal(exit, 7);
      assert.match(stderr, /pooler.*pool_mode = session/);
    });
  }

  for (const serializable of [false, true]) {
    const isolation = serializable ? "serializable" : "read committed";
    test(`that changes to transaction mode under load loses no order and adds none (${isolation})`, {
      timeout: 100_000,
    }, async (t) => {
      const { database, pooler } = await start(t, { pool_mode: "session", default_pool_size: "4" });
      const options = { serializable, poolSize: 1 };
      const services = await Promise.all([0, 1, 2].map(() => openService(t, pooler.url, options)));
      const accounts = 6;
      const openings = Array.from({ length: accounts }, (_, index) => opening({ index, pln: "100000" }));
      await Promise.all(openings.map((each) => services[0]?.createAccount(each)));
      const receipts: string[] = [];
      for (let round = 0; round < 20; round += 1) {
        if (round === 3) await pooler.set("pool_mode", "transaction");
        const opened = services[0]?.createAccount(opening({ index: 100 + round }));
        const asked = services.flatMap((service, process) =>
          Array.from({ length: 8 }, (_, index) =>
            service.exchange(order((2 * process + index) % accounts, `${round}-${process}-${index}`)),
          ),
        );
        for (const { receiptId } of await Promise.all(asked)) receipts.push(receiptId);
        await opened;
      }
      const direct = await openService(t, database.url);
      assert.deepEqual((await direct.audit()).findings, []);
      const exchanged = await database.run("select id from journal where sequence > 1");
      assert.deepEqual(exchanged.map(({ id }) => String(id)).sort(), receipts.sort());
    });
  }
});
