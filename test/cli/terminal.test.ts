import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { adult, opening } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { tableOf } from "../support/rates.ts";
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

const balances = async () => (await runHere(["account", "show", jan], { env })).stdout;

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

  test("batch asks about a named pipe as about a file", async () => {
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

  test("exchange at a terminal with redirected streams needs --yes, and where no stream is a terminal it goes through as written", async () => {
    const env = await ledger("redirected");
    const [input, output, errors] = ["in.txt", "out.txt", "err.txt"].map((name) =>
      quoted(join(folder, name)),
    );
    const fx = `${fxInShell} exchange --from PLN --to USD --to-buy 0.01`;
    const dollars = async () =>
      /USD\t(\S+)/.exec((await runHere(["account", "show", jan], { env })).stdout)?.[1];
    const shown = async (...commands: string[]) => {
      const lines = commands.map(
        (command) => `${fx} ${command}; echo "exit $?"; cat ${errors}; true >${errors}`,
      );
      const script = `echo ${jan} >${input}; touch ${errors}; ${lines.join("; ")}`;
      const { text } = await runCommandAtTerminal(["sh", "-c", script], { env });
      return text.replaceAll(/\s+/g, " ");
    };
    const refused = await shown(`${jan} </dev/null`, `- <${input}`, `${jan} </dev/null 2>${errors}`);
    assert.equal(refused.match(/because stdin or stderr is redirected/g)?.length, 3, refused);
    assert.deepEqual(refused.match(/exit \d+/g), Array(3).fill("exit 2"));
    assert.match(await shown(`${jan} --dry-run </dev/null`), /exit 0/);
    assert.equal(await dollars(), undefined);
    const done = await shown(`- --yes <${input} 2>${errors}`, `- <${input} >${output} 2>${errors}`);
    assert.deepEqual(done.match(/exit \d+/g), Array(2).fill("exit 0"));
    assert.equal(await dollars(), "0.02");
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

  test("Ctrl-C instead of a PESEL is exit 130", async () => {
    const { text, exit } = await runAtTerminal(["account", "show", "-"], {
      env,
      replies: [["PESEL: ", "\u0003"]],
    });
    assert.match(text, /\nfx: Interrupted\.\n$/);
    assert.equal(exit, 130);
  });

  test("a chart fits a terminal that is low", async () => {
    const { text } = await runAtTerminal(["rates", "history", "USD"], { env, rows: 16 });
    assert.ok(text.split("\n").length <= 16, text);
  });

  for (const columns of [40, 80]) {
    test(`No line is wider than ${columns} columns`, async () => {
      for (const command of [
        ...["rates", "rates history HUF --days 3660", "doctor", "help environment", "account list"],
        ...[`account history ${jan}`, "position", "help exit-codes"],
      ]) {
        const here = { ...env, FX_URL: "sqlite:fx.db", NO_COLOR: "1" };
        const { stdout } = await runHere(command.split(" "), { env: here, columns, cwd: folder });
        for (const line of stdout.split("\n")) assert.ok([...line].length <= columns, `${command}: ${line}`);
      }
    });
  }

  test("audit leaves its result and no progress bar", async () => {
    const { text, exit } = await runAtTerminal(["audit"], { env });
    assert.match(text, /accounts +1\nentries +\d\nfindings +0\ndigest +[0-9a-f]{64}\n$/);
    assert.equal(exit, 0);
  });
});
