import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { newFolder } from "../support/folder.ts";
import { runFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";
import { runAtTerminal } from "../support/terminal.ts";
import { maskVolatile } from "../support/volatile.ts";

/**
 * The same commands in different surroundings, against what they printed when that was last looked at:
 * TRANSCRIPTS_WRITE=1 writes the files of test/cli/transcripts anew, to be read before they are kept.
 */
const commands = `
account create 80010112340 --name Anna --surname Nowak --pln 10000 --key open-1
account create 80010112340 --name Anna --surname Nowak --pln 10000
quote --from PLN --to USD --to-buy 100
exchange 80010112340 --from PLN --to USD --to-buy 100 --yes --key buy-1
exchange 80010112340 --from USD --to JPY --to-sell 12.50 --yes
exchange 80010112340 --from PLN --to USD --to-buy 100 --yes --key buy-1
exchange 80010112340 --from PLN --to USD --to-buy 99999 --yes
account deposit 80010112340 --amount 250.50 --currency EUR --note counter-2 --yes --key in-1
account withdraw 80010112340 --amount 70.37 --currency PLN --yes
account withdraw 80010112340 --amount 70.37 --currency GBP --dry-run
account rename 80010112340 --name Anna --surname Nowak-Zielińska --dry-run
account close 80010112340 --yes
receipt --pesel 80010112340 --key in-1
receipt --pesel 80010112340 --key in-2
account show 80010112340
account show 75061598768
account list
account history 80010112340
position
rates
rates history USD --days 30
account show 80010112340 --json
account show 75061598768 --json
quote --from PLN
`
  .trim()
  .split("\n");

/** Commands that together print every colour, drawing and kind of error, each the same without the others. */
const few = commands.filter((line) => /open-1$|10000$|^quote|buy 100 --yes|^rates/.test(line));

const folder = newFolder();
let stores = 0;

interface Surroundings {
  readonly columns?: number;
  readonly env?: Record<string, string>;
  /** The built fx, as processes; otherwise what stands for them in this one. */
  readonly built?: boolean;
}

/** Runs commands on a new store, at a terminal of `columns` or with pipes. With pipes, stderr's lines begin with "! ". */
async function transcribe({ columns, env = {}, built }: Surroundings, lines = commands): Promise<string> {
  stores += 1;
  const settings = { FX_URL: `sqlite:${join(folder, `${stores}.db`)}`, FX_RATES: "demo", ...env };
  let transcript = "";
  for (const line of lines) {
    const args = line.split(" ");
    if (columns === undefined) {
      const { stdout, stderr, exit } = await (built ? runFx : runHere)(args, { env: settings });
      transcript += `$ fx ${line}\n${stdout}${stderr.replace(/^(?=.)/gm, "! ")}[exit ${exit}]\n\n`;
    } else {
      const { screen, exit } = built
        ? await runAtTerminal(args, { columns, env: settings })
        : await shownHere(args, columns, settings);
      transcript += `$ fx ${line}\n${screen.replaceAll("\r", "")}[exit ${exit}]\n\n`;
    }
  }
  return maskVolatile(transcript.replaceAll("\u001b", "␛"));
}

async function shownHere(args: readonly string[], columns: number, env: Record<string, string>) {
  const { stdout, exit } = await runHere(args, { columns, env: { TERM: "xterm", ...env } });
  return { screen: stdout, exit };
}

function fewOf(transcript: string): string {
  const parts = transcript.split(/^(?=\$ fx )/m);
  return parts.filter((part) => few.some((line) => part.startsWith(`$ fx ${line}\n`))).join("");
}

function plain(transcript: string): string {
  return stripVTControlCharacters(transcript.replaceAll("␛", "\u001b"));
}

function recorded(name: string, transcript: string): string {
  const file = new URL(`transcripts/${name}.txt`, import.meta.url);
  if (process.env.TRANSCRIPTS_WRITE) writeFileSync(file, transcript);
  return readFileSync(file, "utf8");
}

describe("transcripts", { concurrency: 3 }, () => {
  const pipe = transcribe({ built: true });
  const terminal = transcribe({ columns: 80, built: true });

  for (const [name, transcript] of [
    ["pipe", () => pipe],
    ["terminal-80", () => terminal],
    ["terminal-40", () => transcribe({ columns: 40 }, [...few, "account list"])],
    ["terminal-80-ascii", () => transcribe({ columns: 80, env: { LC_ALL: "C" } }, few)],
  ] as const) {
    test(`The transcript ${name} is as recorded`, async () => {
      const now = await transcript();
      assert.equal(now, recorded(name, now));
    });
  }

  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }, { FORCE_COLOR: "0" }]) {
    test(`${JSON.stringify(env)} at a terminal changes the colour and nothing else`, async () => {
      assert.equal(await transcribe({ columns: 80, env }, few), fewOf(plain(await terminal)));
    });
  }

  test("FORCE_COLOR in a pipe changes the colour and nothing else", async () => {
    const forced = await transcribe({ env: { FORCE_COLOR: "1" } }, few);
    assert.ok(forced.includes("␛["));
    assert.equal(plain(forced), fewOf(await pipe));
  });

  test("LANG=pl_PL.UTF-8 changes nothing, in a pipe and at a terminal", async () => {
    const env = { LANG: "pl_PL.UTF-8", LC_ALL: "pl_PL.UTF-8" };
    assert.equal(await transcribe({ env }, few), fewOf(await pipe));
    assert.equal(await transcribe({ columns: 80, env }, few), fewOf(await terminal));
  });

  test("no colour reaches a pipe, and no line of a terminal is wider than it is", async () => {
    assert.ok(!(await pipe).includes("␛"));
    for (const line of plain(await terminal).split("\n")) {
      // The typed lines, and JSON, are never broken into lines.
      if (!/^\$|[{}"]/.test(line)) assert.ok([...line].length <= 80, line);
    }
  });
});
