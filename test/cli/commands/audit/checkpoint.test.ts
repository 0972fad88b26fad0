import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
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

/** Damages a checkpoint by replacing a part of its text. */
const replaced = (part: string | RegExp, other: string) => (file: string) =>
  writeFileSync(file, readFileSync(file, "utf8").replace(part, other));
const newer = replaced('"checkpoint":1', '"checkpoint":2');
const noHeader = /its first line is not a checkpoint header/;

const damages: readonly (readonly [what: string, damage: (file: string) => void, told: RegExp])[] = [
  ["is empty", (file) => writeFileSync(file, ""), /it is empty/],
  ["is another file", (file) => writeFileSync(file, "pesel,from,to\n"), noHeader],
  ["is of a newer version", newer, /a newer fx \(.*\) wrote it/],
  ["is of a version below the first", replaced('"checkpoint":1', '"checkpoint":-1'), noHeader],
  [
    "is of a newer version, and names an fx of 10,000 characters",
    (file) => {
      newer(file);
      replaced(/"fx":"[^"]*"/, `"fx":"${"9".repeat(10_000)}"`)(file);
    },
    noHeader,
  ],
  ["lacks its end", replaced(/[^\n]*\n$/, ""), /its end is missing, so it was cut off/],
  ["breaks off in a line", replaced(/.{40}$/s, ""), /line 4 is cut off or damaged/],
  ["lacks an account", replaced(/(?<=\n).*\n/, ""), /its digest is not that of its lines/],
  ["was edited", replaced('"entries":1,"hash"', '"entries":2,"hash"'), /its digest is not that of its lines/],
  ["goes on", (file) => appendFileSync(file, "{}\n"), /line 5 comes after the end/],
  [
    "was made with findings",
    replaced('"findingsTotal":0', '"findingsTotal":1'),
    /the audit that made it had findings/,
  ],
  ["is not there", (file) => rmSync(file), /cannot be read \(no such file or directory\)/],
];
test("A checkpoint that is damaged, cut off, edited or of a newer version is not compared with", async (t) => {
  const { file, audit } = await ledger(t);
  await audit("--checkpoint", file);
  const whole = readFileSync(file);
  for (const [what, damage, told] of damages) {
    writeFileSync(file, whole);
    damage(file);
    const { exit, stdout, stderr } = await audit("--against", file);
    assert.match(stderr, told, what);
    assert.deepEqual([exit, stdout], [2, ""], what);
  }
});

test("A checkpoint of another ledger is reported as such, without lost accounts", async (t) => {
  const [one, other] = [await ledger(t), await ledger(t)];
  await one.audit("--checkpoint", one.file);
  const { exit, stdout, stderr } = await other.audit("--against", one.file);
  assert.equal(exit, 11);
  assert.match(stderr, /none of the 2 accounts of the checkpoint\. The checkpoint, or the ledger, is not/);
  assert.match(stdout, /compared\t2\nfound\t0\nlost\t0\n/);
});
