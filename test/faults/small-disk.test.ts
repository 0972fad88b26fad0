import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult } from "../support/fixture.ts";
import { type Ran, runFx, startFx } from "../support/run-fx.ts";
import { openHere } from "../support/run-here.ts";

const folder = mkdtempSync(join(tmpdir(), "fx-full-"));
const [disk, saved] = [join(folder, "disk"), join(folder, "saved")];
const place = `sqlite:${join(disk, "fx.db")}`;
const env = { FX_URL: place, FX_RATES: "demo" };
const pesel = adult();
const exchange = ["exchange", pesel, "--from", "PLN", "--to", "USD", "--to-buy", "1", "--yes"];
const accounts = 1000;
/** Enough room for an order in the log, but not for a checkpoint of the log into the database. */
const roomBytes = 128 * 1024;

/** A disk for results only: the space of a deleted database is freed at an unknown time. */
const other = join(folder, "other");

function isMounted(path: string): boolean {
  mkdirSync(path);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", path], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const skip = [disk, other].every(isMounted)
  ? false
  : "a small file system cannot be mounted: that takes root's rights";
after(() => {
  // Lazily, as the driver keeps a database's files open until its statements are collected.
  if (!skip) for (const path of [disk, other]) execFileSync("umount", ["--lazy", path]);
  rmSync(folder, { recursive: true });
});

describe("On a disk with room for an order but none to close the database", { skip }, () => {
  before(async () => {
    const server = await startFx(["--rates", "demo"], { env: { FX_DB: place } });
    const lines = Array.from({ length: accounts }, (_, index) => `Jan,Kowalski,${adult(index)},1000\n`);
    const args = ["batch", "-", "--id", "b", "--url", server.url];
    const ran = await runFx(args, { stdin: `name,surname,pesel,pln\n${lines.join("")}` });
    assert.equal(ran.exit, 0, ran.stderr);
    // A killed server leaves its log behind.
    server.signal("SIGKILL");
    await server.ended;
    cpSync(disk, saved, { recursive: true });
  });

  beforeEach(() => {
    for (const name of readdirSync(disk)) rmSync(join(disk, name));
    cpSync(saved, disk, { recursive: true });
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, "filler"), Buffer.alloc(bavail * bsize - roomBytes));
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
    rmSync(join(disk, "filler"));
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
    const store = openSqlite(join(disk, "fx.db"));
    await store.ping();
    await assert.rejects(store.close(), { code: "storage-unavailable" });
    await assert.rejects(store.ping(), { message: /not open|closed/ });
  });
});

describe("On a disk without room for the result", { skip }, () => {
  test("A result that does not fit on the disk ends in exit 12, with the key", async () => {
    const elsewhere = { FX_URL: `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" };
    await openHere(elsewhere.FX_URL);
    const stdout = join(other, "results");
    const { bsize } = statfsSync(other);
    writeFileSync(stdout, Buffer.alloc(bsize - 10));
    writeFileSync(join(other, "filler"), Buffer.alloc(statfsSync(other).bavail * bsize));
    const { stderr, exit } = await runFx([...exchange, "--key", "k-1"], { env: elsewhere, stdout });
    assert.equal(statSync(stdout).size, bsize, "as much as fits is written");
    assert.match(stderr, /^fx: The output cannot be written \(no space left on device\)\.\n.* --key k-1 /);
    assert.equal(exit, 12);
  });
});
