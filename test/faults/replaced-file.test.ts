import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runFx, type Served } from "../support/run-fx.ts";
import { centOrder, openAccount, sendOrder, serveFile } from "./orders.ts";

const pesel = adult();
const others = 2000;

const order = async ({ url }: Served) => (await sendOrder(url, centOrder(pesel, randomUUID()))).status;

/** Fills a ledger in random order so that pages split: a backup, which is compact, then has other pages. */
async function fill(path: string): Promise<void> {
  const service = new LedgerService(openSqlite(path), fixedRates());
  const indices = Array.from({ length: others }, (_, index) => 1 + ((index * 7919) % others));
  await Promise.all(
    indices.map((index) => service.createAccount(opening({ index, key: `opening-${index}` }))),
  );
  await service.close();
}

/** A server whose file is replaced at run time by a backup of its ledger. */
async function replacedLedger(t: TestContext): Promise<{ path: string; server: Served }> {
  const folder = newFolder(t);
  const [path, copy] = [join(folder, "ledger.db"), join(folder, "copy.db")];
  await fill(path);
  const server = await serveFile(t, path);
  assert.equal(await openAccount(server), 204);
  assert.equal(await order(server), 200);
  assert.equal((await runFx(["backup", copy, "--db", `sqlite:${path}`])).exit, 0);
  renameSync(copy, path);
  return { path, server };
}

test("A server whose file was replaced leaves its successor's log alone when it stops", async (t) => {
  const { path, server } = await replacedLedger(t);
  for (const suffix of ["-wal", "-shm"]) renameSync(path + suffix, `${path}.old${suffix}`);
  const successor = await serveFile(t, path);
  assert.equal(await order(successor), 200);
  await server.stop();
  assert.equal(await order(successor), 200);
  successor.signal("SIGKILL");
  await successor.ended;
  const { stdout } = await runFx(["audit", "--url", `sqlite:${path}`, "--json"]);
  const { entries, findingsTotal } = JSON.parse(stdout);
  assert.deepEqual({ entries, findingsTotal }, { entries: others + 4, findingsTotal: 0 });
});

test("A server whose file was replaced leaves its own log unchanged when it stops", async (t) => {
  const { path, server } = await replacedLedger(t);
  const before = readFileSync(`${path}-wal`);
  await server.stop();
  assert.deepEqual(readFileSync(`${path}-wal`), before);
});
