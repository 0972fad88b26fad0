import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { limits } from "../../src/ledger/limits.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { acceptance, adult, table } from "../support/fixture.ts";
import { inTransaction } from "../support/postgres.ts";
import { connect, create, emptyDatabase, openStore } from "../support/postgres-store.ts";
import { Network } from "../support/proxy.ts";
import { listen } from "../support/stand-in.ts";

/** A server that takes connections, and does with them what it likes. */
async function serverOf(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    onConnection(socket);
  });
  return new URL(await listen(server, t)).host;
}

async function within(limitMs: number, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  const tookMs = performance.now() - began;
  assert.ok(tookMs < limitMs, `it took ${Math.round(tookMs)} ms`);
}

test("PostgreSQL probes the connection of a transaction, so that a process cut off while it sends loses its locks soon", async (t) => {
  const connection = await connect(t, (await emptyDatabase(t)).url);
  const names = ["idle", "interval", "count"].map((what) => `tcp_keepalives_${what}`);
  await connection.begin("isolation level read committed");
  const { rows } = await connection.query(
    `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(", ")}`,
  );
  const [idle = 0, interval = 0, count = 0] = names.map((name) => Number(rows[0]?.[name]));
  assert.ok(idle > 0 && interval > 0 && count > 0);
  assert.equal(1000 * (idle + interval * count), limits.cutOffMs);
});

test("fx probes a connection after 5 s of silence, so that a long read of a database that was cut off does not last ten minutes", async (t) => {
  const { mock } = t.mock.method(Socket.prototype, "setKeepAlive");
  await connect(t, (await emptyDatabase(t)).url);
  assert.deepEqual(mock.calls.at(-1)?.arguments, [true, 5000]);
});

describe("A slow database", () => {
  const slow: readonly (readonly [what: string, onConnection: (socket: Socket) => void])[] = [
    ["accepts a connection and says nothing", () => {}],
    ["says a byte a second", (socket) => void setInterval(() => socket.write("N"), 1000).unref()],
    ["stops after its first bytes", (socket) => void socket.once("data", () => socket.write("S"))],
  ];
  for (const [what, onConnection] of slow) {
    test(`A database that ${what} costs no more than the deadline, however long a host may take to connect`, async (t) => {
      const there = await serverOf(t, onConnection);
      const url = `postgres://fx:x@${there},${there},${there}/fx?deadline=1&connect_timeout=60&sslmode=disable`;
      const failure = { code: "storage-unavailable", message: /Nothing was changed/ };
      await within(5000, () => assert.rejects(openPostgres(url), failure));
    });
  }

  test("A database that is slower than statement_timeout fails within the deadline and writes nothing", async (t) => {
    const database = await emptyDatabase(t);
    const store = await openStore(t, database.url, {
      deadlineMs: 1500,
      statementTimeoutMs: 300,
    });
    await database.run(`create function slow() returns trigger language plpgsql as
        'begin perform pg_sleep(30); return new; end';
      create trigger slow before insert on accepted_table for each row execute function slow()`);
    const failure = { code: "storage-unavailable" };
    await within(5000, () => assert.rejects(store.acceptTable(table, acceptance(0)), failure));
    assert.equal((await database.run("select id from rate_table")).length, 0);
  });
});

test("A statement that goes through all accounts may take longer than the deadline of a request", async (t) => {
  const database = await emptyDatabase(t);
  const store = await openStore(t, database.url, { deadlineMs: 1500 });
  await create(store, adult());
  await inTransaction(database.url, async (run) => {
    // The database counts as long as it waits for this.
    await run("lock table account in access exclusive mode");
    const counted = store.journalEnd();
    await assert.rejects(store.account(adult()), { code: "storage-unavailable" });
    await run("commit");
    assert.equal((await counted).entries, 1);
  });
});

test("A statement that goes through all accounts is not tried for longer than any other where the database is away", async (t) => {
  const network = await Network.open((await emptyDatabase(t)).url);
  t.after(() => network.close());
  const store = await openStore(t, network.url, { deadlineMs: 1000 });
  network.cut();
  await within(5000, () => assert.rejects(store.journalEnd(), { code: "storage-unavailable" }));
});

describe("A rate table that comes into force with a lost COMMIT", () => {
  for (const fault of ["lost", "unanswered"] as const) {
    test(`A rate table whose COMMIT is ${fault} is in force once, and its process is told so`, async (t) => {
      const database = await emptyDatabase(t);
      const network = await Network.open(database.url);
      t.after(() => network.close());
      const store = await openStore(t, network.url);
      network.nextCommits = [fault];
      assert.equal(await store.acceptTable(table, acceptance(0)), true);
      assert.equal(network.disturbed, 1);
      assert.deepEqual(await store.inForce(), { epoch: 1, table });
      assert.equal(await store.acceptTable(table, acceptance(0)), false);
    });
  }
});

test("The documents have the figures of the engine's limits", () => {
  const read = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
  const operations = read("OPERATIONS");
  const seconds = (ms: number) => ms / 1000;
  assert.match(operations, new RegExp(`\\| \`deadline\` \\| ${seconds(limits.deadlineMs)} \\|`));
  assert.match(operations, new RegExp(`\\| \`connect_timeout\` \\| ${seconds(limits.connectMs)} \\|`));
  const perStatement = `\`statement_timeout\`, \`lock_timeout\` \\| ${limits.statementMs}, ${limits.lockMs} \\|`;
  assert.match(operations, new RegExp(perStatement));
  const ledger = read("LEDGER");
  assert.match(ledger, new RegExp(`Times of the last ${seconds(limits.settledAfterMs)} seconds are refused`));
});
