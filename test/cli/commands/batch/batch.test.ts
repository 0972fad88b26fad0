import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { adult } from "../../../support/fixture.ts";
import { type Ran, runFx, spawnFx, startFx, until } from "../../../support/run-fx.ts";
import { runHere } from "../../../support/run-here.ts";
import { runAtTerminal } from "../../../support/terminal.ts";

interface Result {
  readonly line: number;
  readonly ok: boolean;
  readonly code?: string;
  readonly replayed?: boolean;
  readonly currencies?: readonly { symbol: string; amount: number }[];
}

/** A store of its own with one account of 1000 PLN, and a way to write files and run commands there. */
async function desk(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "fx-batch-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const env = { FX_URL: `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" };
  const fx = (args: string, stdin = ""): Promise<Ran> =>
    runHere(args.split(" "), { env, cwd: folder, stdin });
  await fx(`account create ${adult()} --name Jan --surname Kowalski --pln 1000`);
  return {
    env,
    fx,
    write: (name: string, lines: readonly string[]) =>
      writeFileSync(join(folder, name), `${lines.join("\n")}\n`),
    path: (name: string) => join(folder, name),
    balances: async () => {
      const { currencies } = JSON.parse((await fx(`account show ${adult()} --json`)).stdout);
      return Object.fromEntries(
        currencies.map((one: { symbol: string; amount: number }) => [one.symbol, one.amount]),
      );
    },
  };
}

const results = ({ stdout }: Ran): Result[] =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

const header = "pesel,from,to,toBuy,toSell";
const buyOne = `${adult()},PLN,USD,1,`;

