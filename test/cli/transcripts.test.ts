import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { newFolder } from "../support/folder.ts";
import { runHere } from "../support/run-here.ts";
import { runAtTerminal } from "../support/terminal.ts";
import { maskVolatile } from "../support/volatile.ts";

/**
 * Commands that together print every colour, drawing and kind of error, each on the store that those before it made, at
 * a real terminal: TRANSCRIPTS_WRITE=1 writes cases/screen.txt anew, to be read before it is kept.
 */
const commands = `
account create 80010112340 --name Anna --surname Nowak --pln 10000 --key open-1
account create 80010112340 --name Anna --surname Nowak --pln 10000
quote --from PLN --to USD --to-buy 100
exchange 80010112340 --from PLN --to USD --to-buy 100 --yes --key buy-1
exchange 80010112340 --from PLN --to USD --to-buy 100 --yes --key buy-1
rates
rates history USD --days 30
quote --from PLN
`
  .trim()
  .split("\n");
const file = new URL("cases/screen.txt", import.meta.url);

const folder = newFolder();
let stores = 0;

/** Runs the commands on a new store, in this process at a terminal of 80 columns or in a pipe, or at a real one. */
async function transcribe(how: "terminal" | "pipe" | "built", env = {}, more: readonly string[] = []) {
  stores += 1;
  const settings = {
    FX_URL: `sqlite:${join(folder, `${stores}.db`)}`,
    FX_RATES: "demo",
    TERM: "xterm",
    ...env,
  };
  let transcript = "";
  for (const line of commands) {
    const args = [...line.split(" "), ...more];
    const { screen, exit } =
      how === "built"
        ? await runAtTerminal(args, { env: settings })
        : await runHere(args, { env: settings, ...(how === "terminal" && { columns: 80 }) }).then((ran) => ({
            ...{ screen: ran.stdout + ran.stderr, exit: ran.exit },
          }));
    transcript += `$ fx ${line}\n${screen.replaceAll("\r", "")}[exit ${exit}]\n\n`;
  }
  return maskVolatile(transcript.replaceAll("\u001b", "␛"));
}

const plain = (transcript: string) => stripVTControlCharacters(transcript.replaceAll("␛", "\u001b"));

describe("colours", () => {
  test("A real terminal shows what is recorded, with its colours, and so does one in the tests' process", async () => {
    const shown = await transcribe("built");
    if (process.env.TRANSCRIPTS_WRITE) writeFileSync(file, shown);
    assert.equal(shown, readFileSync(file, "utf8"));
    assert.equal(await transcribe("terminal"), shown);
  });

  for (const [env, ...flags] of [[{ NO_COLOR: "1" }], [{}, "--no-color"]] as const) {
    test(`${JSON.stringify(env)} ${flags} at a terminal changes the colour and nothing else`, async () => {
      assert.equal(await transcribe("terminal", env, flags), plain(await transcribe("terminal")));
    });
  }

  test("FORCE_COLOR in a pipe changes the colour and nothing else", async () => {
    const [forced, piped] = [await transcribe("pipe", { FORCE_COLOR: "1" }), await transcribe("pipe")];
    assert.ok(forced.includes("␛[") && !piped.includes("␛"));
    assert.equal(plain(forced), piped);
  });

  for (const how of ["pipe", "terminal"] as const) {
    test(`LANG=pl_PL.UTF-8 changes nothing in a ${how}`, async () => {
      const env = { LANG: "pl_PL.UTF-8", LC_ALL: "pl_PL.UTF-8" };
      assert.equal(await transcribe(how, env), await transcribe(how));
    });
  }
});
