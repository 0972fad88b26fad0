import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { fullName } from "../src/cli/command.ts";
import { account, listedAccount } from "../src/wire/accounts.ts";
import { audit } from "../src/wire/audit.ts";
import { house } from "../src/wire/cash.ts";
import { entry, statement } from "../src/wire/entries.ts";
import { quote } from "../src/wire/exchanges.ts";
import { money } from "../src/wire/fields.ts";
import { position, till } from "../src/wire/ledger.ts";
import { rateHistory, rates, trading } from "../src/wire/rates.ts";
import { roles } from "../src/wire/role.ts";
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
const isOf = (command: string) => (step: Step) => new RegExp(`(^|\\| |; )${command}( |$)`).test(step.line);

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

const keyed = { key: z.string(), replayed: z.boolean() };
const failure = z.object({
  code: z.string(),
  message: z.string(),
  hint: z.string().nullable(),
  exit: z.int(),
  key: z.string().optional(),
  replayed: z.literal(true).optional(),
  errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
});
const doneBefore = z.object({ lines: z.int(), first: z.string().nullable(), hint: z.string().nullable() });
/** An account after a change, with what the entry says: what a dry run prints, too, where its key was used before. */
const changed = z.union(
  entry.in.options.map(({ shape: { id: receipt, ...facts } }) =>
    z.object({ ...facts, ...listedAccount.in.shape, ...keyed, receipt }),
  ),
);
/** Fields that every document of a line of a batch may have. */
const ofLine = {
  ...{ line: z.int(), dryRun: z.literal(true).optional() },
  extra: z.record(z.string(), z.string()).optional(),
};
/** The shapes of a command's documents. The first command that matches a line is the line's. */
const shapes: readonly (readonly [command: string, shape: z.ZodType])[] = [
  ["fx account create", account.in.extend({ ...keyed, receipt: z.string() })],
  ["fx account show", listedAccount],
  ["fx account list", z.array(listedAccount)],
  ["fx account history", statement.in.omit({ next: true })],
  ["fx exchange .*--dry-run", z.union([quote, ...changed.options])],
  ["fx (account|house|receipt) .*--dry-run", z.union([listedAccount, ...changed.options])],
  [
    "fx (exchange|account (deposit|withdraw|rename|close|block|unblock)|house (deposit|withdraw)|receipt reverse)",
    changed,
  ],
  ["fx quote", quote],
  [
    "fx statements",
    z.object({
      ...{ folder: z.string(), from: z.string(), to: z.string(), format: z.string() },
      ...{ statements: z.int(), withoutStatement: z.int() },
    }),
  ],
  [
    "fx batch",
    z.union([
      account.in.extend({
        ...ofLine,
        ok: z.literal(true),
        ...keyed,
        receipt: z.string().optional(),
        sold: money.optional(),
        bought: money.optional(),
      }),
      failure.extend({ ...ofLine, ok: z.literal(false), pesel: z.string().nullable(), key: z.string() }),
      z.object({
        id: z.string(),
        dryRun: z.boolean(),
        done: z.int(),
        replayed: z.int(),
        refused: z.int(),
        failed: z.int(),
        unknown: z.int(),
        doneBefore: doneBefore.nullable(),
        rejects: z.string().nullable(),
        complete: z.boolean(),
        hint: z.string().nullable(),
        exit: z.int(),
      }),
    ]),
  ],
  [
    "fx receipt verify",
    z.union([
      z.object({ ok: z.literal(false), checkpoint: z.iso.datetime(), fault: z.string() }),
      ...entry.in.options.map(({ shape }) => {
        const { reversedBy: _, ...facts } = { reversedBy: z.null(), ...shape };
        const proven = {
          ok: z.boolean(),
          checkpoint: z.iso.datetime(),
          customer: z.string(),
          entries: z.int(),
        };
        return z.object({ ...proven, receipt: z.object(facts) });
      }),
    ]),
  ],
  ["fx receipt", entry],
  ["fx entries", entry],
  ["fx rates history", rateHistory],
  ["fx rates", rates],
  ["fx trading", trading],
  ["fx house history", statement.in.omit({ next: true })],
  ["fx house", house],
  ["fx position", position],
  ["fx till", till],
  ["fx audit .*--checkpoint", audit.in.extend({ file: z.string().nullable() })],
  ["fx audit", audit],
  ["fx backup", audit.in.extend({ file: z.string().nullable() })],
  [
    "fx token list",
    z.array(
      z.object({
        name: z.string(),
        role: z.enum(roles),
        created: z.iso.datetime(),
        expires: z.iso.datetime().nullable(),
      }),
    ),
  ],
  [
    "fx doctor",
    z.object({
      ok: z.boolean(),
      version: z.string(),
      configFile: z.object({ path: z.string(), exists: z.boolean() }),
      settings: z.array(
        z.object({
          name: z.string(),
          value: z.union([z.string(), z.number(), z.boolean(), z.null()]),
          origin: z.enum(["flag", "environment", "file", "default"]),
        }),
      ),
      checks: z.array(z.object({ check: z.string(), ok: z.boolean(), detail: z.string() })),
    }),
  ],
];

