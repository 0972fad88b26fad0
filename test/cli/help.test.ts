import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { fullName } from "../../src/cli/command.ts";
import { exitTable } from "../../src/cli/exits.ts";
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

  test("fx help COMMAND is the command's help", async () => {
    const words = ["account", "create"];
    assert.equal((await runHere(["help", ...words])).stdout, (await runHere([...words, "--help"])).stdout);
  });

  test("fx help exit-codes is the table of exits", async () => {
    const { stdout } = await runHere(["help", "exit-codes"]);
    assert.equal(
      stdout,
      exitTable
        .map(
          (row) => `${row.join("\t")}
`,
        )
        .join(""),
    );
  });

  test("fx help environment has every setting's variable", async () => {
    const { stdout } = await runHere(["help", "environment"]);
    for (const name of settingNames) assert.ok(stdout.includes(`${variableOf(name)}\t`));
  });

  test("every topic stands in fx help --help", async () => {
    const { stdout } = await runHere(["help", "--help"]);
    for (const topic of ["exit-codes", "settings", "environment"]) {
      assert.match(stdout, new RegExp(`^  ${topic} `, "m"));
      assert.equal((await runHere(["help", topic])).exit, 0);
    }
  });

  test("fx help settings has every setting", async () => {
    const { stdout } = await runHere(["help", "settings"]);
    for (const name of settingNames) assert.ok(stdout.includes(`\t${variableOf(name)}\t${name}\t`));
  });
});