describe("fx batch", () => {
  test("settles the orders of a CSV file, one JSON result a line, and is exit 0", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("orders.csv", [header, buyOne, `${adult()},USD,PLN,,0.5`]);
    const ran = await fx("batch orders.csv");
    assert.equal(ran.exit, 0, ran.stderr);
    assert.deepEqual(
      results(ran).map(({ line, ok, replayed }) => [line, ok, replayed]),
      [
        [2, true, false],
        [3, true, false],
      ],
    );
    assert.deepEqual(await balances(), { PLN: 997.8, USD: 0.5 });
  });

  test("opens the accounts of a CSV file, quoted fields and all", async (t) => {
    const { fx, write } = await desk(t);
    write("accounts.csv", ["name,surname,pesel,pln", `Anna,"Nowak, z domu Lis",${adult(1)},50.50`]);
    assert.equal((await fx("batch accounts.csv")).exit, 0);
    const account = JSON.parse((await fx(`account show ${adult(1)} --json`)).stdout);
    assert.deepEqual([account.surname, account.currencies[0].amount], ["Nowak, z domu Lis", 50.5]);
  });

  test("takes request bodies, one a line, from standard input", async (t) => {
    const { fx, balances } = await desk(t);
    const body = { pesel: adult(), from: "PLN", to: "USD", toBuy: 1 };
    assert.equal((await fx("batch - --id monday", `${JSON.stringify(body)}\n`)).exit, 0);
    assert.equal((await balances()).USD, 1);
  });

  test("names bad lines by number, goes on with the rest, and is exit 3", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("orders.csv", [header, "nonsense", `${adult()},PLN,USD,,99999`, `${adult()},PLN,PLN,1,`, buyOne]);
    const ran = await fx("batch orders.csv");
    assert.equal(ran.exit, 3);
    assert.deepEqual(
      results(ran)
        .sort((a, b) => a.line - b.line)
        .map(({ line, code }) => [line, code]),
      [
        [2, "invalid-request"],
        [3, "insufficient-funds"],
        [4, "same-currency"],
        [5, undefined],
      ],
    );
    assert.match(ran.stderr, /line 3: The order takes 99999\.00 PLN/);
    assert.equal((await balances()).USD, 1);
  });

  test("run again repeats nothing, and says so", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("orders.csv", [header, buyOne, buyOne]);
    await fx("batch orders.csv");
    const again = await fx("batch orders.csv");
    assert.deepEqual(
      results(again).map(({ replayed }) => replayed),
      [true, true],
    );
    assert.equal((await balances()).USD, 2, "equal lines are orders of their own, each done once");
  });

  test("of tomorrow's file with the same first line is a new batch", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("monday.csv", [header, buyOne]);
    write("tuesday.csv", [header, buyOne, `${adult()},PLN,EUR,1,`]);
    await fx("batch monday.csv");
    assert.equal((await fx("batch tuesday.csv")).exit, 0);
    assert.deepEqual(await balances(), { PLN: 986.71, EUR: 1, USD: 2 });
  });

  test("keeps the order of the lines of one account", async (t) => {
    const { fx, write } = await desk(t);
    // Each line but the first spends what the one before it bought.
    const hops = ["PLN,USD", "USD,EUR", "EUR,GBP", "GBP,CHF"].map((pair) => `${adult()},${pair},1,`);
    write("orders.csv", [header, `${adult()},PLN,USD,100,`, `${adult()},USD,EUR,50,`, ...hops.slice(2)]);
    assert.equal((await fx("batch orders.csv --concurrency 64")).exit, 0);
  });

  test("--stop-on-error starts nothing after the first that did not go through", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("orders.csv", [header, `${adult()},PLN,THB,1,`, ...Array.from({ length: 200 }, () => buyOne)]);
    const ran = await fx("batch orders.csv --stop-on-error --concurrency 1");
    assert.equal(ran.exit, 3);
    assert.deepEqual(await balances(), { PLN: 1000 });
  });

  test("run again refuses what it refused, also when there is money now", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("orders.csv", [header, buyOne, `${adult()},USD,PLN,,5`]);
    assert.equal((await fx("batch orders.csv")).exit, 3);
    await fx(`exchange ${adult()} --from PLN --to USD --to-buy 10`);
    const again = await fx("batch orders.csv");
    assert.deepEqual(
      results(again).map(({ ok, code, replayed }) => [ok, code, replayed]),
      [
        [true, undefined, true],
        [false, "insufficient-funds", true],
      ],
    );
    assert.equal((await balances()).USD, 11);
  });

  test("killed in the middle and run again finishes the rest and repeats nothing", async (t) => {
    const { env, fx, write, path } = await desk(t);
    const server = await startFx(["--rates", "demo", "--log-level", "silent"], {
      env: { FX_DB: env.FX_URL },
    });
    const lines = 2000;
    write("orders.csv", [header, ...Array.from({ length: lines }, () => `${adult()},PLN,USD,0.01,`)]);
    const at = { env: { ...env, FX_URL: server.url } };
    const { child, output, ended } = spawnFx(["batch", path("orders.csv")], at);
    await until(() => output().stdout.split("\n").length > 100);
    child.kill("SIGKILL");
    await ended;
    const ran = await runFx(["batch", path("orders.csv")], at);
    assert.equal(ran.exit, 0, ran.stderr);
    const again = results(ran);
    const replayed = again.filter((one) => one.replayed).length;
    assert.ok(replayed >= 99 && replayed < lines, `${replayed} of ${again.length} had been done`);
    await server.stop();
    const entries = JSON.parse((await fx("audit --json")).stdout);
    assert.deepEqual([entries.ok, entries.entries], [true, lines + 1]);
  });

  test("at a terminal tells the balances after each line, and masks the PESELs of what is refused", async (t) => {
    const { env, write, path } = await desk(t);
    write("orders.csv", [header, buyOne, `${adult()},USD,PLN,,5`]);
    const { text, exit } = await runAtTerminal(["batch", path("orders.csv")], { env });
    assert.match(text, /^line 2: Jan Kowalski, 995\.70 PLN, 1\.00 USD\nline 3: The order takes 5\.00 USD/);
    assert.match(text, /\nbatch +[0-9a-f]{32}\ndone +1\nrefused +1\ntook +\d+:\d\d\n$/);
    assert.ok(!text.includes(adult()));
    assert.equal(exit, 3);
    const { text: json } = await runAtTerminal(["batch", path("orders.csv"), "--json"], { env });
    assert.match(json, /^\{"line":2,"ok":true,.*"replayed":true\}\n\{"line":3,"ok":false,/);
  });

  test("stopped by Ctrl-C at its progress bar answers what is under way, and run again does the rest", async (t) => {
    const { env, fx, write, path } = await desk(t);
    const lines = 2000;
    write("orders.csv", [header, ...Array.from({ length: lines }, () => `${adult()},PLN,USD,0.01,`)]);
    const batch = ["batch", path("orders.csv")];
    const stopped = await runAtTerminal(batch, { env, replies: [["] 0 %", "\u0003"]] });
    assert.match(stopped.text, /\nStopping when what is under way is answered\./);
    const [, done] = /\ndone +(\d+)\ntook +\d:\d\d\nstopped +before the end\n/.exec(stopped.text) ?? [];
    assert.ok(Number(done) > 0 && Number(done) < lines, `${done} were done`);
    assert.equal(stopped.exit, 130);
    const again = await fx("batch orders.csv");
    assert.match(again.stderr, new RegExp(`\ndone\t${lines - Number(done)}\ndone before\t${done}\n`));
    assert.equal(again.exit, 0);
    assert.equal(JSON.parse((await fx("audit --json")).stdout).entries, lines + 1);
  });

  test("of a file that is not there is a usage error", async (t) => {
    const { fx } = await desk(t);
    assert.equal((await fx("batch none.csv")).exit, 2);
  });
});

describe("fx backup", () => {
  test("copies the database, audited, to a new file", async (t) => {
    const { fx, env } = await desk(t);
    const { stdout, exit } = await fx(`backup copy.db --db ${env.FX_URL} --json`);
    assert.equal(exit, 0);
    const { file, ok, accounts } = JSON.parse(stdout);
    assert.deepEqual([file, ok, accounts], ["copy.db", true, 1]);
    assert.equal((await fx(`account show ${adult()} --url sqlite:copy.db`)).exit, 0);
    assert.equal((await fx(`backup copy.db --db ${env.FX_URL}`)).exit, 2, "and replaces nothing");
  });

  test("points to pg_dump for PostgreSQL, and to the database for a server", async (t) => {
    const { fx } = await desk(t);
    assert.match((await fx("backup copy.db --url postgres://fx@db/fx")).stderr, /pg_dump --format=custom/);
    assert.match((await fx("backup copy.db --url http://127.0.0.1:1")).stderr, /--db sqlite:PATH/);
  });
});
