import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fullName } from "../../src/cli/command.ts";
import { changingLines, readingLines } from "../support/command-lines.ts";
import { commands } from "../support/commands.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runHere } from "../support/run-here.ts";

const pesel = adult();
const others = [...readingLines, ...changingLines];
const creators = ["account create", "batch"];
/** Commands with tests of their own: doctor reports it as a check, and watch needs a terminal. */
const elsewhere = ["doctor", "watch"];

function missing(t: TestContext): { folder: string; env: Record<string, string> } {
  const folder = newFolder(t);
  return { folder, env: { FX_URL: `sqlite:${join(folder, "mistyped.db")}`, FX_RATES: "demo" } };
}

describe("where there is no SQLite file", () => {
  for (const command of others) {
    test(`fx ${command.replace(pesel, "<pesel>")} is exit 7, and none appears`, async (t) => {
      const { folder, env } = missing(t);
      const { stdout, stderr, exit } = await runHere(command.split(" "), { env });
      assert.match(
        stderr,
        /^fx: There is no database at .*mistyped\.db\. fx serve, fx account create and fx batch create one\./,
      );
      assert.deepEqual([stdout, exit, readdirSync(folder)], ["", 7, []]);
    });
  }

  test("fx doctor is exit 11, says so, and none appears", async (t) => {
    const { folder, env } = missing(t);
    const { stdout, exit } = await runHere(["doctor"], { env });
    assert.match(stdout, /\ncheck\tstore\twrong\tThere is no database at .*mistyped\.db/);
    assert.deepEqual([exit, readdirSync(folder)], [11, []]);
  });

  for (const [line, stdin] of [
    [`account create ${pesel} --name Jan --surname Kowalski --pln 5`, ""],
    ["batch -", JSON.stringify({ name: "Jan", surname: "Kowalski", pesel, pln: 5 })],
  ] as const) {
    test(`fx ${line.replace(pesel, "<pesel>")} makes one`, async (t) => {
      const { folder, env } = missing(t);
      assert.equal((await runHere(line.split(" "), { env, stdin })).exit, 0);
      assert.ok(existsSync(join(folder, "mistyped.db")));
    });
  }

  test("every command with --url is one of these", () => {
    const named = commands
      .filter(({ options }) => options.some(({ long }) => long === "--url"))
      .map((command) => fullName(command).replace("fx ", ""));
    const covered = (name: string) =>
      [...creators, ...elsewhere].includes(name) || others.some((command) => command.startsWith(name));
    assert.deepEqual(
      named.filter((name) => !covered(name)),
      [],
    );
    assert.ok(named.length > 10);
  });
});
