import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { applicationId } from "../../src/sqlite/schema.ts";
import { readingLines } from "../support/command-lines.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { startFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";
import { launcher } from "../support/shell.ts";

const demo = { env: { FX_RATES: "demo" } };
const pesel = adult();

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "fx-reading-"));
  t.after(() => {
    chmodSync(path, 0o700);
    rmSync(path, { recursive: true });
  });
  return path;
}

/** All files of a folder, by name. */
function contents(path: string): ReadonlyMap<string, string> {
  return new Map(readdirSync(path).map((name) => [name, readFileSync(join(path, name), "hex")]));
}

async function create(place: string, ...more: string[]) {
  const args = ["account", "create", pesel, "--name", "Jan", "--surname", "K", "--pln", "5", "--url", place];
  const ran = await runHere([...args, ...more], demo);
  assert.equal(ran.exit, 0, ran.stderr);
  return ran;
}

/**
 * A folder with a ledger that nobody has open: a copy, because SQLite's binding lets go of a file only at some collection
 * of the heap.
 */
async function ledgerFolder(t: TestContext): Promise<{ path: string; place: string; at: string }> {
  const original = join(folder(t), "ledger.db");
  await create(`sqlite:${original}`);
  const path = folder(t);
  const at = join(path, "ledger.db");
  copyFileSync(original, at);
  return { path, place: `sqlite:${at}`, at };
}

/** A ledger as a server that was killed leaves it: with its last account in the log. */
async function killedLedger(t: TestContext): Promise<{ path: string; place: string }> {
  const path = folder(t);
  const place = `sqlite:${join(path, "ledger.db")}`;
  const server = await startFx(["--db", place, "--rates", "demo", "--log-level", "silent"]);
  const body = JSON.stringify({ name: "Jan", surname: "K", pesel, pln: 5 });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${server.url}/api/user`, { method: "POST", headers, body });
  assert.equal(answer.status, 204);
  server.signal("SIGKILL");
  await server.ended;
  return { path, place };
}

/** A database that is marked as one of an fx that was never released. */
function unreleasedLedger(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(`pragma application_id = ${applicationId}; pragma user_version = 7`);
  database.close();
}

/** Takes the right to write from a folder and its files. */
function readOnly(path: string): void {
  for (const name of readdirSync(path)) chmodSync(join(path, name), 0o444);
  chmodSync(path, 0o555);
}

/**
 * The built `fx`, held to the modes of files. They do not bind root, unless it gives up its capabilities. It may go on
 * reading: it need not own the folder of this project.
 */
function runHeld(args: readonly string[]) {
  const words = [...asRoot, process.execPath, launcher, ...args];
  const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent" };
  const { status, stdout, stderr } = spawnSync(words[0] as string, words.slice(1), { env, encoding: "utf8" });
  return { exit: status, stdout, stderr };
}

const asRoot =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-all,+dac_read_search", "--inh-caps=-all"] : [];
const whyNotHeld =
  asRoot.length > 0 &&
  spawnSync("setpriv", [...asRoot.slice(1), "true"]).status !== 0 &&
  "root cannot give up its rights here, which takes util-linux's setpriv";

describe("a command that reads", () => {
  for (const line of [...readingLines, "doctor"]) {
    test(`A command that reads leaves a ledger as it is: fx ${line.replace(pesel, "<pesel>")}`, async (t) => {
      const { path, place } = await ledgerFolder(t);
      const before = contents(path);
      const { exit, stderr } = await runHere([...line.split(" "), "--url", place], {
        ...demo,
        cwd: newFolder(t),
      });
      assert.equal(exit, 0, stderr);
      assert.deepEqual(contents(path), before);
    });
  }

  test("A command that reads leaves a ledger of another schema as it is, and says which schemas these are", async (t) => {
    const path = folder(t);
    unreleasedLedger(join(path, "old.db"));
    const before = contents(path);
    for (const line of readingLines) {
      const args = [...line.split(" "), "--url", `sqlite:${join(path, "old.db")}`];
      const { exit, stderr } = await runHere(args, demo);
      assert.equal(exit, 7, line);
      assert.match(
        stderr.replaceAll(/\s+/g, " "),
        /written by another version of fx \(schema 7; this one has schema 1\)/,
      );
    }
    assert.deepEqual(contents(path), before);
  });

  test("A command that reads reads what a killed server left in its log, and leaves it there", async (t) => {
    const { path, place } = await killedLedger(t);
    const before = contents(path);
    const { exit, stdout } = await runHere(["account", "show", pesel, "--url", place, "--json"]);
    assert.equal(exit, 0);
    assert.equal(JSON.parse(stdout).pesel, pesel);
    for (const name of ["ledger.db", "ledger.db-wal"]) {
      assert.equal(contents(path).get(name), before.get(name));
    }
  });

  describe("where it may not write", { skip: whyNotHeld }, () => {
    test("A command that may not write answers from a ledger that nobody has open", async (t) => {
      const { path, place } = await ledgerFolder(t);
      readOnly(path);
      const { exit, stdout, stderr } = runHeld(["audit", "--url", place, "--json"]);
      assert.equal(exit, 0, stderr);
      assert.equal(JSON.parse(stdout).accounts, 1);
    });

    test("A command that may not write says where to copy what a killed server left", async (t) => {
      const { path } = await killedLedger(t);
      const copy = folder(t);
      for (const name of ["ledger.db", "ledger.db-wal"]) copyFileSync(join(path, name), join(copy, name));
      readOnly(copy);
      const { exit, stderr } = runHeld(["account", "list", "--url", `sqlite:${join(copy, "ledger.db")}`]);
      assert.equal(exit, 7);
      assert.match(stderr, /not complete without its log .*ledger\.db-wal.*Copy both to such a folder/);
    });
  });
});
