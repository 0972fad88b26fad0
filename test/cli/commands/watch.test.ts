import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Served, startFx } from "../../support/run-fx.ts";
import { runHere } from "../../support/run-here.ts";
import { fxInShell } from "../../support/shell.ts";
import { type Reply, runAtTerminal, runCommandAtTerminal } from "../../support/terminal.ts";

const anna = "80010112340";
const taken = "\u001b[?1049h\u001b[?25l";
const givenBack = "\u001b[?25h\u001b[?1049l";

describe("fx watch", () => {
  let server: Served;
  before(async () => {
    server = await startFx(["--demo"]);
  });
  after(() => server.stop());
  const watch = (replies: readonly Reply[], args: readonly string[] = [], options = {}) =>
    runAtTerminal(["watch", "--url", server.url, ...args], { replies, ...options });

  test("fx watch shows the account and the board, and q gives the screen back", async () => {
    const { screen, text, exit } = await watch([["q ends", "q"]], [anna]);
    assert.ok(screen.startsWith(taken) && screen.endsWith(givenBack));
    assert.match(text, /Anna Nowak, 800101\*{5}\n6\u202f677\.25 PLN, 250\.50 EUR, 500\.00 USD\n/);
    assert.match(text, /\nUSD +4\.2113 +4\.2963 +-0\.05 % +[▁-█]{20} +dolar amerykański\n/);
    assert.equal(exit, 0);
  });

  for (const [name, typed, exit, told] of [
    ["Ctrl-C", "\u0003", 130, "fx: Interrupted.\n"],
    ["SIGTERM", (pid: number) => `${process.kill(pid, "SIGTERM") ? "" : ""}`, 143, "fx: Terminated.\n"],
  ] as const) {
    test(`${name} in fx watch restores the screen before the message, with exit ${exit}`, async () => {
      const ran = await watch([["q ends", typed]]);
      const [, afterwards = ""] = ran.screen.split(givenBack);
      assert.ok(afterwards.includes(told.trim()), ran.screen);
      assert.equal(ran.exit, exit);
    });
  }

  test("fx watch leaves the terminal's settings as they were", async () => {
    const script = `before=$(stty -g); ${fxInShell} watch --url ${server.url}; [ "$before" = "$(stty -g)" ] && echo same`;
    const { text } = await runCommandAtTerminal(["sh", "-c", script], { replies: [["q ends", "q"]] });
    assert.match(text, /same\n$/);
  });

  test("fx watch of a PESEL that was typed or came from a pipe is left by q, pressed twice at once, and by Ctrl-C", async () => {
    const script = `echo ${anna} | ${fxInShell} watch - --url ${server.url}`;
    const asked = await watch(
      [
        ["PESEL: ", `${anna}\n`],
        ["q ends", "qq"],
      ],
      ["-"],
    );
    const piped = await runCommandAtTerminal(["sh", "-c", script], { replies: [["q ends", "\u0003"]] });
    for (const [ran, exit] of [
      [asked, 0],
      [piped, 130],
    ] as const) {
      assert.match(ran.text, /Anna Nowak, 800101\*{5}\n/);
      assert.ok(ran.screen.includes(givenBack));
      assert.equal(ran.exit, exit);
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
        ["995.70 PLN, 1.00 USD", "q"],
      ],
      ["02291234562", "--every", "1"],
    );
    assert.ok(text.includes("995.70 PLN, 1.00 USD"));
  });

  test("no line is longer than the terminal is wide, nor the page than it is high", async () => {
    const { text } = await watch([["q ends", "q"]], [anna], { columns: 40, rows: 12 });
    const lines = text.split("\n");
    assert.ok(lines.length <= 12);
    for (const line of lines) assert.ok([...line].length <= 40, line);
  });

  test("a server that goes away is told on the screen, which keeps what it had", async () => {
    const own = await startFx(["--demo"]);
    const { text, exit } = await runAtTerminal(["watch", "--every", "1", "--url", own.url], {
      columns: 120,
      replies: [
        [
          "q ends",
          () => {
            own.signal("SIGTERM");
            return "";
          },
        ],
        ["as of ", "q"],
      ],
    });
    assert.match(text, /as of \d\d:\d\d:\d\d CES?T\. Nothing answers at http:/);
    assert.equal(exit, 0);
  });

  test("A start of fx watch that fails takes no screen, and without a terminal it says what to use", async () => {
    const failed = await runHere(["watch", "--url", "http://127.0.0.1:1"], { columns: 80 });
    assert.ok(!failed.stdout.includes("\u001b[?1049h"));
    assert.equal(failed.exit, 7);
    const { stdout, stderr, exit } = await runHere(["watch", "--url", server.url]);
    assert.match(
      stderr,
      /^fx: fx watch needs a terminal\. In a script, use fx rates and fx account show\.\n/,
    );
    assert.deepEqual([stdout, exit], ["", 2]);
    assert.equal((await runHere(["watch"], { columns: 80, env: { TERM: "dumb" } })).exit, 2);
  });
});
