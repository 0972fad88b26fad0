import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { adult } from "../../../support/fixture.ts";
import { type Ran, runFx, spawnFx, startFx, until } from "../../../support/run-fx.ts";
import { runHere } from "../../../support/run-here.ts";
import { startServer } from "../../../support/server.ts";
import { runAtTerminal } from "../../../support/terminal.ts";

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

  test("puts money in and takes it out by a CSV file of both, with notes and keys", async (t) => {
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
    const [, deposit] = JSON.parse((await fx(`account history ${adult()} --json`)).stdout);
    assert.deepEqual([deposit.kind, deposit.note, deposit.key], ["deposit", "counter 2, evening", "k1"]);
    const again = await fx("batch cash.csv");
    assert.match(again.stderr, /^2 lines were done before/);
    assert.deepEqual(await balances(), { PLN: 0, USD: 2.5 });
  });

  test("takes openings, deposits and orders in one file, at the table that a line names or not at all", async (t) => {
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
    assert.match(ran.stderr, /line 3, 700110\*{5}: The order takes more PLN than/);
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
    // More than are under way at once.
    const lines = 15_000;
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
    const { text, exit } = await runAtTerminal(["batch", path("orders.csv"), "--yes"], { env });
    assert.match(
      text,
      /^line 2, 700110\*{5}: sold 4\.30 PLN, bought 1\.00 USD; Jan Kowalski, 995\.70 PLN,\n1\.00 USD\nline 3, 700110\*{5}: The order takes more USD than/,
    );
    assert.match(text, /\nbatch +[0-9a-f]{24}\ndone +1\nrefused +1\ntook +\d+:\d\d\nRun it again with --id /);
    assert.ok(!text.includes(adult()));
    assert.equal(exit, 3);
    const { text: json } = await runAtTerminal(["batch", path("orders.csv"), "--json", "--yes"], { env });
    assert.match(
      json,
      /^\{"doneBefore":\{"lines":1,.*\n\{"line":2,"ok":true,.*"replayed":true\}\n\{"line":3,"ok":false,/,
    );
  });

  test("stopped by Ctrl-C at its progress bar answers what is under way, and run again does the rest", async (t) => {
    const { env, fx, write, path } = await desk(t);
    const lines = 10_000;
    write("orders.csv", [header, ...Array.from({ length: lines }, () => `${adult()},PLN,USD,0.01,`)]);
    const batch = ["batch", path("orders.csv"), "--yes", "--concurrency", "2"];
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

  test("of a file that is not there is a usage error", async (t) => {
    const { fx } = await desk(t);
    assert.equal((await fx("batch none.csv")).exit, 2);
  });
});

describe("fx batch --dry-run", () => {
  test("says what the run would do line by line, exits as it would, and moves and keeps nothing", async (t) => {
    const { fx, write, balances } = await desk(t);
    const own = (key: string, body: object) => JSON.stringify({ key, ...body });
    const buy = { pesel: adult(), from: "PLN", to: "USD", toBuy: 100 };
    const spend = { pesel: adult(1), from: "PLN", to: "USD", toBuy: 1 };
    const open = { name: "Anna", surname: "Nowak", pesel: adult(1), pln: 5 };
    const deposit = { kind: "deposit", pesel: adult(1), amount: 3, currency: "EUR" };
    const cash = { ...deposit, pesel: adult() };
    const done = [buy, { key: "cash", ...cash }, { ...cash, note: "a" }];
    await fx("batch - --id b", `${done.map((line) => JSON.stringify(line)).join("\n")}\n`);
    write("orders.ndjson", [
      JSON.stringify(buy),
      own("k", buy),
      own("k", buy),
      own("k", { ...buy, toBuy: 1 }),
      JSON.stringify(spend),
      JSON.stringify(open),
      JSON.stringify(spend),
      JSON.stringify(spend),
      JSON.stringify({ ...buy, toBuy: 200 }),
      JSON.stringify(open),
      "nonsense",
      JSON.stringify({ ...cash, note: "a" }),
      JSON.stringify(cash),
      own("cash", cash),
      own("cash", { ...cash, amount: 4 }),
      JSON.stringify(deposit),
      own("w", { ...deposit, kind: "withdrawal", amount: 4 }),
      JSON.stringify({ ...deposit, amount: 1 }),
      own("w", { ...deposit, kind: "withdrawal", amount: 4 }),
      own("v", { ...deposit, kind: "withdrawal", amount: 4 }),
      JSON.stringify({ ...deposit, currency: "ISK" }),
      JSON.stringify({ ...deposit, pesel: adult(2) }),
    ]);
    const told = (ran: Ran) =>
      results(ran).map(({ line, ok, code, replayed, currencies }) => [line, ok, code, replayed, currencies]);
    const before = await balances();
    const dry = await fx("batch orders.ndjson --id b --dry-run");
    assert.deepEqual(await balances(), before);
    const run = await fx("batch orders.ndjson --id b");
    assert.deepEqual(told(dry), told(run));
    assert.deepEqual([dry.exit, run.exit], [3, 3]);
    assert.match(dry.stderr, /\ndry run\tnothing was done\nwould be done\t/);
    assert.match(dry.stdout, /"dryRun":true/);
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
      const told = /^\d+ of \d+ lines that were looked at ask for what another batch has done/m;
      const dry = await fx("batch orders.csv --dry-run");
      assert.match(dry.stderr, told);
      assert.deepEqual(await balances(), before);
      const { stderr } = await fx("batch orders.csv --json");
      const document = JSON.parse(stderr.split("\n")[0] ?? "");
      assert.equal(document.likeEarlierBatch.among, lines.length);
    });
  }

  test("says nothing of a file with other orders, of the same file, or of lines with keys of their own", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [header, ...rows]);
    await fx("batch orders.csv");
    write("others.csv", [header, ...rows.slice(0, 4), ...rows.map((row) => row.replace("USD", "EUR"))]);
    write("keyed.csv", [`${header},key`, ...rows.map((row, index) => `${row},k${index}`)]);
    for (const file of ["orders.csv", "others.csv", "keyed.csv"]) {
      assert.doesNotMatch((await fx(`batch ${file}`)).stderr, /another batch/);
    }
  });
});

