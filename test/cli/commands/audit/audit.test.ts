import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { adult } from "../../../support/fixture.ts";
import { runFx } from "../../../support/run-fx.ts";

describe("findings of an account whose rows hold PESELs", () => {
  const holder = adult(1);
  const name = adult(2);
  const folder = mkdtempSync(join(tmpdir(), "fx-audit-"));
  const url = `sqlite:${join(folder, "fx.db")}`;

  before(async () => {
    await runFx(["account", "create", holder, "--name", "Jan", "--surname", "K", "--pln", "9", "--url", url]);
    const database = new DatabaseSync(join(folder, "fx.db"));
    database.exec(`update account set name = '${name}', surname = '${name}'`);
    database.exec(`update journal set entry = replace(entry, '"PLN":900', '"PLN":${holder}')`);
    database.close();
  });
  after(() => rmSync(folder, { recursive: true }));

  test("name them in JSON", async () => {
    const { stdout, exit } = await runFx(["audit", "--url", url, "--json"]);
    const { findings } = JSON.parse(stdout) as {
      findings: { account: string; problem: string; recorded: string }[];
    };
    assert.equal(exit, 1);
    assert.deepEqual(new Set(findings.map(({ account }) => account)), new Set([holder]));
    const recorded = new Map(findings.map(({ problem, recorded }) => [problem, recorded]));
    assert.deepEqual(
      ["name", "surname", "balances after the entry"].map((problem) => recorded.get(problem)),
      [name, name, `{"PLN":${holder}}`],
    );
  });

  test("mask them for people, and no amount", async () => {
    const { stdout } = await runFx(["audit", "--url", url]);
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t"));
    const recorded = new Map(rows.map(([, , problem, recorded]) => [problem, recorded]));
    assert.equal(rows[0]?.[0], `${holder.slice(0, 6)}*****`);
    assert.deepEqual(
      ["name", "surname", "balances after the entry"].map((problem) => recorded.get(problem)),
      [...Array(2).fill(`${name.slice(0, 6)}*****`), `{"PLN":${holder}}`],
    );
    assert.equal(recorded.get("broken hash chain")?.length, 64);
  });
});
