import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { parse } from "csv-parse/sync";
import { adult } from "../../../support/fixture.ts";
import { newFolder } from "../../../support/folder.ts";
import { type Ran, spawnFx } from "../../../support/run-fx.ts";
import { runHere } from "../../../support/run-here.ts";
import { startServer } from "../../../support/server.ts";
import { runAtTerminal } from "../../../support/terminal.ts";
import { until } from "../../../support/until.ts";

interface Result {
  readonly line: number;
  readonly ok: boolean;
  readonly code?: string;
  readonly replayed?: boolean;
  readonly key: string;
  readonly pesel: string | null;
  readonly currencies?: readonly { symbol: string; amount: number }[];
}

/** A store of its own with one account of 1000 PLN, and a way to write files and run commands there. */
async function desk(t: TestContext) {
  const folder = newFolder(t);
  const env = { FX_URL: `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" };
  const fx = (args: string, stdin = ""): Promise<Ran> =>
    runHere(args.split(" "), { env, cwd: folder, stdin });
  const opened = await fx(`account create ${adult()} --name Jan --surname Kowalski --pln 1000`);
  assert.equal(opened.exit, 0, opened.stderr);
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
  test("fx batch settles the orders of a CSV file, one JSON result a line, and is exit 0", async (t) => {
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

  test("fx batch puts money in and takes it out by a CSV file of both, with notes and keys", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("cash.csv", [
      "kind,pesel,amount,currency,note,key",
      `deposit,${adult()},2.5,USD,"counter 2, evening",k1`,
      `withdrawal,${adult()},1000,PLN,,`,
      `withdrawal,${adult()},0.01,PLN,,`,
      `payout,${adult()},1,USD,,`,
    ]);
    const ran = await fx("batch cash.csv");
    assert.deepEqual(
      results(ran).map(({ ok, code }) => [ok, code]),
      [
        [true, undefined],
        [true, undefined],
        [false, "insufficient-funds"],
        [false, "invalid-request"],
      ],
    );
    assert.match(ran.stderr, /line 5, .*kind must be deposit or withdrawal/);
    assert.deepEqual(await balances(), { PLN: 0, USD: 2.5 });
    const [, deposit] = JSON.parse((await fx(`account history ${adult()} --json`)).stdout).entries;
    assert.deepEqual([deposit.kind, deposit.note, deposit.key], ["deposit", "counter 2, evening", "k1"]);
    const again = await fx("batch cash.csv");
    assert.match(again.stderr, /\ndone before\t2\n/);
    assert.deepEqual(await balances(), { PLN: 0, USD: 2.5 });
  });

  test("fx batch takes openings, deposits and orders in one file, at the table that a line names or not at all", async (t) => {
    const { fx, write } = await desk(t);
    const pesel = adult(1);
    write("mixed.ndjson", [
      JSON.stringify({ name: "Anna", surname: "Nowak", pesel, pln: 0 }),
      JSON.stringify({ kind: "deposit", pesel, amount: 5, currency: "USD", note: "from the old system" }),
      JSON.stringify({ pesel, from: "USD", to: "PLN", toSell: 1, table: "069/C/NBP/2022" }),
      JSON.stringify({ pesel, from: "USD", to: "PLN", toSell: 1, table: "1/C/NBP/2022" }),
      JSON.stringify({ kind: "withdrawal", pesel, amount: 4.21, currency: "PLN" }),
    ]);
    const ran = await fx("batch mixed.ndjson");
    assert.deepEqual(
      results(ran).map(({ code, currencies }) => [code, currencies?.map(({ amount }) => amount)]),
      [
        [undefined, [0]],
        [undefined, [0, 5]],
        [undefined, [4.21, 4]],
        ["rate-changed", undefined],
        [undefined, [0, 4]],
      ],
    );
  });

  test("fx batch takes request bodies, one a line, from standard input", async (t) => {
    const { fx, balances } = await desk(t);
    const body = { pesel: adult(), from: "PLN", to: "USD", toBuy: 1 };
    assert.equal((await fx("batch - --id monday", `${JSON.stringify(body)}\n`)).exit, 0);
    assert.equal((await balances()).USD, 1);
  });

  test("fx batch names bad lines by number, goes on with the rest, and is exit 3", async (t) => {
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
    assert.match(ran.stderr, /line 3, 700110\*{5}: The order takes more PLN than/);
    assert.equal((await balances()).USD, 1);
  });

  test("fx batch --stop-on-error stops at the first line that does not go through", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("orders.csv", [header, buyOne, `${adult()},PLN,THB,1,`, ...Array<string>(200).fill(buyOne)]);
    const ran = await fx("batch orders.csv --stop-on-error --json");
    const { complete, done, refused } = JSON.parse(ran.stderr);
    assert.deepEqual([ran.exit, complete, done, refused], [3, false, 1, 1]);
    assert.deepEqual(await balances(), { PLN: 995.7, USD: 1 });
  });

  test("fx batch --stop-on-error is complete if the last line is the one that does not go through", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [header, buyOne, `${adult()},PLN,THB,1,`]);
    assert.equal(JSON.parse((await fx("batch orders.csv --stop-on-error --json")).stderr).complete, true);
  });

  test("fx batch at a terminal shows the balances after each line, and masks the PESELs of refused lines", async (t) => {
    const { env, write, path } = await desk(t);
    write("orders.csv", [header, buyOne, `${adult()},USD,PLN,,5`]);
    const { text, exit } = await runAtTerminal(["batch", path("orders.csv"), "--yes"], { env });
    assert.match(
      text,
      /^line 2, 700110\*{5}: sold 4\.30 PLN, bought 1\.00 USD; Jan Kowalski, 995\.70 PLN,\n1\.00 USD\nline 3, 700110\*{5}: The order takes more USD than/,
    );
    assert.match(
      text,
      /\nbatch +[0-9a-f]{24}\ndone +1\nrefused +1\ntook +\d+:\d\d\nTo get the refused lines as a file/,
    );
    assert.ok(!text.includes(adult()));
    assert.equal(exit, 3);
    const { text: json } = await runAtTerminal(["batch", path("orders.csv"), "--json", "--yes"], { env });
    assert.match(json, /^\{"line":2,"ok":true,.*"replayed":true\}\n\{"line":3,"ok":false,/);
  });

  test("fx batch stopped by Ctrl-C at its progress bar answers what is under way, and run again does the rest", async (t) => {
    const { env, fx, write, path } = await desk(t);
    const lines = 4000;
    write("orders.csv", [header, ...Array.from({ length: lines }, () => `${adult()},PLN,USD,0.01,`)]);
    const batch = ["batch", path("orders.csv"), "--yes", "--stop-on-error"];
    const stopped = await runAtTerminal(batch, { env, replies: [["] 0 %", "\u0003"]] });
    assert.match(stopped.text, /\nStopping once the lines under way are answered\./);
    const [, done] = /\ndone +(\d+)\ntook +\d:\d\d\nstopped +before the end\n/.exec(stopped.text) ?? [];
    assert.ok(Number(done) > 0 && Number(done) < lines, `${done} were done`);
    assert.equal(stopped.exit, 130);
    const again = await fx("batch orders.csv");
    assert.match(again.stderr, new RegExp(`\ndone\t${lines - Number(done)}\ndone before\t${done}\n`));
    assert.equal(again.exit, 0);
    assert.equal(JSON.parse((await fx("audit --json")).stdout).entries, lines + 1);
  });
});

describe("fx batch of a corrected or longer file", () => {
  const rows = Array.from({ length: 9 }, (_, index) => `${adult()},PLN,USD,0.${index + 1}0,`);

  for (const [what, lines] of [
    ["with one line corrected", [...rows.slice(0, 8), `${adult()},PLN,USD,7,`]],
    ["with lines added", [...rows, `${adult()},PLN,USD,7,`, `${adult()},PLN,USD,8,`]],
    ["with lines taken away, and others moved", rows.slice(2).reverse()],
  ] as const) {
    test(`${what} says before anything is sent that most of it was done before`, async (t) => {
      const { fx, write, balances } = await desk(t);
      write("orders.csv", [header, ...rows]);
      await fx("batch orders.csv");
      write("orders.csv", [header, ...lines]);
      const before = await balances();
      const told = /^Another batch has done \d+ of \d+ lines that were compared/m;
      const dry = await fx("batch orders.csv --dry-run");
      assert.match(dry.stderr, told);
      assert.deepEqual(await balances(), before);
      const { stderr } = await fx("batch orders.csv --json");
      const document = JSON.parse(stderr.split("\n")[0] ?? "");
      assert.equal(document.overlap.among, lines.length);
    });
  }

  test("fx batch does not warn of a file with other orders, of the same file, or of lines with keys of their own", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [header, ...rows]);
    await fx("batch orders.csv");
    write("others.csv", [header, ...rows.slice(0, 4), ...rows.map((row) => row.replace("USD", "EUR"))]);
    write("keyed.csv", [`${header},key`, ...rows.map((row, index) => `${row},k${index}`)]);
    for (const file of ["orders.csv", "others.csv", "keyed.csv"]) {
      assert.doesNotMatch((await fx(`batch ${file}`)).stderr, /[Aa]nother batch/);
    }
  });
});

describe("a dry run, and then the run", () => {
  test("A single command and its dry run agree, with a key that was done, refused or used for another request", async (t) => {
    const { fx } = await desk(t);
    const withdraw = (amount: number, key: string) =>
      `account withdraw ${adult()} --amount ${amount} --currency PLN --key ${key} --json`;
    const exchange = (amount: number, key: string) =>
      `exchange ${adult()} --from PLN --to USD --to-sell ${amount} --key ${key} --json`;
    await fx(withdraw(2000, "refused"));
    await fx(exchange(2000, "refused-too"));
    await fx(withdraw(1, "done"));
    const { stdout } = await fx(exchange(1, "exchanged"));
    await fx(`account deposit ${adult()} --amount 5000 --currency PLN`);
    const { receipt } = JSON.parse(stdout);
    const reverse = (key: string, reason = "a") =>
      `receipt reverse ${receipt} --reason ${reason} --key ${key} --json`;
    await fx(reverse("reversed"));
    for (const [command, exit] of [
      [withdraw(2000, "refused"), 3],
      [exchange(2000, "refused-too"), 3],
      [withdraw(1, "done"), 0],
      [withdraw(2, "done"), 3],
      [exchange(9000, "new"), 3],
      [exchange(1, "exchanged"), 0],
      [reverse("reversed"), 0],
      [reverse("reversed", "b"), 3],
      [reverse("again"), 3],
      [`account close ${adult()} --key close --json`, 3],
      [`account withdraw ${adult(5)} --amount 1 --currency PLN --key x --json`, 4],
    ] as const) {
      const dry = await fx(`${command} --dry-run`);
      const run = await fx(command);
      assert.deepEqual([dry.exit, run.exit], [exit, exit], `${command}: ${dry.stderr} ${run.stderr}`);
      if (exit === 0) assert.equal(dry.stdout, run.stdout);
      else assert.equal(JSON.parse(dry.stderr).code, JSON.parse(run.stderr).code);
    }
  });

  test("Dry runs and runs of 200 accounts pass a server with a limit of 100 requests a second", async (t) => {
    const { fx, write, path } = await desk(t);
    const server = await startServer({}, "", { rateLimit: 100 });
    t.after(() => server.close());
    const accounts = Array.from({ length: 200 }, (_, index) => `Jan,Nowak,${adult(index)},10`);
    write("accounts.csv", ["name,surname,pesel,pln", ...accounts]);
    const orders = accounts.map((_, index) => `${adult(index)},PLN,USD,1,`);
    write("orders.csv", [header, ...orders, ...orders]);
    const at = ` --url ${server.url}`;
    for (const file of ["accounts.csv", "orders.csv"]) {
      const dry = await fx(`batch ${path(file)} --dry-run${at}`);
      assert.equal(dry.exit, 0, dry.stderr.slice(0, 500));
      assert.equal((await fx(`batch ${path(file)}${at}`)).exit, 0);
    }
    assert.equal(results(await fx(`batch ${path("orders.csv")} --dry-run${at}`)).length, 400);
  });
});

describe("fx batch with refused lines", () => {
  const bad = `${adult()},PLN,USD,,99999`;

  test("fx batch with refused lines says how to write them to a file, and that the whole file under a new id would do the rest twice", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [header, buyOne, bad]);
    const { stderr } = await fx("batch orders.csv --id b");
    assert.match(
      stderr,
      /\nTo get the refused lines as a file to correct, run it again with --id b --rejects FILE\.\n/,
    );
    assert.match(
      stderr,
      /\nOr correct the batch itself and run it again with --id b\. Without that id, its other lines would be done twice\.\n$/,
    );
    const { hint, rejects } = JSON.parse((await fx("batch orders.csv --id b --json")).stderr);
    assert.deepEqual(
      [
        /--rejects FILE.* with --id b\. Without that id, its other lines would be done twice\.$/.test(hint),
        rejects,
      ],
      [true, null],
    );
  });

  test("Refused lines with keys of their own need no id, so the hint names none", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [`${header},key`, `${buyOne},k1`, `${bad},k2`]);
    const { stderr } = await fx("batch orders.csv");
    assert.match(
      stderr,
      /To get the refused lines as a file to correct, run it again with --id \w+ --rejects FILE\.\n$/,
    );
  });

  test("fx batch writes no rejects of a dry run, which could be done twice", async (t) => {
    const { fx } = await desk(t);
    const { stderr, exit } = await fx("batch orders.csv --dry-run --rejects dry.csv");
    assert.match(stderr, /--rejects <file>' cannot be used with .*--dry-run/);
    assert.equal(exit, 2);
  });

  test("fx batch --rejects writes refused lines to a file that is corrected and run, and run twice", async (t) => {
    const { fx, write, path, balances } = await desk(t);
    write("orders.csv", [header, bad, buyOne]);
    const first = await fx("batch orders.csv --rejects rejects.csv");
    assert.match(
      first.stderr,
      /\nrejects\trejects\.csv\n.*\nThe refused lines are in rejects\.csv, under new keys/,
    );
    const rejects = readFileSync(path("rejects.csv"), "utf8");
    assert.match(rejects, new RegExp(`^${header},key\n${bad},again:[\\w-]{16}\n$`));
    write("rejects.csv", [rejects.trimEnd().replace("99999", "50")]);
    assert.equal((await fx("batch rejects.csv")).exit, 0);
    const again = await fx("batch rejects.csv");
    assert.match(again.stderr, /\nTo do a line again, give it a new key\.\n/);
    assert.deepEqual(await balances(), { PLN: 945.7, USD: 12.63 });
  });

  for (const separator of [",", ";"]) {
    test(`fx batch with refused lines writes no cell that a spreadsheet would run, and reads all of them back, between "${separator}"`, async (t) => {
      const { fx, write, path } = await desk(t);
      const cells = ["=cmd|'/C calc'!A0", "+1", "-1", "@a", "'=1", "a;=1", "a,=1", "O'Brien"];
      const columns = cells.map((_, index) => `=${index}`);
      const row = (...texts: string[]) => texts.map((text) => `"${text}"`).join(separator);
      write("orders.csv", [
        row(...header.split(","), ...columns),
        row(adult(), "PLN", "USD", "", "-5", ...cells.map((cell) => cell.replace(/^'/, "''"))),
      ]);
      const extras: unknown[] = [];
      const files: string[] = [];
      for (const [from, to] of [
        ["orders", "first"],
        ["first", "second"],
        ["second", "third"],
      ]) {
        const ran = await fx(`batch ${from}.csv --rejects ${to}.csv`);
        assert.equal(ran.exit, 3, ran.stderr);
        extras.push(JSON.parse(ran.stdout).extra);
        files.push(readFileSync(path(`${to}.csv`), "utf8"));
      }
      const extra = Object.fromEntries(columns.map((column, index) => [column, cells[index]]));
      assert.deepEqual(extras, [extra, extra, extra]);
      for (const cell of files
        .flatMap((file) => parse(file, { delimiter: separator }) as string[][])
        .flat()) {
        assert.doesNotMatch(cell, /^[=+@-]/);
      }
    });
  }

  test("fx batch with refused lines gives no new key to a line whose key was used before", async (t) => {
    const { fx, write, path } = await desk(t);
    write("orders.csv", [`${header},key`, `${buyOne},k1`, `${adult()},PLN,USD,2,,k1`, `${bad},k3`]);
    const ran = await fx("batch orders.csv --rejects rejects.csv");
    assert.match(ran.stderr, /\nrefused\t2\nrejects\trejects\.csv\n/);
    assert.match(
      ran.stderr,
      /\nfx receipt --pesel PESEL --key KEY shows what was done .* The file of rejects leaves such lines out\.\n/,
    );
    assert.deepEqual(readFileSync(path("rejects.csv"), "utf8").match(/again:/g), ["again:"]);
    write("reused.csv", [`${header},key`, `${adult()},PLN,USD,2,,k1`]);
    const { exit, stderr } = await fx("batch reused.csv --rejects none.csv");
    assert.equal(exit, 3);
    assert.doesNotMatch(stderr, /none\.csv|--rejects/);
    assert.ok(!existsSync(path("none.csv")));
  });
});

describe("fx batch over lines that were done before", () => {
  const copied = async (t: TestContext) => {
    const made = await desk(t);
    made.write("monday.csv", [header, buyOne, buyOne]);
    made.write("copy.csv", [header, buyOne, buyOne]);
    await made.fx("batch monday.csv");
    return made;
  };

  test("fx batch counts the lines that were done before, with when the first was, and says that --id NEW does them again", async (t) => {
    const { fx, balances } = await copied(t);
    const { stderr, exit } = await fx("batch copy.csv");
    const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
    assert.match(
      stderr,
      new RegExp(
        `\ndone\t0\ndone before\t2\nfirst done\t${time}\n[^]*\nTo do the whole batch again, run it with --id NEW `,
      ),
    );
    assert.deepEqual([exit, (await balances()).USD], [0, 2]);
    assert.doesNotMatch((await fx("batch copy.csv --id NEW")).stderr, /before/);
    assert.equal((await balances()).USD, 4);
  });

  test("fx batch that did not come to its end says how to do the rest, and not how to do all of it again", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [
      header,
      `${adult()},PLN,USD,1,`,
      `${adult()},PLN,USD,9999999,`,
      `${adult()},PLN,USD,2,`,
    ]);
    await fx("batch orders.csv --stop-on-error");
    const { stderr, exit } = await fx("batch orders.csv --stop-on-error");
    assert.equal(exit, 3);
    assert.match(stderr, /\ndone before\t1\n(?:.*\n)*stopped\tbefore the end\nTo do the rest, /);
    assert.doesNotMatch(stderr, /the whole batch again/);
    const summary = JSON.parse((await fx("batch orders.csv --stop-on-error --json")).stderr);
    assert.deepEqual([summary.doneBefore.lines, summary.doneBefore.hint], [1, null]);
    assert.match(summary.hint, /^To do the rest, /);
  });

  test("fx batch --json reports lines that were done before in documents", async (t) => {
    const { fx } = await copied(t);
    const { doneBefore } = JSON.parse((await fx("batch copy.csv --json")).stderr);
    assert.equal(doneBefore.lines, 2);
    assert.ok(Date.parse(doneBefore.first) <= Date.now());
    assert.match(doneBefore.hint, /--id NEW/);
  });

  test("fx batch of standard input reports the first line that was done before", async (t) => {
    const { fx } = await copied(t);
    const input = `${header}\n${buyOne}\n`;
    await fx("batch - --id b", input);
    assert.match((await fx("batch - --id b", input)).stderr, /\ndone before\t1\n[\s\S]*\nTo .* --id NEW/);
  });

  test("fx batch at a terminal reports lines that were done before, before it asks, and a no moves nothing", async (t) => {
    const { env, fx, write, path, balances } = await copied(t);
    const here = { env: { ...env, FX_URL: "sqlite:fx.db" }, cwd: path("") };
    write("more.csv", [header, buyOne, buyOne, buyOne]);
    await fx("batch monday.csv --id b");
    const no = await runAtTerminal(["batch", "more.csv", "--id", "b"], {
      ...here,
      replies: [["Carry it out? [y/N] ", "n\n"]],
    });
    assert.match(
      no.text,
      /^batch +b\nfile +more\.csv\nlines +3\ncontents +orders\ntarget +sqlite:fx\.db\nwould be done +1\ndone before +2\nfirst done +\d/,
    );
    assert.deepEqual([no.exit, (await balances()).USD], [9, 4]);
    const yes = await runAtTerminal(["batch", "more.csv", "--id", "b"], {
      ...here,
      replies: [["Carry it out? [y/N] ", "y\n"]],
    });
    assert.deepEqual([yes.exit, (await balances()).USD], [0, 5]);
    const unasked = await runAtTerminal(["batch", path("more.csv"), "--id", "b", "--yes"], { env });
    assert.match(unasked.text, /\ndone before +3\n/);
    assert.ok(!unasked.text.includes("Carry it out?"));
  });
});

describe("fx batch of a file", () => {
  test("A batch without lines says so, and is exit 0", async (t) => {
    const { fx, write } = await desk(t);
    write("header.csv", [header]);
    for (const [args, stdin] of [
      ["batch header.csv", ""],
      ["batch -", ""],
      ["batch -", "\n \n"],
    ] as const) {
      const { stderr, exit } = await fx(args, stdin);
      assert.match(stderr, /^fx: The file has no lines\.$/m);
      assert.equal(exit, 0);
    }
    assert.match((await fx("batch header.csv --json")).stderr, /^\{"warning":"The file has no lines\."\}\n/);
  });

  test("A batch with columns that fx does not use names them", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [`${header},note,ref`, `${buyOne},lunch,7`]);
    const { stderr, exit } = await fx("batch orders.csv");
    assert.match(
      stderr,
      /^fx: These columns are not used. The results have them under "extra": note, ref\.\n/,
    );
    assert.equal(exit, 0);
  });

  test("A file that changes while it runs is carried out as it was read, and run again under its id does the rest", async (t) => {
    const { env, fx, write, path } = await desk(t);
    const line = `${adult()},PLN,PLN,1,`;
    write("orders.csv", [header, ...Array.from({ length: 50_000 }, () => line)]);
    const { child, output, ended } = spawnFx(["batch", path("orders.csv"), "--json"], { env });
    await until(() => output().stdout.includes("\n"));
    appendFileSync(path("orders.csv"), `${line}\n`);
    await ended;
    const summary = JSON.parse(output().stderr.trimEnd().split("\n").at(-1) ?? "");
    assert.deepEqual([summary.complete, summary.refused, child.exitCode], [true, 50_000, 3]);
    const again = await fx(`batch orders.csv --id ${summary.id} --json`);
    assert.equal(JSON.parse(again.stderr).refused, 50_001);
  });

  test("Standard input has the id that its lines have, so that it is not done twice", async (t) => {
    const { fx, write, balances } = await desk(t);
    write("orders.csv", [header, buyOne]);
    await fx("batch orders.csv");
    const { stderr, exit } = await fx("batch -", `${header}\n${buyOne}\n`);
    assert.match(stderr, /\ndone before\t1\n/);
    assert.deepEqual([exit, (await balances()).USD], [0, 1]);
  });
});

describe("fx backup", () => {
  test("fx backup copies the database, audited, to a new file", async (t) => {
    const { fx } = await desk(t);
    const { stdout, exit } = await fx("backup copy.db --db sqlite:fx.db --json");
    assert.equal(exit, 0);
    const { file, ok, accounts } = JSON.parse(stdout);
    assert.deepEqual([file, ok, accounts], ["copy.db", true, 1]);
    assert.equal((await fx(`account show ${adult()} --url sqlite:copy.db`)).exit, 0);
    assert.equal((await fx("backup copy.db --db sqlite:fx.db")).exit, 2, "and replaces nothing");
  });

  test("fx backup points to pg_dump for PostgreSQL, and to the database for a server", async (t) => {
    const { fx } = await desk(t);
    assert.match((await fx("backup copy.db --url postgres://fx@db/fx")).stderr, /pg_dump --format=custom/);
    assert.match((await fx("backup copy.db --url http://127.0.0.1:1")).stderr, /--db sqlite:PATH/);
  });
});
