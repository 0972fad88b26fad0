import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { adult, opening } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { tableOf } from "../support/rates.ts";
import { runFx } from "../support/run-fx.ts";
import { openHere, runHere } from "../support/run-here.ts";
import { startServer } from "../support/server.ts";
import { fxInShell, quoted } from "../support/shell.ts";
import { openStandIn } from "../support/stand-in.ts";
import { runAtTerminal, runCommandAtTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";

const folder = newFolder();
/** A ledger in which Jan has 10,000 PLN. */
async function ledger(name: string): Promise<{ FX_URL: string; FX_RATES: string }> {
  const env = { FX_URL: `sqlite:${join(folder, `${name}.db`)}`, FX_RATES: "demo" };
  await openHere(env.FX_URL, { pln: "10000" });
  return env;
}

/** The ledger of the tests that move nothing. */
let env: Awaited<ReturnType<typeof ledger>>;
const jan = adult(0);
const order = ["exchange", jan, "--from", "PLN", "--to", "USD", "--to-buy", "100"];
const question = "Exchange? [y/N]";

const balances = async (): Promise<string> => (await runFx(["account", "show", jan], { env })).stdout;

/** A server in this process where Jan has 10,000 PLN, and whose rates can be replaced. */
async function served(t: TestContext) {
  const { service, rates, url, close } = await startServer();
  t.after(close);
  await service.createAccount(opening({ pln: "10000" }));
  return { service, rates, FX_URL: url };
}

const dearer = tableOf("109/C/NBP/2026", "2026-06-09", { USD: [3.63, 3.71] });

describe("at a terminal", () => {
  before(async () => {
    env = await ledger("fx");
  });

  test("exchange shows the quote and the balances, and does nothing on the answer no", async () => {
    const { text, exit } = await runAtTerminal(order, { env, replies: [[question, "n\n"]] });
    assert.match(
      text,
      /sold +429\.63 PLN\nbought +100\.00 USD\nask +4\.2963 PLN for 1 USD\ntable +069\/C\/NBP\/2022 of 2022-04-08/,
    );
    assert.match(text, /Before +After\nPLN +10\u202f000\.00 +9\u202f570\.37\nUSD +0\.00 +100\.00\n/);
    assert.match(text, /fx: Nothing was done\.\n$/);
    assert.equal(exit, 9);
    assert.match(await balances(), /\nPLN\t10000\.00\n$/);
  });

  test("every question shows the holder, what leaves, what comes and the balances after it, and hides the PESEL", async () => {
    const env = await ledger("asked");
    const deposited = await runHere(
      ["account", "deposit", jan, "--amount", "7", "--currency", "EUR", "--yes", "--json"],
      { env },
    );
    const { receipt } = JSON.parse(deposited.stdout);
    const eva = adult(2);
    const empty = ["account", "create", eva, "--name", "Ewa", "--surname", "Pusta", "--pln", "0"];
    assert.equal((await runHere(empty, { env })).exit, 0);
    const cash = (name: string) => ["account", name, jan, "--amount", "50", "--currency", "PLN"];
    const cases = [
      [
        order,
        question,
        /sold +429\.63 PLN\nbought +100\.00 USD/,
        /PLN +10\u202f000\.00 +9\u202f570\.37\nUSD +0\.00 +100\.00/,
      ],
      [cash("deposit"), "Deposit? [y/N]", /in +50\.00 PLN/, /PLN +10\u202f000\.00 +10\u202f050\.00/],
      [cash("withdraw"), "Withdraw? [y/N]", /out +50\.00 PLN/, /PLN +10\u202f000\.00 +9\u202f950\.00/],
      [
        ["receipt", "reverse", receipt, "--reason", "wrong"],
        "Reverse it? [y/N]",
        /out +7\.00 EUR/,
        /EUR +7\.00 +0\.00/,
      ],
      [
        ["account", "rename", jan, "--name", "Jan", "--surname", "Nowy"],
        "Change the name? [y/N]",
        /new name +Jan Nowy/,
        /holder/,
      ],
      [["account", "close", eva], "Close the account? [y/N]", /account +closed/, /PLN +0\.00/],
      [
        ["account", "block", jan, "--reason", "freeze"],
        "Block the account? [y/N]",
        /reason +freeze/,
        /account +blocked/,
      ],
    ] as const;
    for (const [args, asked, moves, after] of cases) {
      const { text, exit } = await runAtTerminal(args, { env, replies: [[asked, "n\n"]] });
      const isEva = args.includes(eva);
      const shown = text.slice(0, text.indexOf(asked));
      assert.match(shown, isEva ? /holder +Ewa Pusta\n/ : /holder +Jan Kowalski\n/, asked);
      assert.ok(shown.includes(`${(isEva ? eva : jan).slice(0, 6)}*****`), asked);
      assert.ok(!shown.includes(isEva ? eva : jan), asked);
      assert.match(shown, moves);
      assert.match(shown, after);
      assert.equal(exit, 9, text);
    }
  });

  test("batch shows how many lines and accounts it would be done for, and what leaves and what comes, before it asks", async () => {
    const env = await ledger("batch-asked");
    const file = join(folder, "asked.csv");
    writeFileSync(
      file,
      `kind,pesel,amount,currency\nwithdrawal,${jan},50,PLN\ndeposit,${jan},7,EUR\nwithdrawal,${jan},90000,PLN\n`,
    );
    const asked = "Carry it out? [y/N]";
    const { text, exit } = await runAtTerminal(["batch", file], { env, replies: [[asked, "n\n"]] });
    const shown = text.slice(0, text.indexOf(asked));
    assert.match(shown, /would be done +2\nwould be refused +1\naccounts +1\n/);
    assert.match(shown, /Out +In\n(PLN +50\.00\s*\nEUR +7\.00|EUR +7\.00\s*\nPLN +50\.00)/);
    assert.equal(exit, 9);
    const { stdout } = await runHere(["account", "show", jan], { env });
    assert.match(stdout, /\nPLN\t10000\.00\n$/);
  });

  test("batch asks about a named pipe as about a file, and standard input takes --yes", async () => {
    const env = await ledger("batch-piped");
    const [file, pipe] = [join(folder, "piped.csv"), join(folder, "pipe")];
    writeFileSync(file, `kind,pesel,amount,currency\nwithdrawal,${jan},50,PLN\n`);
    const made = `rm -f ${quoted(pipe)}; mkfifo ${quoted(pipe)}; cat ${quoted(file)} > ${quoted(pipe)} &`;
    const fx = `exec ${fxInShell} batch ${quoted(pipe)}`;
    const asked = "Carry it out? [y/N] ";
    const { exit } = await runCommandAtTerminal(["sh", "-c", `${made} ${fx}`], {
      env,
      replies: [[asked, "y\n"]],
    });
    assert.equal(exit, 0);
    assert.match((await runHere(["account", "show", jan], { env })).stdout, /\nPLN\t9950\.00\n$/);
    const typed = await runAtTerminal(["batch", "-"], { env });
    assert.match(typed.text, /fx: Standard input has the lines.* or give\s+--yes\./s);
    assert.equal(typed.exit, 2);
  });

  test("the end of input at the question is a no", async () => {
    const { exit } = await runAtTerminal(order, { env, replies: [[question, "\u0004"]] });
    assert.equal(exit, 9);
  });

  test("Ctrl-C at the question is exit 130, and says that nothing was done", async () => {
    const { text, exit } = await runAtTerminal(order, { env, replies: [[question, "\u0003"]] });
    assert.match(text, /\nfx: Interrupted before anything was sent: nothing was done\./);
    assert.equal(exit, 130);
    assert.match(await balances(), /\nPLN\t10000\.00\n$/);
  });

  test("Ctrl-C while an order is under way is told in place of the ^C that the terminal shows", async () => {
    const server = await openStandIn("hang");
    const fx = `exec ${fxInShell} ${[...order, "--yes", "--url", server.url].join(" ")}`;
    const sent = join(folder, "sent");
    const pressed = `sh -c ${quoted(fx)} & until [ -e ${quoted(sent)} ]; do sleep 0.05; done; printf ^C; kill -INT $!; wait $!`;
    const shown = runCommandAtTerminal(["sh", "-c", pressed], { env });
    await until(() => server.requests.length > 0);
    writeFileSync(sent, "");
    const { text, exit } = await shown;
    assert.match(text, /^fx: Interrupted after /);
    assert.equal(exit, 130);
  });

  test("exchange goes through on the answer yes", async () => {
    const env = await ledger("yes");
    const { text, exit } = await runAtTerminal(order, { env, replies: [[question, "y\n"]] });
    assert.match(text, /receipt +[0-9a-f-]{36}\nPLN +9\u202f570\.37\nUSD +100\.00\n$/);
    assert.equal(exit, 0);
  });

  describe("exchange with redirected streams", () => {
    const files = ["in.txt", "out.txt", "err.txt"].map((name) => join(folder, name));
    const [input, output, errors] = files.map(quoted);
    const anna = adult(1);
    const other = { FX_RATES: "demo", FX_URL: `sqlite:${join(folder, "other.db")}` };
    const balances = async () => (await runFx(["account", "show", anna], { env: other })).stdout;
    const cents = ["--from", "PLN", "--to", "USD", "--to-buy", "0.01"];
    before(async () => {
      const create = ["account", "create", anna, "--name", "Anna", "--surname", "Nowak", "--pln", "10"];
      assert.equal((await runFx(create, { env: other })).exit, 0);
    });
    /** Runs `fx exchange` with these arguments; returns the terminal's text, the exit and the file of errors. */
    const exchange = async (args: string) => {
      writeFileSync(files[0] as string, `${anna}\n`);
      const fx = `${fxInShell} exchange ${cents.join(" ")} ${args}`;
      const script = `touch ${errors}; ${fx}; echo "exit $?"; cat ${errors}; rm -f ${output} ${errors}`;
      const before = await balances();
      const { text } = await runCommandAtTerminal(["sh", "-c", script], { env: other });
      return { text: text.replaceAll(/\s+/g, " "), moved: (await balances()) !== before };
    };

    for (const [name, args] of [
      ["standard input is none", `${anna} </dev/null`],
      ["standard input has the PESEL", `- <${input}`],
      ["only standard output is one", `${anna} </dev/null 2>${errors}`],
    ] as const) {
      test(`fx exchange at a terminal is exit 2 where ${name}, and nothing moves`, async () => {
        const { text, moved } = await exchange(args);
        assert.match(
          text,
          /fx: The question cannot be asked, because of --quiet, or because stdin or stderr is redirected\. Give --yes /,
        );
        assert.match(text, /\bexit 2\b/);
        assert.equal(moved, false);
      });
    }

    test("fx exchange at a terminal goes through with --yes", async () => {
      const { text, moved } = await exchange(`- --yes <${input} 2>${errors}`);
      assert.match(text, /\bexit 0\b/);
      assert.equal(moved, true);
    });

    test("fx exchange at a terminal shows its quote with --dry-run", async () => {
      const { text, moved } = await exchange(`${anna} --dry-run </dev/null`);
      assert.match(text, /\bexit 0\b/);
      assert.equal(moved, false);
    });

    test("fx exchange goes through as written where no stream is a terminal", async () => {
      const { text, moved } = await exchange(`- <${input} >${output} 2>${errors}`);
      assert.match(text, /\bexit 0\b/);
      assert.equal(moved, true);
    });
  });

  test("rates that change at the question are shown and asked about again", async (t) => {
    const { rates, FX_URL } = await served(t);
    const { text, exit } = await runAtTerminal(order, {
      env: { FX_URL },
      replies: [
        [
          question,
          () => {
            void rates.use(dearer);
            return "y\n";
          },
        ],
        [question, "y\n"],
      ],
    });
    assert.match(
      text,
      /table +108\/C[\s\S]*The rates have changed, and nothing was exchanged\.[\s\S]*table +109\/C/,
    );
    assert.equal(text.split(question).length, 3);
    assert.equal(exit, 0);
  });

  test("a batch settles at no other rates than those of the sums that the question showed", async (t) => {
    const lines = {
      "orders.csv": `pesel,from,to,toBuy,toSell\n${jan},PLN,USD,100,\n${jan},PLN,USD,,50\n`,
      "mixed.ndjson": `{"pesel":"${jan}","from":"PLN","to":"USD","toBuy":100}\n{"kind":"deposit","pesel":"${jan}","amount":1,"currency":"PLN"}\n`,
    };
    const asked = "Carry it out? [y/N]";
    for (const [name, text] of Object.entries(lines)) {
      const { service, rates, FX_URL } = await served(t);
      const file = join(folder, name);
      writeFileSync(file, text);
      const dollars = async () => {
        const { items } = await service.accounts({ limit: 10 });
        return items[0]?.balances.find(({ currency }) => currency === "USD")?.minor ?? 0n;
      };
      const changed = await runAtTerminal(["batch", file], {
        env: { FX_URL },
        replies: [
          [
            asked,
            () => {
              void rates.use(dearer);
              return "y\n";
            },
          ],
        ],
      });
      assert.match(
        changed.text.replace(/\s+/g, " "),
        /The rates have changed since the preview\. To do the rest, run it again with --id /,
      );
      assert.deepEqual([changed.exit, await dollars()], [3, 0n]);
      const again = await runAtTerminal(["batch", file], { env: { FX_URL }, replies: [[asked, "y\n"]] });
      assert.deepEqual([again.exit, (await dollars()) >= 10_000n], [0, true], again.text);
    }
  });

  test("an order that the balance does not cover is refused before the question", async () => {
    const { text, exit } = await runAtTerminal([...order.slice(0, -1), "9000"], { env });
    assert.ok(!text.includes(question));
    assert.match(text, /fx: The order takes 38666\.70 PLN, which is more than the account holds\./);
    assert.equal(exit, 3);
  });

  test("a PESEL can be typed", async () => {
    const { text } = await runAtTerminal(["account", "show", "-"], {
      env,
      replies: [["PESEL: ", `${jan}\n`]],
    });
    assert.match(text, /holder +Jan Kowalski\n/);
  });

  test("Ctrl-C instead of a PESEL is exit 130", async () => {
    const { text, exit } = await runAtTerminal(["account", "show", "-"], {
      env,
      replies: [["PESEL: ", "\u0003"]],
    });
    assert.match(text, /\nfx: Interrupted\.\n$/);
    assert.equal(exit, 130);
  });

  test("--table of another table is refused and not asked about again", async () => {
    const { text, exit } = await runAtTerminal([...order, "--table", "001/C/NBP/2022"], {
      env,
      replies: [[question, "y\n"]],
    });
    assert.match(text, /fx: Table 069\/C\/NBP\/2022 is in force now\./);
    assert.equal(exit, 3);
  });

  test("rates are a board, in colour", async () => {
    const { screen, text } = await runAtTerminal(["rates"], { env });
    assert.match(text, /^Table 069\/C\/NBP\/2022 of 2022-04-08, source: demo \(recorded\)\n/);
    assert.match(text, /\nUSD +4\.2113 +4\.2963 +-0\.05 % +[▁-█]{20} +dolar amerykański\n/);
    assert.ok(screen.includes("\u001b[31m-0.05 %"));
  });

  test("rates history is a chart between its dates, with the extremes under it", async () => {
    const { text } = await runAtTerminal(["rates", "history", "USD"], { env });
    assert.match(text, /^PLN for 1 USD, in 65 tables: ask above, bid below\n4\.6130 ┤ .*╭─*╮/);
    assert.match(text, /\n3\.8959 ┤.*\n +└─+\n +2022-01-10 +2022-04-08\n/);
    assert.match(text, /\nask +4\.2963 +\+5\.99 % +3\.9747 +2022-02-10 +4\.6130 +2022-03-08\n/);
  });

  test("a chart of a narrow terminal reaches the extremes, although a column has several tables", async () => {
    const { text } = await runAtTerminal(["rates", "history", "JPY", "--days", "93"], { env, columns: 40 });
    assert.match(text, /\n0\.039997 ┤ .*╭.*\n/);
    assert.match(text, /\n0\.033585 ┤ .*─.*\n +└─+\n/);
    assert.match(text, /\nask +0\.034661 +0\.034263 +0\.039997\nbid +0\.033975 +0\.033585 +0\.039205\n/);
  });

  test("rates history of one table is that table", async () => {
    const { text } = await runAtTerminal(["rates", "history", "USD", "--days", "1"], { env });
    assert.match(text, /^Effective +Bid +Ask +Table\n2022-04-08 +4\.2113 +4\.2963 +069\/C\/NBP\/2022\n$/);
  });

  test("a chart fits a terminal that is low", async () => {
    const { text } = await runAtTerminal(["rates", "history", "USD"], { env, rows: 16 });
    assert.ok(text.split("\n").length <= 16, text);
  });

  test("--no-color prints without colour", async () => {
    const { screen } = await runAtTerminal(["rates", "--no-color"], { env });
    assert.ok(!screen.includes("\u001b["));
  });

  for (const columns of [40, 80]) {
    test(`no line is wider than ${columns} columns`, async () => {
      for (const args of [
        ["rates"],
        ["rates", "history", "HUF", "--days", "3660"],
        ["doctor"],
        ["help", "environment"],
        ["account", "list"],
        ["account", "history", jan],
        ["position"],
        ["help", "exit-codes"],
      ]) {
        const here = { ...env, FX_URL: "sqlite:fx.db" };
        const { text } = await runAtTerminal(args, { env: here, columns, cwd: folder });
        for (const line of text.split("\n"))
          assert.ok([...line].length <= columns, `${args.join(" ")}: ${line}`);
      }
    });
  }

  test("audit leaves its result and no progress bar", async () => {
    const { text, exit } = await runAtTerminal(["audit"], { env });
    assert.match(text, /accounts +1\nentries +\d\nfindings +0\ndigest +[0-9a-f]{64}\n$/);
    assert.equal(exit, 0);
  });
});
