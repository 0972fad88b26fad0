import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Connection } from "../../src/postgres/connection.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { adult, opening, terms, tradedRates } from "../support/fixture.ts";
import {
  createDatabase,
  type Database,
  type PostgresServer,
  runSql,
  startPostgres,
} from "../support/postgres.ts";
import { connect, emptyDatabase } from "../support/postgres-store.ts";
import { startFx } from "../support/run-fx.ts";
import { until } from "../support/until.ts";

async function levelOf(connection: Connection): Promise<unknown> {
  await connection.begin("");
  const { rows } = await connection.query("show synchronous_commit");
  return rows[0]?.synchronous_commit;
}

/** A server of this file's own. It loses nothing, until a test sets it otherwise. */
let server: PostgresServer;
before(async () => {
  server = await startPostgres({ durable: true });
});
after(() => server.stop());

/** Has the server's configuration say so until the test is over. */
async function configure(t: TestContext, settings: Readonly<Record<string, string>>): Promise<void> {
  const reload = async (name: string, change: string, isSo: (value: unknown) => boolean) => {
    await runSql(server.url, `alter system ${change}`);
    await runSql(server.url, "select pg_reload_conf()");
    await until(async () => isSo((await runSql(server.url, `show ${name}`))[0]?.[name]));
  };
  for (const [name, value] of Object.entries(settings)) {
    const [before] = await runSql(server.url, `show ${name}`);
    t.after(() => reload(name, `reset ${name}`, (shown) => shown === before?.[name]));
    await reload(name, `set ${name} = '${value}'`, (shown) => shown === value);
  }
}

const nameOf = ({ url }: Database) => new URL(url).pathname.slice(1);

describe("A transaction's synchronous_commit", () => {
  for (const [found, used] of [
    ["off", "on"],
    ["local", "on"],
    ["remote_write", "on"],
    ["on", "on"],
    ["remote_apply", "remote_apply"],
  ]) {
    test(`synchronous_commit is ${used} in a transaction where the database sets it to ${found}`, async (t) => {
      const database = await emptyDatabase(t);
      await database.run(`alter database ${nameOf(database)} set synchronous_commit = ${found}`);
      assert.equal(await levelOf(await connect(t, database.url)), used);
    });
  }

  test("synchronous_commit stays on in a transaction when the server's configuration lowers it", async (t) => {
    const connection = await connect(t, server.url);
    await connection.begin("");
    await configure(t, { synchronous_commit: "off" });
    // The answer to this comes after the session has read the configuration.
    await connection.query("select pg_sleep(0.2)");
    const { rows } = await connection.query("show synchronous_commit");
    assert.equal(rows[0]?.synchronous_commit, "on");
    await connection.query("rollback");
    assert.equal(await levelOf(connection), "on");
  });
});

test("A transaction's small statements are not compiled before they are run", async (t) => {
  const database = await emptyDatabase(t);
  await (await openPostgres(database.url)).close();
  const connection = await connect(t, database.url);
  await connection.begin("");
  const { rows } = await connection.query("explain (analyze, format json) select version from fx_schema");
  assert.doesNotMatch(JSON.stringify(rows), /"JIT"/);
  await connection.query("rollback");
});

test("Answered orders outlive a killed server that is set to synchronous_commit = off", async (t) => {
  await configure(t, { synchronous_commit: "off", wal_writer_delay: "10s" });
  const { url } = await createDatabase(server.url);
  const store = await openPostgres(url);
  const service = new LedgerService(store, await tradedRates(store));
  t.after(() => service.close());
  await service.createAccount(opening());
  const receipts: string[] = [];
  for (let count = 0; count < 20; count += 1) {
    const order = { ...terms("buy 1 USD for PLN"), pesel: adult(), key: `order-${count}` };
    receipts.push((await service.exchange(order)).receiptId);
  }
  await server.killNine();
  await server.start();
  const found = await Promise.all(receipts.map((id) => service.receipt(id)));
  assert.deepEqual(
    found.map(({ id }) => id),
    receipts,
  );
});

describe("Notices about a server", () => {
  async function noticesOf(t: TestContext, url: string, connections = 1): Promise<string[]> {
    const notices: string[] = [];
    const store = await openPostgres(url, { onNotice: (notice) => notices.push(notice) });
    t.after(() => store.close());
    await Promise.all(Array.from({ length: connections }, () => store.statement(adult(), { limit: 2 })));
    return notices;
  }

  test("A server with synchronous_commit off is a warning in the log of fx serve", async (t) => {
    const database = await emptyDatabase(t);
    await database.run(`alter database ${nameOf(database)} set synchronous_commit = off`);
    const served = await startFx(["--rates", "demo"], { env: { FX_DB: database.url } });
    await Promise.all(Array.from({ length: 8 }, () => fetch(`${served.url}/api/user/${adult()}/history`)));
    const { stderr } = await served.stop();
    const lines = stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { level: number; msg?: string });
    const warned = lines.filter(({ msg = "" }) => /synchronous_commit is off .* sets it to on/.test(msg));
    assert.deepEqual(
      warned.map(({ level }) => level),
      [40],
    );
  });

  for (const setting of ["fsync", "full_page_writes"]) {
    test(`A server with ${setting} off is noticed`, async (t) => {
      await configure(t, { [setting]: "off" });
      assert.match((await noticesOf(t, server.url)).join(), new RegExp(`${setting} is off`));
    });
  }

  test("A durable server is not noticed", async (t) => {
    assert.deepEqual(await noticesOf(t, server.url), []);
  });
});
