import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { startFx } from "../support/run-fx.ts";
import { fxInShell } from "../support/shell.ts";

const root = new URL("../..", import.meta.url);
const page = readFileSync(new URL("docs/OPERATIONS.md", root), "utf8");
const commands = [...page.matchAll(/<!-- bringing over -->\n```sh\n(.*?)```/gs)].map(([, text = ""]) => text);

const customers = 120;
/** The export of the other system: a balance in PLN for all, in USD and JPY for some, and some at 0, in lines of Windows. */
function files(): Record<string, string> {
  const people = Array.from({ length: customers }, (_, index) => adult(index));
  const balances = people.flatMap((pesel, index) => [
    `KP/${index}/2026,2026-11-20,${pesel},PLN,${index % 7 === 0 ? 0 : `${index}.07`}`,
    ...(index % 2 === 0 ? [`KW/${index}/2026,2026-11-20,${pesel},USD,0.5`] : []),
    ...(index % 5 === 0 ? [`KJ/${index}/2026,2026-11-20,${pesel},JPY,100`] : []),
  ]);
  const names = ['Żaneta,"Lis, z domu Żak"', "Jan,Kowalski"];
  const lines = (...all: string[]) => `${all.join("\r\n")}\r\n`;
  return {
    "customers.csv": lines(
      "name,surname,pesel",
      ...people.map((pesel, index) => `${names[index % 2]},${pesel}`),
    ),
    "balances.csv": lines("number,date,pesel,currency,amount", ...balances),
  };
}

async function desk(t: TestContext) {
  const folder = newFolder(t);
  const server = await startFx(["--rates", "demo", "--log-level", "silent"]);
  t.after(() => server.stop());
  for (const [name, text] of Object.entries(files())) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, "fx"), `#!/bin/sh\nexec ${fxInShell} "$@"\n`);
  chmodSync(join(folder, "fx"), 0o755);
  const env = { HOME: folder, PATH: `${folder}${delimiter}${process.env.PATH}`, FX_URL: server.url };
  return {
    run: async (text: string) =>
      (await promisify(execFile)("bash", ["-euo", "pipefail", "-c", text], { cwd: folder, env })).stdout,
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
    read: (name: string) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n"),
  };
}

test("the commands of docs/OPERATIONS.md bring customers over, with no spread earned and the house at 0", async (t) => {
  const { run, read, write } = await desk(t);
  const [make = "", carryOut = "", compare = ""] = commands;
  const { "balances.csv": balances = "" } = files();
  for (const amount of ['"1,234.50"', "1 234,50", "1 234", "-5", ""]) {
    write("balances.csv", `${balances}KP/1/2026,2026-11-20,${adult(1)},PLN,${amount}\r\n`);
    await assert.rejects(run(make), { stderr: /refused: line 206 of balances\.csv\n$/ }, amount);
  }
  write("balances.csv", balances.replace(/^.*\r\n/, ""));
  await assert.rejects(run(make), { stderr: /refused: line 1 of balances\.csv\n$/ });
  write("balances.csv", balances);
  await run(make);
  assert.equal(await run(carryOut), "");
  assert.equal(read("opened.ndjson").length, customers);
  const deposited = read("deposited.ndjson").map((line) => JSON.parse(line));
  assert.ok(deposited.every(({ ok }) => ok));
  assert.equal(deposited[1].surname, "Lis, z domu Żak");
  // The last line is the audit's digest.
  const told = (await run(compare)).trimEnd().split("\n");
  const pln = Array.from({ length: customers }, (_, index) => (index % 7 === 0 ? 0 : 100 * index + 7));
  const sum = (pln.reduce((total, each) => total + each) / 100).toFixed(2);
  assert.deepEqual(told.slice(0, -1), [
    ...["JPY\t2400.00", `PLN\t${sum}`, "USD\t30.00"],
    ...[
      `PLN\t${sum}\t0.00\t${sum}\t0.00`,
      "JPY\t2400\t0\t2400\t0",
      "USD\t30.00\t0.00\t30.00\t0.00",
      "spread earned\t0.00 PLN",
    ],
    ...[`accounts\t${customers}`, `entries\t${customers + deposited.length}`, "findings\t0"],
  ]);
  const entry = JSON.parse(await run(`fx receipt ${deposited[0].receipt} --json`));
  assert.deepEqual([entry.kind, entry.note], ["deposit", "brought over: KW/0/2026 of 2026-11-20"]);
  await run(
    carryOut.replace(/^.*(--dry-run|accounts).*\n/gm, "").replace(" --rejects deposits-refused.csv", ""),
  );
  const again = read("deposited.ndjson").slice(deposited.length);
  assert.deepEqual(
    [again.length, again.every((line) => JSON.parse(line).replayed)],
    [deposited.length, true],
  );
});
