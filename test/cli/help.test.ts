import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { Context } from "../../src/cli/context.ts";
import { exitTable } from "../../src/cli/exit.ts";
import { buildProgram, fullName } from "../../src/cli/program.ts";
import { openTerminal } from "../../src/cli/terminal.ts";
import { definitions, settingNames } from "../../src/config.ts";
import { runFx } from "../support/run-fx.ts";

const program = buildProgram(new Context(openTerminal(process, {}, true), "0.0.0"));

function commandsUnder(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...commandsUnder(child)]);
}

describe("help", () => {
  test("--version is the package's", async () => {
    assert.equal((await runFx(["--version"])).stdout, `${packageJson.version}\n`);
  });

  test("fx alone is its help, on stdout, exit 0", async () => {
    const alone = await runFx([]);
    assert.deepEqual([alone.exit, alone.stderr], [0, ""]);
    assert.equal(alone.stdout, (await runFx(["--help"])).stdout);
    for (const command of program.commands)
      assert.match(alone.stdout, new RegExp(`^  ${command.name()} `, "m"));
  });

  for (const command of commandsUnder(program)) {
    const name = fullName(command);
    test(`of ${name} has an example that begins with its name`, () => {
      let help = "";
      command.configureOutput({
        writeOut: (text) => {
          help += text;
        },
      });
      command.outputHelp();
      assert.match(help, new RegExp(`\nExamples:\n  \\$ (FX_\\w+=\\S+ )?${name}\\b`));
    });
  }

  test("fx help COMMAND is the command's help", async () => {
    const words = ["account", "create"];
    assert.equal((await runFx(["help", ...words])).stdout, (await runFx([...words, "--help"])).stdout);
  });

  test("fx help exit-codes is the table of exits", async () => {
    const { stdout } = await runFx(["help", "exit-codes"]);
    assert.equal(
      stdout,
      exitTable.map(({ exit, meaning, moved, next }) => `${exit}\t${meaning}\t${moved}\t${next}\n`).join(""),
    );
  });

  test("fx help settings has every setting", async () => {
    const { stdout } = await runFx(["help", "settings"]);
    for (const name of settingNames) assert.ok(stdout.includes(`\t${definitions[name].env}\t${name}\t`));
  });
});
