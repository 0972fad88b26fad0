import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/ledger/sqlite.ts";
import { fixedRates, opening } from "../support/fixture.ts";
import { runFx, spawnFx } from "../support/run-fx.ts";

const folder = mkdtempSync(join(tmpdir(), "fx-streams-"));
after(() => rmSync(folder, { recursive: true }));
const env = { FX_URL: `sqlite:${join(folder, "fx.db")}` };
const count = 2500;

describe("streams", () => {
  before(async () => {
    const service = new LedgerService(openSqlite(join(folder, "fx.db")), fixedRates());
    await Promise.all(Array.from({ length: count }, (_, index) => service.createAccount(opening({ index }))));
    await service.close();
  });

  test("a long list comes whole through a pipe, page after page", async () => {
    const { stdout } = await runFx(["account", "list"], { env });
    assert.ok(stdout.length > 64 * 1024);
    assert.equal(stdout.split("\n").length - 1, count);
  });

  test("a long list is one JSON document", async () => {
    const { stdout } = await runFx(["account", "list", "--json"], { env });
    assert.equal(JSON.parse(stdout).length, count);
  });

  test("a list of nothing is a JSON document too", async () => {
    const { stdout, stderr } = await runFx(["account", "list", "--json"], { env: { FX_URL: "memory:" } });
    assert.deepEqual([stdout, stderr], ["[]\n", "There are no accounts.\n"]);
  });

  test("--limit ends in the middle of a page", async () => {
    const { stdout } = await runFx(["account", "list", "--limit", "1500"], { env });
    assert.equal(stdout.split("\n").length - 1, 1500);
  });

  test("a reader that has had enough ends it quietly", async () => {
    const { child, output, ended } = spawnFx(["account", "list"], { env });
    child.stdout.once("data", () => child.stdout.destroy());
    await ended;
    assert.deepEqual([output().stderr, output().exit], ["", 0]);
  });

  test("output that cannot be written is told, with exit 1", async () => {
    const full = openSync("/dev/full", "w");
    const child = spawn(process.execPath, ["bin/fx.js", "account", "list", "--limit", "1"], {
      env: { ...process.env, ...env },
      stdio: ["ignore", full, "pipe"],
    });
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    await once(child, "close");
    closeSync(full);
    assert.deepEqual([stderr, child.exitCode], ["fx: The output cannot be written (ENOSPC).\n", 1]);
  });

  test("FX_FORCE_TTY lays a pipe out as for a terminal of that width", async () => {
    const { stdout } = await runFx(["account", "list", "--limit", "1"], {
      env: { ...env, FX_FORCE_TTY: "80" },
    });
    assert.match(
      stdout,
      /^PESEL {8}Name {2}Surname {3}Balances\n\d{6}\*{5} {2}Jan {3}Kowalski {2}1\u202f000\.00 PLN\n$/,
    );
  });
});