/** The commands with --json of test/cli/cases, with a value of its kind in the place of what varies. */
function recordedSteps(): Step[] {
  const folder = new URL("cli/cases/", import.meta.url);
  const cases = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"));
  const values = { time: "2026-06-08T12:00:00.000Z", date: "2026-06-08", digest: "0".repeat(64) };
  const known: Readonly<Record<string, string>> = { ...values, customer: "A".repeat(20) };
  const id = (nth = "0") => `019e9a70-3c5e-7000-8000-${nth.padStart(12, "0")}`;
  const steps = cases.join("\n").matchAll(/^\$ (?:.* )?(fx .*--json.*)\n((?:.*\n)*?)\[exit /gm);
  return [...steps].map(([, line = "", shown = ""]) => {
    const printed = shown
      .replaceAll(/^! .*\n/gm, "")
      .replaceAll(/<(\w+)(?: (\d+))?>/g, (text, kind, nth) =>
        kind === "id" ? id(nth) : (known[kind] ?? text),
      );
    return { line, expected: printed, printed };
  });
}

test("docs/JSON.md names every command that takes --json, and each prints its shape and no field beside", async () => {
  const shown = (await stepsOf("docs/JSON.md")).filter(({ line }) => line.includes("--json"));
  const steps = [...shown, ...recordedSteps().filter(({ printed }) => printed !== "")];
  for (const step of steps) {
    const shape = shapes.find(([command]) => isOf(command)(step))?.[1] ?? z.never();
    for (const document of documentsIn(step.printed)) {
      const allowed = [...(shape instanceof z.ZodUnion ? shape.options : [shape]), failure] as z.ZodType[];
      const isOne = allowed.some((each) => {
        const { success, data } = each.safeParse(document);
        // Encoding what was read drops every field that the shape does not have.
        return success && isDeepStrictEqual(JSON.parse(JSON.stringify(each.encode(data))), document);
      });
      assert.ok(isOne, `${step.line} prints ${JSON.stringify(document)}`);
    }
  }
  const names = jsonCommands.map((command) => alone(fullName(command)));
  assert.ok(names.length > 12);
  const page = readFileSync(new URL("../docs/JSON.md", import.meta.url), "utf8");
  const isNamed = (name: string) => page.includes(`\`${name.replace("fx ", "")}\``);
  assert.deepEqual(
    names.filter((name) => !(steps.some(isOf(name)) && isNamed(name))),
    [],
  );
});

/** One document, or one a line. */
function documentsIn(printed: string): unknown[] {
  try {
    return [JSON.parse(printed)];
  } catch {
    return printed
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  }
}
