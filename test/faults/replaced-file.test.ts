import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { runFx, type Served, startFx } from "../support/run-fx.ts";

const pesel = adult();
const others = 2000;

async function serve(t: TestContext, path: string): Promise<Served> {
  const server = await startFx(["--db", `sqlite:${path}`, "--rates", "demo", "--log-level", "silent"]);
  t.after(() => server.stop());
  return server;
}

async function post(url: string, body: unknown): Promise<{ status: number; code: string | undefined }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, code: response.ok ? undefined : JSON.parse(text).code };
}

const open = ({ url }: Served) =>
  post(`${url}/api/user`, { name: "Jan", surname: "Kowalski", pesel, pln: 1000 });
const order = ({ url }: Served) =>
  post(`${url}/api/exchange/${pesel}`, { pesel, from: "PLN", to: "USD", toBuy: 1 });

/** So many accounts, in no order, that pages split: a backup, which is packed, has other pages than the ledger. */
async function fill(path: string): Promise<void> {
  const service = new LedgerService(openSqlite(path), fixedRates());
  const indices = Array.from({ length: others }, (_, index) => 1 + ((index * 7919) % others));
  await Promise.all(
    indices.map((index) => service.createAccount(opening({ index, key: `opening-${index}` }))),
  );
  await service.close();
}

/** A server, and a backup of its ledger that is put over the file while it runs. */
async function replacedLedger(t: TestContext): Promise<{ path: string; server: Served }> {
  const folder = mkdtempSync(join(tmpdir(), "fx-replaced-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [path, copy] = [join(folder, "ledger.db"), join(folder, "copy.db")];
  await fill(path);
  const server = await serve(t, path);
  assert.equal((await open(server)).status, 204);
  assert.equal((await order(server)).status, 200);
  assert.equal((await runFx(["backup", copy, "--db", `sqlite:${path}`])).exit, 0);
  renameSync(copy, path);
  return { path, server };
}

test("a server whose file was replaced answers no order, no read, and is not ready", async (t) => {
  const { server } = await replacedLedger(t);
  assert.deepEqual(await order(server), { status: 500, code: "storage-unavailable" });
  assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 500);
  assert.equal((await fetch(`${server.url}/health/ready`)).status, 503);
});

test("a server whose file was replaced leaves the log of its successor alone when it stops", async (t) => {
  const { path, server } = await replacedLedger(t);
  for (const suffix of ["-wal", "-shm"]) renameSync(path + suffix, `${path}.old${suffix}`);
  const successor = await serve(t, path);
  assert.equal((await order(successor)).status, 200);
  await server.stop();
  assert.equal((await order(successor)).status, 200);
  successor.signal("SIGKILL");
  await successor.ended;
  const { stdout } = await runFx(["audit", "--url", `sqlite:${path}`, "--json"]);
  const { entries, findingsTotal } = JSON.parse(stdout);
  assert.deepEqual({ entries, findingsTotal }, { entries: others + 4, findingsTotal: 0 });
});

test("a server whose file was replaced leaves its own log as it is when it stops", async (t) => {
  const { path, server } = await replacedLedger(t);
  const before = readFileSync(`${path}-wal`);
  await server.stop();
  assert.deepEqual(readFileSync(`${path}-wal`), before);
});

test("nothing is written to a file that was put beside the log of another", async (t) => {
  const { path, server } = await replacedLedger(t);
  await server.stop();
  const before = readFileSync(path);
  const { exit, stderr } = await runFx([
    "account",
    "create",
    adult(others + 1),
    "--name",
    "A",
    "--surname",
    "B",
    "--pln",
    "1",
    "--url",
    `sqlite:${path}`,
  ]);
  assert.equal(exit, 7);
  assert.match(
    stderr,
    /do not fit together: .*If the file was restored from a backup, move .*-wal and .*-shm away/,
  );
  assert.deepEqual(readFileSync(path), before);
});
