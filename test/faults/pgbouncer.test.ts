import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { openPostgres } from "../../src/postgres/store.ts";
import { storeContract } from "../ledger/store.contract.ts";
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

/** A deadline after the test's own: a failure that is retried makes the test time out. */
const untilTestEnds = { deadlineMs: 600_000 };
describe("PgBouncer", { skip: withoutPgBouncer }, () => {
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
