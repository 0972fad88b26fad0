import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { fullName } from "../../src/cli/command.ts";
import { exitOfBatch, exitTable } from "../../src/cli/exits.ts";
import { settingNames, variableOf } from "../../src/cli/settings.ts";
import { commands, program } from "../support/commands.ts";
import { runHere } from "../support/run-here.ts";

describe("help", () => {
  test("fx --version prints the package's version", async () => {
    assert.equal((await runHere(["--version"])).stdout, `${packageJson.version}\n`);
  });

  test("fx alone is its help, on stdout, exit 0", async () => {
    const alone = await runHere([]);
    assert.deepEqual([alone.exit, alone.stderr], [0, ""]);
    assert.equal(alone.stdout, (await runHere(["--help"])).stdout);
    for (const command of program.commands)
      assert.match(alone.stdout, new RegExp(`^  ${command.name()} `, "m"));
  });

  for (const command of commands) {
    const name = fullName(command);
    test(`help of ${name} has an example that begins with its name`, () => {
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

  test("help of a group lists its own commands, without commander's help command", async () => {
    for (const group of commands.filter((command) => command.commands.length > 0)) {
      const { stdout } = await runHere([...fullName(group).split(" ").slice(1), "--help"]);
      const [, listed = ""] = /\nCommands:\n([\s\S]*?)\n\n/.exec(stdout) ?? [];
      const names = listed.match(/(?<=^ {2})\w+/gm);
      assert.deepEqual(
        names,
        group.commands.map((command) => command.name()),
      );
    }
  });

  test("help marks every required option", async () => {
    for (const command of commands.filter(({ commands }) => commands.length === 0)) {
      const help = command.createHelp();
      for (const option of command.options) {
        assert.equal(/\(required\b/.test(help.optionDescription(option)), option.mandatory, option.long);
      }
    }
    assert.match((await runHere(["quote", "--help"])).stdout, /--from <currency> .*\(required\)\n/);
  });

  test("help describes every argument", () => {
    for (const command of commands)
      for (const { description } of command.registeredArguments)
        assert.notEqual(description, "", fullName(command));
  });

  test("fx help environment has every variable that the command reads", async () => {
    const { stdout } = await runHere(["help", "environment"]);
    const folder = new URL("../../src/cli/", import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts"),
    );
    const read = files.flatMap(
      (name) => readFileSync(new URL(name, folder), "utf8").match(/(?<=\benv\.)[A-Z_]+/g) ?? [],
    );
    assert.ok(read.includes("NO_COLOR"));
    for (const name of new Set([...read, "HTTPS_PROXY", "NO_PROXY"]))
      assert.match(stdout, new RegExp(`^(\\S+, )*${name}\\b.*\\t`, "m"), name);
  });

  test("help of rates and receipt has the options of the command that they run alone", async () => {
    for (const group of ["rates", "receipt"]) {
      const [alone, show] = [await runHere([group, "--help"]), await runHere([group, "show", "--help"])];
      for (const flag of show.stdout.match(/(?<=^ {2})--[\w-]+/gm) ?? [])
        assert.ok(alone.stdout.includes(`  ${flag} `), `${group} ${flag}`);
    }
  });

  test("fx help has the help of a command, the table of exits, and every setting with its variable", async () => {
    const help = async (...words: string[]) => (await runHere(["help", ...words])).stdout;
    assert.equal(await help("account", "create"), (await runHere(["account", "create", "--help"])).stdout);
    const exits = exitTable.map((row) => row.join("\t"));
    assert.equal(await help("exit-codes"), `${[...exits, exitOfBatch].join("\n")}\n`);
    const [settings, environment] = [await help("settings"), await help("environment")];
    for (const name of settingNames) {
      assert.ok(settings.includes(`\t${variableOf(name)}\t${name}\t`));
      assert.ok(environment.includes(`${variableOf(name)}\t`));
    }
    assert.deepEqual(
      (await help("--help")).match(/(?<=^ {2})(exit-codes|settings|environment)(?= )/gm)?.length,
      3,
    );
  });
});
