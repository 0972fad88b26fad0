import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Served, startFx } from "../../support/run-fx.ts";
import { runHere } from "../../support/run-here.ts";
import { fxInShell } from "../../support/shell.ts";
import { type Reply, runAtTerminal, runCommandAtTerminal } from "../../support/terminal.ts";

const anna = "80010112340";
const ctrlC = "\u0003";

describe("fx watch", () => {
  let server: Served;
  before(async () => {
    server = await startFx(["--demo"]);
  });
  after(() => server.stop());
  const watch = (replies: readonly Reply[], args: readonly string[] = [], options = {}) =>
    runAtTerminal(["watch", "--url", server.url, ...args], { replies, ...options });

  test("fx watch shows the account and the board", async () => {
    const { text } = await watch([["Ctrl-C ends", ctrlC]], [anna]);
    assert.match(text, /Anna Nowak, 800101\*{5}\n6\u202f677\.25 PLN, 250\.50 EUR, 500\.00 USD\n/);
    assert.match(text, /\nUSD +4\.2113 +4\.2963 +-0\.05 % +[▁-█]{20} +dolar amerykański\n/);
  });

  for (const [name, typed, exit, told] of [
    ["Ctrl-C", ctrlC, 130, "fx: Interrupted.\n"],
    ["SIGTERM", (pid: number) => `${process.kill(pid, "SIGTERM") ? "" : ""}`, 143, "fx: Terminated.\n"],
  ] as const) {
    test(`${name} ends fx watch with exit ${exit}`, async () => {
      const ran = await watch([["Ctrl-C ends", typed]]);
      assert.ok(ran.text.endsWith(told), ran.screen);
      assert.equal(ran.exit, exit);
    });
  }

  test("fx watch of a PESEL that was typed or came from a pipe shows the account", async () => {
    const script = `echo ${anna} | ${fxInShell} watch - --url ${server.url}`;
    const asked = await watch(
      [
        ["PESEL: ", `${anna}\n`],
        ["Ctrl-C ends", ctrlC],
      ],
      ["-"],
    );
    const piped = await runCommandAtTerminal(["sh", "-c", script], { replies: [["Ctrl-C ends", ctrlC]] });
    for (const ran of [asked, piped]) {
      assert.match(ran.text, /Anna Nowak, 800101\*{5}\n/);
      assert.equal(ran.exit, 130);
    }
  });

  test("fx watch looks again, and shows what has changed", async () => {
    const exchange = ["exchange", "02291234562", "--from", "PLN", "--to", "USD", "--to-buy", "1"];
    const { text } = await watch(
      [
        [
          "1\u202f000.00 PLN",
          () => {
            void runHere(exchange, { env: { FX_URL: server.url } });
            return "";
          },
        ],
        ["995.70 PLN, 1.00 USD", ctrlC],
      ],
      ["02291234562", "--every", "1"],
    );
    assert.ok(text.includes("995.70 PLN, 1.00 USD"));
  });

  test("no line is longer than the terminal is wide, nor the page than it is high", async () => {
    const { text } = await watch([["Ctrl-C ends", ctrlC]], [anna], { columns: 40, rows: 12 });
    const lines = text.trimEnd().split("\n");
    assert.ok(lines.length <= 12);
    for (const line of lines) assert.ok([...line].length <= 40, line);
  });

  test("a server that goes away is told on the screen, which keeps what it had", async () => {
    const own = await startFx(["--demo"]);
    const { text } = await runAtTerminal(["watch", "--every", "1", "--url", own.url], {
      columns: 120,
      replies: [
        [
          "Ctrl-C ends",
          () => {
            own.signal("SIGTERM");
            return "";
          },
        ],
        ["as of ", ctrlC],
      ],
    });
    assert.match(text, /as of \d\d:\d\d:\d\d CES?T\. Nothing answers at http:/);
  });

  test("A start of fx watch that fails ends it, and without a terminal it says what to use", async () => {
    assert.equal((await runHere(["watch", "--url", "http://127.0.0.1:1"], { columns: 80 })).exit, 7);
    const { stdout, stderr, exit } = await runHere(["watch", "--url", server.url]);
    assert.match(
      stderr,
      /^fx: fx watch needs a terminal\. In a script, use fx rates and fx account show\.\n/,
    );
    assert.deepEqual([stdout, exit], ["", 2]);
    assert.equal((await runHere(["watch"], { columns: 80, env: { TERM: "dumb" } })).exit, 2);
  });
});
