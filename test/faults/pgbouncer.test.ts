import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import type { OpenOptions } from "../../src/ledger/store.ts";
import { openPostgres, type PostgresOptions } from "../../src/postgres/store.ts";
import { storeContract } from "../ledger/store.contract.ts";
import { adult, opening, terms, tradedRates } from "../support/fixture.ts";
import { type PgBouncer, startPgBouncer, withoutPgBouncer } from "../support/pgbouncer.ts";
import { createDatabase, type Database, runSql } from "../support/postgres.ts";
import { connect } from "../support/postgres-store.ts";
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

/** A deadline after the test's own: a failure that is retried makes the test time out. */
const untilTestEnds = { deadlineMs: 600_000 };
const order = (index: number, key: string) => ({ ...terms("buy 1 USD for PLN"), pesel: adult(index), key });

/** Sends orders and openings by three processes at once, some twice. Asserts that each is settled exactly once. */
async function requireSettledOnce(
  t: TestContext,
  { database, pooler }: { database: Database; pooler: PgBouncer },
  beforeRound: (round: number) => Promise<void> = async () => {},
): Promise<void> {
  const services = await Promise.all([0, 1, 2].map(() => openService(t, pooler.url, { poolSize: 4 })));
  const accounts = 6;
  const openings = Array.from({ length: accounts }, (_, index) => opening({ index, pln: "100000" }));
  await Promise.all(openings.map((each) => services[0]?.createAccount(each)));
  const receipts: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    await beforeRound(round);
    const opened = services.map((service) =>
      service.createAccount(opening({ index: 100 + round, key: `opening-${round}` })),
    );
    const asked = services.flatMap((service, process) =>
      Array.from({ length: 8 }, (_, index) =>
        service.exchange(order((2 * process + index) % accounts, `${round}-${process}-${index}`)),
      ),
    );
    const repeated = services.map((service) => service.exchange(order(0, `${round}`)));
    const read = services.map((service) => service.account(adult(1)));
    for (const { receiptId } of await Promise.all(asked)) receipts.push(receiptId);
    receipts.push(...new Set((await Promise.all(repeated)).map(({ receiptId }) => receiptId)));
    await Promise.all([...opened, ...read]);
  }
  const direct = await openService(t, database.url);
  assert.deepEqual((await direct.audit()).findings, []);
  const exchanged = await database.run("select id from journal where sequence > 1");
  assert.deepEqual(exchanged.map(({ id }) => String(id)).sort(), receipts.sort());
  assert.equal((await database.run("select from account")).length, accounts + 20);
}

describe("PgBouncer", { skip: withoutPgBouncer }, () => {
  const modes: Settings[] = [
    { pool_mode: "session" },
    { pool_mode: "transaction" },
    { pool_mode: "transaction", default_pool_size: "1" },
    { pool_mode: "transaction", default_pool_size: "3", server_round_robin: "1" },
    { pool_mode: "transaction", default_pool_size: "3", server_reset_query_always: "1" },
  ];
  for (const settings of modes) {
    const set = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    test(`PgBouncer with ${set.join(", ")} settles each order of three processes exactly once`, async (t) => {
      await requireSettledOnce(t, await start(t, settings));
    });
  }

  test("Changing PgBouncer to transaction mode under load neither loses nor doubles an order", async (t) => {
    const { database, pooler } = await start(t, { pool_mode: "session", default_pool_size: "20" });
    await requireSettledOnce(t, { database, pooler }, async (round) => {
      if (round === 3) await pooler.set("pool_mode", "transaction");
    });
  });

  storeContract({
    name: "postgres: behind PgBouncer in transaction mode",
    database: undefined,
    open: async (t) => {
      const settings = { pool_mode: "transaction", default_pool_size: "2", server_round_robin: "1" };
      const { pooler } = await start(t, settings);
      const store = await openPostgres(pooler.url);
      t.after(() => store.close());
      return store;
    },
  });

  test("With PgBouncer in transaction mode, every session waits for the disk at COMMIT", async (t) => {
    const settings = { pool_mode: "transaction", default_pool_size: "2", server_round_robin: "1" };
    const { pooler, database } = await start(t, settings);
    const name = new URL(database.url).pathname.slice(1);
    await database.run(`alter database ${name} set synchronous_commit = off`);
    // Opens both sessions of the pool, which are then used in turn.
    await Promise.all([1, 2].map(() => runSql(pooler.url, "select pg_sleep(0.2)")));
    const connection = await connect(t, pooler.url);
    const sessions = new Set<unknown>();
    for (let count = 0; count < 4; count += 1) {
      await connection.begin("");
      const { rows } = await connection.query(
        "select pg_backend_pid() as session, current_setting('synchronous_commit') as level",
      );
      await connection.query("rollback");
      sessions.add(rows[0]?.session);
      assert.equal(rows[0]?.level, "on");
    }
    assert.equal(sessions.size, 2);
  });

  test("PgBouncer in statement mode is refused at once, with the setting to change", async (t) => {
    const { pooler } = await start(t, { pool_mode: "statement" });
    for (const access of ["create", "read"] as const) {
      await assert.rejects(openPostgres(pooler.url, { ...untilTestEnds, access }), {
        code: "storage-unavailable",
        message: /a pooler in statement mode .* Set pool_mode = transaction there/,
      });
    }
  });

  test("PgBouncer in statement mode ends fx serve with exit 7 and a message about the pooler", async (t) => {
    const { pooler } = await start(t, { pool_mode: "statement" });
    const env = { FX_DB: pooler.url, FX_PORT: "0", FX_RATES: "demo" };
    const { exit, stderr } = await runFx(["serve"], { env });
    assert.equal(exit, 7);
    assert.match(stderr, /pooler.*pool_mode = transaction/);
  });
});
