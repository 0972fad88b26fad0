import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { newFolder } from "../../../support/folder.ts";
import { openHere, runHere, serveHere } from "../../../support/run-here.ts";

/** A ledger with two accounts in a file, and the same behind a server. */
async function ledger(t: TestContext) {
  const folder = newFolder(t);
  const place = `sqlite:${join(folder, "fx.db")}`;
  const open = (index: number) => openHere(place, { index, pln: "9" });
  for (const index of [0, 1]) await open(index);
  const file = join(folder, "day.checkpoint");
  const audit = (...args: string[]) => runHere(["audit", ...args], { env: { FX_URL: place } });
  return { folder, place, file, open, audit };
}

/** The files that are none of the ledger's. */
const besides = (folder: string) => readdirSync(folder).filter((name) => !name.startsWith("fx.db"));
const linesOf = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n");

test("a checkpoint is a file for its owner alone, whose digest is the SHA-256 of its accounts' lines", async (t) => {
  const { folder, place, file, audit } = await ledger(t);
  const { exit, stdout } = await audit("--checkpoint", file, "--json");
  const { digest, ...document } = JSON.parse(stdout);
  assert.deepEqual(
    [exit, document],
    [0, { file, ok: true, accounts: 2, entries: 2, findings: [], findingsTotal: 0 }],
  );
  const lines = linesOf(file);
  const { time, ...start } = JSON.parse(lines[0] as string);
  assert.ok(Date.parse(time) <= Date.now());
  assert.deepEqual(
    { ...start, fx: "", schemaVersion: 0 },
    { checkpoint: 1, fx: "", schemaVersion: 0, entries: 2, source: place },
  );
  const accounts = lines.slice(1, -1);
  assert.ok(
    accounts.every((line) => /^\{"customer":"[A-P]{20}","entries":1,"hash":"[\da-f]{64}"\}$/.test(line)),
  );
  const sum = createHash("sha256").update(accounts.map((line) => `${line}\n`).join(""));
  assert.equal(digest, sum.digest("hex"));
  assert.equal(JSON.parse(lines.at(-1) as string).digest, digest);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(besides(folder), ["day.checkpoint"]);
});

test("a ledger with findings gets no checkpoint", async (t) => {
  const { folder, file, audit } = await ledger(t);
  const database = new DatabaseSync(join(folder, "fx.db"));
  database.exec("update account set name = 'Ewa'");
  database.close();
  const { exit, stdout } = await audit("--checkpoint", file, "--json");
  assert.equal(exit, 11);
  assert.deepEqual([JSON.parse(stdout).file, JSON.parse(stdout).ok], [null, false]);
  assert.deepEqual(besides(folder), []);
});

test("a server gives the checkpoint that the store does, and compares with it", async (t) => {
  const { folder, place, file, audit, open } = await ledger(t);
  await audit("--checkpoint", file);
  const server = await serveHere({ FX_DB: place, FX_RATES: "demo" });
  t.after(() => server.stop());
  const remote = join(folder, "remote.checkpoint");
  const there = (...args: string[]) => audit(...args, "--url", server.url);
  assert.equal((await there("--checkpoint", remote)).exit, 0);
  const [start = "", ...rest] = linesOf(remote);
  assert.equal(JSON.parse(start).source, server.url);
  assert.deepEqual(rest, linesOf(file).slice(1));
  await open(2);
  const next = join(folder, "next.checkpoint");
  const { exit, stdout } = await there("--against", file, "--checkpoint", next, "--json");
  assert.deepEqual([exit, JSON.parse(stdout).against], [0, { accounts: 2, found: 2, lost: [] }]);
  assert.equal(linesOf(next).length, 5);
  const older = await runHere(["audit", "--against", next, "--url", server.url, "--json"]);
  assert.equal(older.exit, 0);
});

test("A checkpoint that names an fx of 10,000 characters is not compared with, and the name not shown", async (t) => {
  const { file, audit } = await ledger(t);
  await audit("--checkpoint", file);
  const newer = readFileSync(file, "utf8").replace('"checkpoint":1', '"checkpoint":2');
  writeFileSync(file, newer.replace(/"fx":"[^"]*"/, `"fx":"${"9".repeat(10_000)}"`));
  const { exit, stdout, stderr } = await audit("--against", file);
  assert.match(stderr, /its first line is not a checkpoint header\.\n$/);
  assert.deepEqual([exit, stdout], [2, ""]);
});
