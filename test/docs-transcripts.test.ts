import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { fullName } from "../src/cli/command.ts";
import { openApiDocument } from "../src/wire/openapi.ts";
import { commands, jsonCommands } from "./support/commands.ts";
import { newFolder } from "./support/folder.ts";
import { startFx } from "./support/run-fx.ts";
import { fxInShell } from "./support/shell.ts";
import { type Reply, runCommandAtTerminal } from "./support/terminal.ts";
import { until } from "./support/until.ts";
import { maskVolatile } from "./support/volatile.ts";

/**
 * The console blocks after a comment that begins with "transcript" are played at a real terminal of 80 columns, all of
 * a page at one server with the demo's accounts, and compared. With TRANSCRIPTS_WRITE=1 what came out is written into
 * them. What a block shows as the answer to a question is typed, and Ctrl-C where it says that Ctrl-C ends.
 */
const transcript = /(?<=<!-- transcript\b[^\n]*-->\n)```console\n([\s\S]*?)```/g;

/** One command of a page, what the page says that it prints, and what it prints. */
interface Step {
  readonly line: string;
  readonly expected: string;
  readonly printed: string;
}

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: "document", ...openApiDocument("0.0.0") });

const folder = newFolder();
for (const [name, shift] of [
  ["fx", ""],
  ["npx", "shift; "],
] as const) {
  writeFileSync(join(folder, name), `#!/bin/sh\n${shift}exec ${fxInShell} "$@"\n`);
  chmodSync(join(folder, name), 0o755);
}

/** Plays the blocks of a page. */
async function play(page: string): Promise<readonly Step[]> {
  const file = new URL(`../${page}`, import.meta.url);
  const text = readFileSync(file, "utf8");
  const server = await startFx(["--demo"], {
    env: { FX_FORCE_TTY: "80", NO_COLOR: "1", ...(text.includes("$ npx fx") && { npm_command: "exec" }) },
  });
  await until(() => server.output().stdout.includes("Ctrl-C"));
  const env = {
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    FX_URL: server.url,
    XDG_CONFIG_HOME: "/home/jan/.config",
    NO_COLOR: "1",
  };
  const cwd = mkdtempSync(join(folder, "page-"));
  const steps: Step[] = [];
  const outputOf = async (line: string, expected: string) => {
    const output = /^(fx serve|npm start)/.test(line)
      ? server.output().stdout
      : (await runCommandAtTerminal(["sh", "-c", line], { env, cwd, replies: repliesIn(expected) })).text;
    return output
      .replaceAll(server.url, "http://127.0.0.1:8080")
      .replaceAll(" --url http://127.0.0.1:8080", "")
      .replace(/[^\n]$/, "$&\n");
  };
  let written = text;
  for (const [block, content = ""] of text.matchAll(transcript)) {
    let now = "";
    for (const part of content.split(/^\$ /m).slice(1)) {
      const [line = ""] = part.split("\n");
      const expected = part.slice(line.length + 1);
      const printed = await outputOf(line, expected);
      steps.push({ line: line.replace(/^npx /, ""), expected, printed });
      now += `$ ${line}\n${maskVolatile(expected) === maskVolatile(printed) ? expected : printed}`;
    }
    written = written.replace(block, () => `\`\`\`console\n${now}\`\`\``);
  }
  await server.stop();
  if (process.env.TRANSCRIPTS_WRITE) writeFileSync(file, written);
  return steps;
}

function repliesIn(expected: string): Reply[] {
  return [...expected.matchAll(/\[y\/N\] (.*)|Ctrl-C ends/g)].map(([shown, answer]) =>
    answer === undefined ? [shown, "\u0003"] : ["[y/N] ", `${answer}\n`],
  );
}

const pages = ["README.md", "docs/CLI.md", "docs/JSON.md"] as const;
const played = new Map<string, Promise<readonly Step[]>>();

/** Plays a page once, whichever test asks first. */
function stepsOf(page: (typeof pages)[number]): Promise<readonly Step[]> {
  const steps = played.get(page) ?? play(page);
  played.set(page, steps);
  return steps;
}

for (const page of pages) {
  test(`${page} shows what fx does`, async () => {
    const steps = await stepsOf(page);
    assert.ok(steps.length > 3);
    if (process.env.TRANSCRIPTS_WRITE) return;
    for (const { line, expected, printed } of steps)
      assert.equal(maskVolatile(printed), maskVolatile(expected), line);
  });
}

/** As a group is run without the name of its default. */
const alone = (name: string) => name.replace(/(?<=rates|receipt|trading|house) show$/, "");
const isOf =
  (command: string) =>
  ({ line }: Pick<Step, "line">) =>
    new RegExp(`(^|\\| |; )${command}( |$)`).test(line);

test("docs/CLI.md shows every command", async () => {
  const steps = await stepsOf("docs/CLI.md");
  const leaves = commands.filter((command) => command.commands.length === 0).map(fullName);
  assert.ok(leaves.length > 15);
  const isShown = (name: string) => steps.some(isOf(alone(name)));
  assert.deepEqual(
    leaves.filter((name) => !isShown(name)),
    [],
  );
});

/** The commands with --json of test/cli/cases, with a value of its kind in the place of what varies. */
function recordedSteps(): Omit<Step, "expected">[] {
  const folder = new URL("cli/cases/", import.meta.url);
  const cases = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"));
  const values = { time: "2026-06-08T12:00:00.000Z", date: "2026-06-08", digest: "0".repeat(64) };
  const known: Readonly<Record<string, string>> = { ...values, id: "019e9a70-3c5e-7000-8000-5d1f0c2b7a11" };
  const steps = cases.join("\n").matchAll(/^\$ (?:.* )?(fx .*--json.*)\n((?:.*\n)*?)\[exit /gm);
  return [...steps].map(([, line = "", shown = ""]) => ({
    line,
    printed: shown
      .replaceAll(/^! .*\n/gm, "")
      .replaceAll(/<(\w+)(?: \d+)?>/g, (_, kind) => known[kind] ?? kind),
  }));
}

test("docs/JSON.md names every command that takes --json, and each that has a schema there prints what fits it", async () => {
  const page = readFileSync(new URL("../docs/JSON.md", import.meta.url), "utf8");
  const steps = [...(await stepsOf("docs/JSON.md")), ...recordedSteps()];
  const named = [...page.matchAll(/^\| (`.*`) \| (?:An? \[?)?`([A-Z]\w+)`(?! without)/gm)];
  const fitting = new Set<string>();
  for (const [, cell = "", schema] of named) {
    const fits = ajv.getSchema(`document#/components/schemas/${schema}`) ?? assert.fail(schema);
    for (const { line, printed } of steps) {
      const [words = ""] = line.split(/ (?=[-\d<])/);
      if (!cell.includes(`\`${words.replace("fx ", "")}\``) || !/^\{(?!"code")/.test(printed)) continue;
      assert.ok(fits(JSON.parse(printed)), `${line}: ${JSON.stringify(fits.errors)}`);
      fitting.add(words);
    }
  }
  assert.ok(fitting.size > 8, [...fitting].join());
  const names = jsonCommands.map((command) => alone(fullName(command)));
  const isNamed = (name: string) => page.includes(`\`${name.replace("fx ", "")}\``);
  assert.deepEqual(
    names.filter((name) => !(steps.some(isOf(name)) && isNamed(name))),
    [],
  );
});
