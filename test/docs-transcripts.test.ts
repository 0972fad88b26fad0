import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import * as z from "zod";
import { fullName } from "../src/cli/program.ts";
import { audit } from "../src/wire/audit-schemas.ts";
import { entry } from "../src/wire/entry-schemas.ts";
import { roles } from "../src/wire/role.ts";
import * as schemas from "../src/wire/schemas.ts";
import { commands, jsonCommands } from "./support/commands.ts";
import { startFx, until } from "./support/run-fx.ts";
import { fxInShell } from "./support/shell.ts";
import { type Reply, runCommandAtTerminal } from "./support/terminal.ts";
import { settled } from "./support/volatile.ts";

/**
 * The console blocks after a comment that begins with "transcript" are played at a real terminal of 80 columns, all of
 * a page at one server with the demo's accounts, and compared. With TRANSCRIPTS_WRITE=1 what came out is written into
 * them. What a block shows as the answer to a question is typed, and q where it says that q ends.
 */
const transcript = /(?<=<!-- transcript\b[^\n]*-->\n)```console\n([\s\S]*?)```/g;

/** One command of a page, what the page says that it prints, and what it prints. */
interface Step {
  readonly line: string;
  readonly expected: string;
  readonly printed: string;
}

const folder = mkdtempSync(join(tmpdir(), "fx-docs-"));
after(() => rmSync(folder, { recursive: true }));
for (const [name, shift] of [
  ["fx", ""],
  ["npx", "shift; "],
] as const) {
  writeFileSync(join(folder, name), `#!/bin/sh\n${shift}exec ${fxInShell} "$@"\n`);
  chmodSync(join(folder, name), 0o755);
}

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
  let written = text;
  for (const [block, content = ""] of text.matchAll(transcript)) {
    let now = "";
    for (const part of content.split(/^\$ /m).slice(1)) {
      const [line = ""] = part.split("\n");
      const expected = part.slice(line.length + 1);
      const output = /^(fx serve|npm start)/.test(line)
        ? server.output().stdout
        : (await runCommandAtTerminal(["sh", "-c", line], { env, cwd, replies: repliesIn(expected) })).text;
      const printed = output
        .replaceAll(server.url, "http://127.0.0.1:8080")
        .replaceAll(" --url http://127.0.0.1:8080", "")
        .replace(/[^\n]$/, "$&\n");
      steps.push({ line: line.replace(/^npx /, ""), expected, printed });
      now += `$ ${line}\n${settled(expected) === settled(printed) ? expected : printed}`;
    }
    written = written.replace(block, () => `\`\`\`console\n${now}\`\`\``);
  }
  await server.stop();
  if (process.env.TRANSCRIPTS_WRITE) writeFileSync(file, written);
  return steps;
}

function repliesIn(expected: string): Reply[] {
  return [...expected.matchAll(/\[y\/N\] (.*)|q ends/g)].map(([shown, answer]) =>
    answer === undefined ? [shown, "q"] : ["[y/N] ", `${answer}\n`],
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
    assert.ok(steps.length > 5);
    if (process.env.TRANSCRIPTS_WRITE) return;
    for (const { line, expected, printed } of steps) assert.equal(settled(printed), settled(expected), line);
  });
}

/** As a group is run without the name of its default. */
const alone = (name: string) => name.replace(/(?<=rates|receipt) show$/, "");
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
});
const doneBefore = z.object({ lines: z.int(), first: z.string().nullable(), hint: z.string() });
/** What a document may be, by the command: the first that fits a line is its command. */
const shapes: readonly (readonly [command: string, shape: z.ZodType])[] = [
  ["fx account create", schemas.account.extend(keyed)],
  ["fx account show", schemas.listedAccount],
  ["fx account list", z.array(schemas.listedAccount)],
  ["fx account history", z.array(entry)],
  ["fx exchange .*--dry-run", schemas.quote],
  ["fx account (deposit|withdraw|rename|close).*--dry-run", schemas.listedAccount],
  [
    "fx (exchange|account (deposit|withdraw|rename|close)|receipt reverse)",
    schemas.listedAccount.extend({ ...keyed, receipt: z.string() }),
  ],
  ["fx quote", schemas.quote],
  [
    "fx batch",
    z.union([
      schemas.account.extend({
        line: z.int(),
        ok: z.literal(true),
        ...keyed,
        receipt: z.string().optional(),
        sold: schemas.money.optional(),
        bought: schemas.money.optional(),
      }),
      failure.extend({ line: z.int(), ok: z.literal(false), pesel: z.string().nullable(), key: z.string() }),
      z.object({
        id: z.string(),
        dryRun: z.boolean(),
        done: z.int(),
        replayed: z.int(),
        refused: z.int(),
        failed: z.int(),
        doneBefore: doneBefore.nullable(),
        rejects: z.string().nullable(),
        complete: z.boolean(),
        hint: z.string().nullable(),
        exit: z.int(),
      }),
      z.object({ doneBefore }),
    ]),
  ],
  ["fx receipt", entry],
  ["fx rates history", schemas.rateHistory],
  ["fx rates", schemas.rates],
  ["fx position", schemas.position],
  ["fx audit .*--checkpoint", audit.extend({ file: z.string().nullable() })],
  ["fx audit", audit],
  ["fx backup", audit.extend({ file: z.string().nullable() })],
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

test("docs/JSON.md shows every command that takes --json, in its shape and with no field beside", async () => {
  const steps = (await stepsOf("docs/JSON.md")).filter(({ line }) => line.includes("--json"));
  for (const step of steps) {
    const shape = shapes.find(([command]) => isOf(command)(step))?.[1] ?? z.never();
    for (const document of documentsIn(step.printed)) {
      const { data, error } = z.union([shape, failure]).safeParse(document);
      assert.deepEqual(data, document, `${step.line}: ${error}`);
    }
  }
  const names = jsonCommands.map((command) => alone(fullName(command)));
  assert.ok(names.length > 12);
  assert.deepEqual(
    names.filter((name) => !steps.some(isOf(name))),
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
