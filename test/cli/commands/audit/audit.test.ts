import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { adult } from "../../../support/fixture.ts";
import { newFolder } from "../../../support/folder.ts";
import { runFx } from "../../../support/run-fx.ts";
import { openHere } from "../../../support/run-here.ts";

describe("findings of an account whose rows hold PESELs", () => {
  const holder = adult(1);
  const name = adult(2);
  const folder = newFolder();
  const url = `sqlite:${join(folder, "fx.db")}`;

  before(async () => {
    await openHere(url, { index: 1, pln: "9" });
    const database = new DatabaseSync(join(folder, "fx.db"));
    database.exec(`update account set name = '${name}', surname = '${name}'`);
    database.exec(`update journal set entry = replace(entry, '"PLN":900', '"PLN":${holder}')`);
    database.close();
  });

  test("Findings name the PESEL of their account in JSON", async () => {
    const { stdout, exit } = await runFx(["audit", "--url", url, "--json"]);
    const { findings } = JSON.parse(stdout) as {
      findings: { account: string; problem: string; recorded: string }[];
    };
    assert.equal(exit, 11);
    assert.deepEqual(new Set(findings.map(({ account }) => account)), new Set([holder]));
    const recorded = new Map(findings.map(({ problem, recorded }) => [problem, recorded]));
    assert.deepEqual(
      ["name", "surname", "balances in the entry"].map((problem) => recorded.get(problem)),
      [name, name, `{"PLN":${holder}}`],
    );
  });

  test("Findings as text mask PESELs, and no amount", async () => {
    const { stdout } = await runFx(["audit", "--url", url]);
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t"));
    const recorded = new Map(rows.map(([, , problem, recorded]) => [problem, recorded]));
    assert.equal(rows[0]?.[0], `${holder.slice(0, 6)}*****`);
    assert.deepEqual(
      ["name", "surname", "balances in the entry"].map((problem) => recorded.get(problem)),
      [...Array(2).fill(`${name.slice(0, 6)}*****`), `{"PLN":${holder}}`],
    );
    assert.equal(recorded.get("broken hash chain")?.length, 64);
  });

  test("Findings are followed by advice on stderr, also of a backup and with --json", async () => {
    const advice =
      /later than now, a clock .* Otherwise the ledger differs from what its journal gives\. Let nobody write to it: stop the servers/;
    const copy = join(folder, "copy.db");
    for (const words of [["audit"], ["backup", copy]]) {
      for (const options of [[], ["--json"]]) {
        const { stderr, exit } = await runFx([...words, ...options, "--url", url]);
        const told = options.length === 0 ? stderr : JSON.parse(stderr).warning;
        assert.match(told, advice);
        assert.equal(exit, 11);
        assert.equal(existsSync(copy), false);
      }
    }
  });
});