describe("fx batch --dry-run, and then the run", () => {
  const pick = fc.record({
    kind: fc.constantFrom("order", "open", "deposit", "withdrawal"),
    account: fc.integer({ min: 0, max: 2 }),
    amount: fc.constantFrom(0, 1, 400, 1200),
    key: fc.constantFrom("", "", "k", "l"),
  });
  type Pick = typeof pick extends fc.Arbitrary<infer T> ? T : never;
  const lineOf = ({ kind, account, amount, key }: Pick) => {
    const pesel = adult(account);
    const own = key === "" ? {} : { key };
    if (kind === "order") return JSON.stringify({ ...own, pesel, from: "PLN", to: "USD", toSell: amount });
    if (kind === "open") return JSON.stringify({ ...own, pesel, name: "Ewa", surname: "Lis", pln: amount });
    return JSON.stringify({ ...own, kind, pesel, currency: "PLN", amount });
  };

  for (const place of ["a store", "a server"] as const) {
    test(`agree line by line and in their exit at ${place}, also with keys that were used before`, async () => {
      const file = fc.array(pick, { minLength: 1, maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(file, file, fc.boolean(), async (first, second, isSame) => {
          const folder = mkdtempSync(join(tmpdir(), "fx-dry-"));
          const server = place === "a server" ? await startServer() : undefined;
          const env = { FX_URL: server?.url ?? `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" };
          const fx = (args: string) => runHere(args.split(" "), { env, cwd: folder });
          await fx(`account create ${adult()} --name Jan --surname Nowak --pln 1000`);
          writeFileSync(join(folder, "first"), `${first.map(lineOf).join("\n")}\n`);
          writeFileSync(join(folder, "second"), `${second.map(lineOf).join("\n")}\n`);
          await fx("batch first --id b");
          // What was refused for want of money could be done now.
          await fx(`account deposit ${adult()} --amount 3000 --currency PLN`);
          const id = isSame ? "b" : "c";
          const [dry, run] = [
            await fx(`batch second --id ${id} --dry-run`),
            await fx(`batch second --id ${id}`),
          ];
          const told = (ran: Ran) =>
            results(ran).map((result) => ({ ...result, dryRun: undefined, receipt: undefined }));
          assert.deepEqual([told(dry), dry.exit], [told(run), run.exit]);
          await server?.close();
          rmSync(folder, { recursive: true });
        }),
        { numRuns: 12 },
      );
    });
  }

  test("of a single command agree, with a key that was done, refused or used for another request", async (t) => {
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
      [exchange(1, "done"), 3],
      [exchange(9000, "new"), 3],
      [exchange(1, "exchanged"), 0],
      [reverse("reversed"), 0],
      [reverse("reversed", "b"), 3],
      [reverse("again"), 3],
      [`account close ${adult()} --key close --json`, 3],
      [`account close ${adult()} --key done --json`, 3],
      [`account rename ${adult()} --name A --surname B --key done --json`, 3],
      [`account withdraw ${adult(5)} --amount 1 --currency PLN --key x --json`, 4],
    ] as const) {
      const dry = await fx(`${command} --dry-run`);
      const run = await fx(command);
      assert.deepEqual([dry.exit, run.exit], [exit, exit], `${command}: ${dry.stderr} ${run.stderr}`);
      if (exit === 0) assert.equal(dry.stdout, run.stdout);
      else assert.equal(JSON.parse(dry.stderr).code, JSON.parse(run.stderr).code);
    }
  });

  test("of 400 accounts are possible at a server with a limit of 100 requests a second", async (t) => {
    const { fx, write, path } = await desk(t);
    const server = await startServer({}, "", { rateLimit: 100 });
    t.after(() => server.close());
    const accounts = Array.from({ length: 400 }, (_, index) => `Jan,Nowak,${adult(index)},10`);
    write("accounts.csv", ["name,surname,pesel,pln", ...accounts]);
    const orders = accounts.map((_, index) => `${adult(index)},PLN,USD,1,`);
    write("orders.csv", [header, ...orders, ...orders]);
    const at = ` --url ${server.url}`;
    for (const file of ["accounts.csv", "orders.csv"]) {
      const dry = await fx(`batch ${path(file)} --dry-run${at}`);
      assert.equal(dry.exit, 0, dry.stderr.slice(0, 500));
      assert.equal((await fx(`batch ${path(file)}${at}`)).exit, 0);
    }
    assert.equal(results(await fx(`batch ${path("orders.csv")} --dry-run${at}`)).length, 800);
  });
});

describe("fx batch --dry-run of a long file", () => {
  test("knows the accounts that lines long before would open, and leaves no refusal under the others' keys", async (t) => {
    const { fx, write } = await desk(t);
    const many = Array.from({ length: 700 }, (_, index) => adult(index + 1));
    write("mixed.ndjson", [
      ...many.map((pesel) => JSON.stringify({ name: "Jan", surname: "Lis", pesel, pln: 10 })),
      ...many.map((pesel) => JSON.stringify({ kind: "deposit", pesel, amount: 1, currency: "USD" })),
      ...many.map((pesel) => JSON.stringify({ pesel, from: "PLN", to: "USD", toBuy: 1 })),
    ]);
    for (const options of ["--dry-run", "--dry-run", ""]) {
      const ran = await fx(`batch mixed.ndjson --id b ${options}`.trimEnd());
      assert.equal(ran.exit, 0, ran.stderr.slice(0, 500));
      assert.ok(results(ran).every(({ ok, replayed }) => ok && !replayed));
      assert.deepEqual(
        results(ran)
          .at(-1)
          ?.currencies?.map(({ amount }) => amount),
        [5.7, 2],
      );
    }
  });
});

describe("fx batch with refused lines", () => {
  const bad = `${adult()},PLN,USD,,99999`;

  test("says how to write them to a file, and that the whole file under a new id would do the rest twice", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [header, buyOne, bad]);
    const { stderr } = await fx("batch orders.csv --id b");
    assert.match(
      stderr,
      /\nRun it again with --id b --rejects FILE to write the refused lines to FILE: correct that file/,
    );
    assert.match(
      stderr,
      /\nOr correct the batch itself and run it with --id b: without that id, the other lines would be done twice\.\n$/,
    );
    const { hint, rejects } = JSON.parse(
      (await fx("batch orders.csv --id b --json")).stderr.split("\n")[1] ?? "",
    );
    assert.deepEqual(
      [
        /--rejects FILE.* with --id b: without that id, the other lines would be done twice\.$/.test(hint),
        rejects,
      ],
      [true, null],
    );
  });

  test("with keys of their own needs no id, and is not told of one", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [`${header},key`, `${buyOne},k1`, `${bad},k2`]);
    const { stderr } = await fx("batch orders.csv");
    assert.match(
      stderr,
      /--rejects FILE to write the refused lines to FILE: correct that file and run it\.\n$/,
    );
  });

  test("writes them with --rejects to a file that is corrected and run, and run twice", async (t) => {
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
    assert.match(again.stderr, /^1 line was done before, at .* To do a line again, give it a new key\.\n/);
    assert.deepEqual(await balances(), { PLN: 945.7, USD: 12.63 });
  });

  for (const separator of [",", ";"]) {
    test(`writes no cell that a spreadsheet would run, and reads all of them back, between "${separator}"`, async (t) => {
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

  test("gives no new key to a line whose key was used before", async (t) => {
    const { fx, write, path } = await desk(t);
    write("orders.csv", [`${header},key`, `${buyOne},k1`, `${adult()},PLN,USD,2,,k1`, `${bad},k3`]);
    const ran = await fx("batch orders.csv --rejects rejects.csv");
    assert.match(ran.stderr, /\nrefused\t2\nrejects\trejects\.csv\n/);
    assert.match(
      ran.stderr,
      /\nfx receipt --pesel PESEL --key KEY shows what was done .* not among the rejects\.\n/,
    );
    assert.deepEqual(readFileSync(path("rejects.csv"), "utf8").match(/again:/g), ["again:"]);
    write("reused.csv", [`${header},key`, `${adult()},PLN,USD,2,,k1`]);
    const { exit, stderr } = await fx("batch reused.csv --rejects none.csv");
    assert.equal(exit, 3);
    assert.doesNotMatch(stderr, /none\.csv|--rejects/);
    assert.ok(!existsSync(path("none.csv")));
  });

  test("replaces no file with --rejects, and writes none where nothing is refused", async (t) => {
    const { fx, write, path, balances } = await desk(t);
    write("orders.csv", [header, buyOne]);
    const refused = await fx("batch orders.csv --rejects orders.csv");
    assert.match(refused.stderr, /orders\.csv exists/);
    assert.equal((await fx("batch orders.csv --rejects no/rejects.csv")).exit, 2);
    assert.deepEqual([refused.exit, await balances()], [2, { PLN: 1000 }]);
    assert.equal((await fx("batch orders.csv --rejects rejects.csv")).exit, 0);
    assert.deepEqual(
      readdirSync(path("")).filter((name) => name.startsWith("rejects")),
      [],
    );
  });

  test("gives each line's number, key and PESEL in the results, done or refused", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [header, buyOne, bad, "nonsense"]);
    const given = results(await fx("batch orders.csv --id b"));
    assert.deepEqual(
      given.map(({ line, pesel, key }) => [line, pesel, key.replace(/^b[\w-]{19}$/, "b")]),
      [
        [2, adult(), "b"],
        [3, adult(), "b"],
        [4, null, "b"],
      ],
    );
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

  test("says so first: how many, when, and that --id NEW does them again", async (t) => {
    const { fx, balances } = await copied(t);
    const { stderr, exit } = await fx("batch copy.csv");
    const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
    const told = `^2 lines were done before, the first at ${time}, and are not done again\\. To do the whole batch again, run it with --id NEW `;
    assert.match(stderr, new RegExp(told));
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

  test("says so with --json in documents", async (t) => {
    const { fx } = await copied(t);
    const [first, summary] = (await fx("batch copy.csv --json")).stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(Object.keys(first.doneBefore), ["lines", "first", "hint"]);
    assert.deepEqual([first.doneBefore.lines, summary.doneBefore], [2, first.doneBefore]);
  });

  test("says so of standard input when it comes to the first of them", async (t) => {
    const { fx } = await copied(t);
    const input = `${header}\n${buyOne}\n`;
    await fx("batch - --id b", input);
    assert.match(
      (await fx("batch - --id b", input)).stderr,
      /^Line 2 was done before, at .*, and is not done again\. To .* --id NEW/,
    );
  });

  test("tells so at a terminal before it asks, and a no moves nothing", async (t) => {
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
      /^batch +b\nfile +more\.csv\nlines +3\nof +orders\nplace +sqlite:fx\.db\n2 lines were done before/,
    );
    assert.deepEqual([no.exit, (await balances()).USD], [9, 4]);
    const yes = await runAtTerminal(["batch", "more.csv", "--id", "b"], {
      ...here,
      replies: [["Carry it out? [y/N] ", "y\n"]],
    });
    assert.deepEqual([yes.exit, (await balances()).USD], [0, 5]);
    const unasked = await runAtTerminal(["batch", path("more.csv"), "--id", "b", "--yes"], { env });
    assert.match(unasked.text, /^3 lines were done before/);
    assert.ok(!unasked.text.includes("Carry it out?"));
  });
});

describe("fx batch of a file", () => {
  test("without lines says so, and is exit 0", async (t) => {
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

  test("with columns that it does not read names them", async (t) => {
    const { fx, write } = await desk(t);
    write("orders.csv", [`${header},note,ref`, `${buyOne},lunch,7`]);
    const { stderr, exit } = await fx("batch orders.csv");
    assert.match(stderr, /^fx: These columns are not read, and come back as extra: note, ref\.\n/);
    assert.equal(exit, 0);
  });

  test("that changes while it runs is not complete, and goes on under its id", async (t) => {
    const { env, fx, write, path } = await desk(t);
    const line = `${adult()},PLN,PLN,1,`;
    write("orders.csv", [header, ...Array.from({ length: 100_000 }, () => line)]);
    const { child, output, ended } = spawnFx(["batch", path("orders.csv"), "--json"], { env });
    await until(() => output().stdout.includes("\n"));
    appendFileSync(path("orders.csv"), `${line}\n`);
    await ended;
    const summary = JSON.parse(output().stderr.trimEnd().split("\n").at(-1) ?? "");
    assert.deepEqual([summary.complete, summary.failed, child.exitCode], [false, 1, 2]);
    assert.match(summary.hint, new RegExp(`^Run it again with --id ${summary.id} to do the rest`));
    assert.match(output().stdout, /"code":"usage","message":"[^"]*was written to while it was read/);
    const again = await fx(`batch orders.csv --id ${summary.id} --json`);
    assert.equal(JSON.parse(again.stderr).refused, 100_001);
  });
});

describe("fx backup", () => {
  test("copies the database, audited, to a new file", async (t) => {
    const { fx } = await desk(t);
    const { stdout, exit } = await fx("backup copy.db --db sqlite:fx.db --json");
    assert.equal(exit, 0);
    const { file, ok, accounts } = JSON.parse(stdout);
    assert.deepEqual([file, ok, accounts], ["copy.db", true, 1]);
    assert.equal((await fx(`account show ${adult()} --url sqlite:copy.db`)).exit, 0);
    assert.equal((await fx("backup copy.db --db sqlite:fx.db")).exit, 2, "and replaces nothing");
  });

  test("points to pg_dump for PostgreSQL, and to the database for a server", async (t) => {
    const { fx } = await desk(t);
    assert.match((await fx("backup copy.db --url postgres://fx@db/fx")).stderr, /pg_dump --format=custom/);
    assert.match((await fx("backup copy.db --url http://127.0.0.1:1")).stderr, /--db sqlite:PATH/);
  });
});
