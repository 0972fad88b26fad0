import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, beforeEach, describe, type TestContext, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { cannotMount, smallDisk } from "../support/mounts.ts";
import { type Ran, runFx, startFx } from "../support/run-fx.ts";
import { openHere } from "../support/run-here.ts";
import { launcher } from "../support/shell.ts";

const disk = smallDisk(undefined, 8);
/** A disk for results only: the space of a deleted database is freed at an unknown time. */
const other = smallDisk(undefined, 8);
const saved = newFolder();
const place = `sqlite:${join(disk.path, "fx.db")}`;
const env = { FX_URL: place, FX_RATES: "demo" };
const pesel = adult();
const exchange = ["exchange", pesel, "--from", "PLN", "--to", "USD", "--to-buy", "1", "--yes"];
const accounts = 1000;
/** Enough room for an order in the log, but not for a checkpoint of the log into the database. */
const roomBytes = 128 * 1024;

describe("On a disk with room for an order but none to close the database", { skip: cannotMount }, () => {
  before(async () => {
    const server = await startFx(["--rates", "demo"], { env: { FX_DB: place } });
    const lines = Array.from({ length: accounts }, (_, index) => `Jan,Kowalski,${adult(index)},1000\n`);
    const args = ["batch", "-", "--id", "b", "--url", server.url];
    const ran = await runFx(args, { stdin: `name,surname,pesel,pln\n${lines.join("")}` });
    assert.equal(ran.exit, 0, ran.stderr);
    // A killed server leaves its log behind.
    server.signal("SIGKILL");
    await server.ended;
    cpSync(disk.path, saved, { recursive: true });
  });

  beforeEach(() => {
    for (const name of readdirSync(disk.path)) rmSync(join(disk.path, name));
    cpSync(saved, disk.path, { recursive: true });
    disk.fill(roomBytes);
  });

  const closingFailed = /^Closing failed, .*: The store failed: .*the disk is full/;
  const isWarned = ({ stderr }: Ran) => {
    const [line = "", ...rest] = stderr.split("\n");
    assert.match(line.replace("fx: ", ""), closingFailed);
    assert.deepEqual(rest, [""]);
  };

  test("On an almost full disk, fx exchange exits with 0 and a warning, and its entry is there once there is room", async () => {
    const ran = await runFx(exchange, { env });
    assert.match(ran.stdout, /\nreceipt\t/);
    assert.equal(ran.exit, 0, ran.stderr);
    isWarned(ran);
    disk.makeRoom();
    const { stdout, stderr, exit } = await runFx(["audit", "--json"], { env });
    const { ok, entries } = JSON.parse(stdout);
    assert.deepEqual([ok, entries, stderr, exit], [true, accounts + 1, "", 0]);
  });

  test("On an almost full disk, fx exchange --json prints result and warning as one document each", async () => {
    const { stdout, stderr, exit } = await runFx([...exchange, "--json"], { env });
    const { warning, ...rest } = JSON.parse(stderr);
    assert.equal(JSON.parse(stdout).replayed, false);
    assert.match(warning, closingFailed);
    assert.deepEqual([rest, exit], [{}, 0]);
  });

  test("On an almost full disk, fx account show prints no warning", async () => {
    const ran = await runFx(["account", "show", pesel], { env });
    assert.match(ran.stdout, /\nPLN\t1000\.00\n$/);
    assert.deepEqual([ran.exit, ran.stderr], [0, ""]);
  });

  test("On an almost full disk, a failing command keeps its exit code and prints failure and warning", async () => {
    const { stderr, exit } = await runFx([...exchange, "--to-buy", "99999"], { env });
    const [failure = "", , warning = ""] = stderr.split("\n");
    assert.match(failure, /^fx: The order takes/);
    assert.match(warning.replace("fx: ", ""), closingFailed);
    assert.equal(exit, 3);
  });

  test("On an almost full disk, a server that is stopped exits with 0 and logs a warning", async () => {
    const server = await startFx(["--rates", "demo"], { env: { FX_DB: place } });
    const { stderr, exit } = await server.stop();
    const log = stderr.trimEnd().split("\n");
    const { level, msg, reason } = JSON.parse(log.at(-1) ?? "");
    assert.deepEqual([level, msg], [40, "closing failed"]);
    assert.match(reason, /^The store failed: .*the disk is full/);
    assert.equal(exit, 0);
  });

  test("The database is closed even if the disk has no room for it", async () => {
    const store = openSqlite(join(disk.path, "fx.db"));
    await store.ping();
    await assert.rejects(store.close(), { code: "storage-unavailable" });
    await assert.rejects(store.ping(), { message: /not open|closed/ });
  });
});

describe("On a disk without room for the result", { skip: cannotMount }, () => {
  test("A result that does not fit on the disk ends in exit 12, with the key", async (t) => {
    const elsewhere = { FX_URL: `sqlite:${join(newFolder(t), "fx.db")}`, FX_RATES: "demo" };
    await openHere(elsewhere.FX_URL);
    const stdout = join(other.path, "results");
    const { bsize } = statfsSync(other.path);
    writeFileSync(stdout, Buffer.alloc(bsize - 10));
    other.fill();
    const { stderr, exit } = await runFx([...exchange, "--key", "k-1"], { env: elsewhere, stdout });
    assert.equal(statSync(stdout).size, bsize, "as much as fits is written");
    assert.match(stderr, /^fx: The output cannot be written \(no space left on device\)\.\n.* --key k-1 /);
    assert.equal(exit, 12);
  });

  /** A ledger with more pages than SQLite writes at once. */
  const bigLedger = async (t: TestContext) => {
    const path = join(newFolder(t), "fx.db");
    await openHere(`sqlite:${path}`);
    const database = new DatabaseSync(path);
    database.exec("create table padding (bytes); insert into padding values (zeroblob(8000000))");
    database.close();
    return `sqlite:${path}`;
  };

  test("A backup that does not fit on the disk says so, and leaves nothing", async (t) => {
    const small = smallDisk(t);
    const copy = join(small.path, "b.db");
    const { stderr, exit } = await runFx(["backup", copy, "--db", await bigLedger(t)]);
    assert.equal(stderr, "fx: The copy cannot be written (no space left on device).\n");
    assert.equal(exit, 7);
    assert.deepEqual(readdirSync(small.path), []);
  });

  test("A backup that a limit of file sizes stops says so, and leaves nothing", async (t) => {
    const cwd = newFolder(t);
    const command = ["-c", 'ulimit -f 1000 && exec "$@"', "sh", process.execPath, launcher];
    const ran = spawnSync("sh", [...command, "backup", "b.db", "--db", await bigLedger(t)], { cwd });
    assert.equal(
      String(ran.stderr),
      "fx: The copy cannot be written (a limit of file sizes or a quota is reached).\n",
    );
    assert.equal(ran.status, 7);
    assert.deepEqual(readdirSync(cwd), []);
  });
});
