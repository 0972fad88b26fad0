import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, test } from "node:test";
import type { Command } from "commander";
import { fullName } from "../../../../src/cli/command.ts";
import { Context } from "../../../../src/cli/context.ts";
import { buildProgram } from "../../../../src/cli/program.ts";
import { openTerminal } from "../../../../src/cli/terminal/terminal.ts";
import { newFolder } from "../../../support/folder.ts";
import { runHere } from "../../../support/run-here.ts";
import { fxInShell } from "../../../support/shell.ts";
import { runCommandAtTerminal } from "../../../support/terminal.ts";

const folder = newFolder();
writeFileSync(join(folder, "orders of may.csv"), "");

// An `fx` that completes as the real one, and otherwise tells what it was called with.
writeFileSync(
  join(folder, "fx"),
  `#!/bin/sh
case "$1" in completion) exec ${fxInShell} "$@" ;; esac
line=ran; for word; do line="$line <$word>"; done; echo "$line"
`,
);
chmodSync(join(folder, "fx"), 0o755);
const PATH = `${folder}${delimiter}${process.env.PATH}`;

async function candidates(...words: string[]): Promise<string[]> {
  const { stdout, stderr } = await runHere(["completion", "bash", "--", ...words]);
  assert.equal(stderr, "");
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t")[0] ?? "");
}

describe("completion", () => {
  test("Completion does not offer an option that is there already", async () => {
    assert.ok(!(await candidates("quote", "--from", "PLN", "-")).includes("--from"));
  });

  test("Completion knows every command and every option that there is", async () => {
    const program = buildProgram(new Context(openTerminal(process, {}, true), "0.0.0"));
    const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
    await Promise.all(
      all(program).map(async (command) => {
        const words = fullName(command).split(" ").slice(1);
        const offered = await candidates(...words, "-");
        for (const { long } of command.options) assert.ok(offered.includes(long ?? ""), `${words} ${long}`);
        const below = command.commands.map((child) => child.name());
        if (below.length > 0) assert.deepEqual(await candidates(...words, ""), below);
      }),
    );
  });
});

/** Shells at which keys are typed: how to start one, and what makes it know fx. */
const typed = [
  {
    shell: "bash",
    start: ["bash", "--norc", "--noprofile", "-i"],
    setUp: "source <(fx completion bash)",
  },
  {
    shell: "zsh",
    start: ["zsh", "-f", "-i"],
    setUp: "autoload -U compinit && compinit -u -D && source <(fx completion zsh)",
  },
];
/** Typed text, with a tab for each press of it, and the command line that it comes to. */
const lines: [typed: string, ran: string][] = [
  ["fx acc\tsh\t--ur\tmemory:", "<account> <show> <--url> <memory:>"],
  ["fx quote --from US\t--to EU\t--to-b\t5", "<quote> <--from> <USD> <--to> <EUR> <--to-buy> <5>"],
  ["fx batch ord\t", "<batch> <orders of may.csv>"],
  ["fx serve --log-level de\t", "<serve> <--log-level> <debug>"],
];

for (const { shell, start, setUp } of typed) {
  describe(`at a real ${shell}, with keys typed`, { skip: missing(shell) }, () => {
    for (const [keys, ran] of lines) {
      test(keys.replaceAll("\t", "<Tab>"), async () => {
        const { text } = await runCommandAtTerminal(start, {
          cwd: folder,
          env: { PATH, PS1: "> ", INPUTRC: "/dev/null", LC_ALL: "C.UTF-8", HOME: folder, HISTFILE: "" },
          replies: [
            ["> ", `${setUp} && echo set""up\n`],
            ["setup", `${keys}\n`],
            ["ran", "exit\n"],
          ],
        });
        assert.ok(text.includes(`ran ${ran}\n`), text);
      });
    }
  });
}

describe("in a real fish", { skip: missing("fish") }, () => {
  const rows: [line: string, offered: string][] = [
    ["fx acc", "account\tOpen, show and change accounts"],
    [
      "fx account show --ur",
      "--url\ttarget: the URL of a server, or sqlite:PATH, postgres://… or memory: to open a store in this process",
    ],
    ["fx quote --from US", "USD\tdolar amerykański"],
    ["fx batch ord", "orders of may.csv"],
  ];
  for (const [line, offered] of rows) {
    test(line, () => {
      const script = `fx completion fish | source; complete -C "${line}"`;
      const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", script], {
        cwd: folder,
        env: { PATH, HOME: folder, LC_ALL: "C.UTF-8" },
        encoding: "utf8",
      });
      assert.deepEqual([stdout, stderr], [`${offered}\n`, ""]);
    });
  }
});

/** For `skip`: why a shell cannot be tried here, or false. */
function missing(shell: string): string | false {
  return spawnSync(shell, ["-c", "exit 0"]).status !== 0 && `${shell} is not on this machine`;
}
