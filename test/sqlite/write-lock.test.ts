import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openSqlite } from "../../src/sqlite/store.ts";
import { acceptance, adult, table } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { isProblem, send } from "../support/http.ts";
import { startServer } from "../support/server.ts";
import { refuses } from "../support/service.ts";

const order = { from: "PLN", to: "USD", toBuy: 1 };

/** A server over a SQLite file with one account, and another process that can hold the lock of the file. */
async function start(t: TestContext, lockWaitMs: number) {
  const path = join(newFolder(t), "ledger.db");
  const store = openSqlite(path, { lockWaitMs });
  const server = await startServer({}, "", { store });
  t.after(() => server.close());
  const { url } = server;
  const body = { name: "Jan", surname: "Kowalski", pesel: adult(), pln: 1000 };
  assert.equal((await send(url, "POST", "/api/user", { body })).status, 204);
  const exchange = () =>
    send(url, "POST", `/api/exchange/${adult()}`, { body: { pesel: adult(), ...order } });
  return { url, store, exchange, lock: () => lock(t, path) };
}

/** Resolves when the lock is held, to a function that releases it. */
async function lock(t: TestContext, path: string): Promise<() => Promise<void>> {
  const program = `
    const { DatabaseSync } = require("@photostructure/sqlite");
    const database = new DatabaseSync(process.argv[1]);
    database.exec("begin immediate");
    console.log("locked");
    process.stdin.once("data", () => { database.exec("commit"); process.exit(); });`;
  const child = spawn(process.execPath, ["-e", program, path], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  await once(child.stdout, "data");
  return async () => {
    child.stdin.write("go\n");
    await once(child, "exit");
  };
}

test("While another process holds SQLite's lock, only writes wait", async (t) => {
  const { url, exchange, lock } = await start(t, 60_000);
  const unlock = await lock();
  let isAnswered = false;
  const asked = exchange().finally(() => {
    isAnswered = true;
  });
  for (let times = 0; times < 20; times += 1) {
    for (const path of ["/health/live", "/health/ready", `/api/user/${adult()}`, "/api/rates"]) {
      assert.equal((await send(url, "GET", path)).status, 200);
    }
  }
  assert.equal(isAnswered, false);
  await unlock();
  assert.equal((await asked).status, 200);
});

test("An order that waits for SQLite's lock in vain is overloaded and was not begun", async (t) => {
  const { url, exchange, lock } = await start(t, 50);
  const unlock = await lock();
  const answer = await exchange();
  isProblem(answer, "overloaded");
  assert.equal(answer.headers.get("retry-after"), "1");
  await unlock();
  assert.equal((await exchange()).status, 200);
  const { entries } = (await send(url, "GET", `/api/user/${adult()}/history`)).json as { entries: [] };
  assert.equal(entries.length, 2);
});

test("Keeping a rate table waits for SQLite's lock", async (t) => {
  const { store, lock } = await start(t, 50);
  const unlock = await lock();
  await refuses(store.saveTables([table]), "overloaded");
  await refuses(store.acceptTable(table, acceptance(0)), "overloaded");
  await unlock();
  await store.saveTables([table]);
});
