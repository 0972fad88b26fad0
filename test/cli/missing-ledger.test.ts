import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fullName } from "../../src/cli/command.ts";
import { commands } from "../support/commands.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runHere } from "../support/run-here.ts";

const pesel = adult();
const order = `${pesel} --from PLN --to USD --to-buy 1`;

/** Every command that works on a ledger and makes none. */
const others: readonly string[] = [
  `account show ${pesel}`,
  "account list",
  `account history ${pesel}`,
  `exchange ${order}`,
  `exchange ${order} --yes --key k-1`,
  `exchange ${order} --dry-run`,
  "quote --from PLN --to USD --to-buy 1",
  "rates show",
  "rates history USD",
  `account deposit ${pesel} --amount 1 --currency PLN`,
  `account withdraw ${pesel} --amount 1 --currency PLN`,
  `account rename ${pesel} --name Jan --surname Nowak`,
  `account close ${pesel}`,
  `account block ${pesel} --reason freeze`,
  `account unblock ${pesel} --reason lifted`,
  "receipt show 019e9a70-3c5e-7000-8000-5d1f0c2b7a11",
  "receipt proof 019e9a70-3c5e-7000-8000-5d1f0c2b7a11",
  "receipt reverse 019e9a70-3c5e-7000-8000-5d1f0c2b7a11 --reason slip",
  `account export ${pesel}`,
  "entries",
  "position",
  "till",
  "trading show",
  "trading suspend --reason holiday",
  "trading resume",
  "house show",
  "house history --account cash",
  "house deposit --account cash --amount 1 --currency PLN",
  "house withdraw --account bank --amount 1 --currency PLN",
  "statements --month 2026-11 --out statements",
  "audit",
  "export --format csv",
  "backup copy.db",
];
const creators = ["account create", "batch"];
/** Commands with tests of their own: doctor reports it as a check, and watch needs a terminal. */
const elsewhere = ["doctor", "watch"];

const body = JSON.stringify({ name: "Jan", surname: "Kowalski", pesel, pln: 5 });

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
    assert.match(stdout, /\ncheck\tstore\twrong\tthere is no file .*mistyped\.db yet/);
    assert.deepEqual([exit, readdirSync(folder)], [11, []]);
  });

  test("fx account create makes one", async (t) => {
    const { folder, env } = missing(t);
    const create = `account create ${pesel} --name Jan --surname Kowalski --pln 5`;
    assert.equal((await runHere(create.split(" "), { env })).exit, 0);
    assert.ok(existsSync(join(folder, "mistyped.db")));
  });

  test("fx batch makes one", async (t) => {
    const { folder, env } = missing(t);
    assert.equal((await runHere(["batch", "-"], { env, stdin: body })).exit, 0);
    assert.ok(existsSync(join(folder, "mistyped.db")));
  });

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
