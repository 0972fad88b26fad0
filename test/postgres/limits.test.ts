import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { limits } from "../../src/ledger/limits.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { acceptance, table } from "../support/fixture.ts";
import { emptyDatabase, openStore } from "../support/postgres-store.ts";
import { Network } from "../support/proxy.ts";

/** A server that takes connections, and does with them what it likes. */
async function serverOf(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function within(limitMs: number, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  const tookMs = performance.now() - began;
  assert.ok(tookMs < limitMs, `it took ${Math.round(tookMs)} ms`);
}

describe("a database that is slow", () => {
  const slow: readonly (readonly [what: string, onConnection: (socket: Socket) => void])[] = [
    ["accepts a connection and says nothing", () => {}],
    ["says a byte a second", (socket) => void setInterval(() => socket.write("N"), 1000).unref()],
    ["stops after its first bytes", (socket) => void socket.once("data", () => socket.write("S"))],
  ];
  for (const [what, onConnection] of slow) {
    test(`and ${what} costs the deadline, however long a host may take to connect`, async (t) => {
      const there = await serverOf(t, onConnection);
      const url = `postgres://fx:x@${there},${there},${there}/fx?deadline=1&connect_timeout=60&sslmode=disable`;
      const failure = { code: "storage-unavailable", message: /Nothing was changed/ };
      await within(5000, () => assert.rejects(openPostgres(url), failure));
    });
  }

  test("for longer than a statement may take fails within the deadline, and does nothing by halves", async (t) => {
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

describe("a table that comes into force with a COMMIT that the network loses", () => {
  for (const fault of ["lost", "unanswered"] as const) {
    test(`(${fault}) is in force once, and its process is told so`, async (t) => {
      const database = await emptyDatabase(t);
      const network = await Network.open(database.url);
      t.after(() => network.close());
      const store = await openStore(t, network.url);
      network.nextCommits = [fault];
      assert.equal(await store.acceptTable(table, acceptance(0)), true);
      assert.equal(network.spoilt, 1);
      assert.deepEqual(await store.inForce(), { epoch: 1, table });
      assert.equal(await store.acceptTable(table, acceptance(0)), false);
    });
  }
});

test("a URL that takes the limit off idle transactions is refused", async () => {
  const url = "postgres://fx:x@127.0.0.1:1/fx?idle_in_transaction_session_timeout=0";
  await assert.rejects(openPostgres(url), {
    code: "storage-unavailable",
    message: /a parameter that is none of/,
  });
});

test("the documents have the figures of the engine's limits", () => {
  const read = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
  const operations = read("OPERATIONS");
  const seconds = (ms: number) => ms / 1000;
  assert.match(operations, new RegExp(`\\| \`deadline\` \\| ${seconds(limits.deadlineMs)} \\|`));
  assert.match(operations, new RegExp(`\\| \`connect_timeout\` \\| ${seconds(limits.connectMs)} \\|`));
  assert.match(operations, new RegExp(`\`statement_timeout\` ${seconds(limits.statementMs)} s`));
  assert.match(operations, new RegExp(`\`lock_timeout\` ${seconds(limits.lockMs)} s`));
  const idle = `\`idle_in_transaction_session_timeout\` ${seconds(limits.idleInTransactionMs)} s`;
  assert.match(operations, new RegExp(idle));
  const ledger = read("LEDGER");
  assert.match(ledger, new RegExp(`Times of the last ${seconds(limits.settledAfterMs)} seconds are refused`));
  assert.match(ledger, new RegExp(`idle for ${seconds(limits.idleInTransactionMs)} s`));
});
