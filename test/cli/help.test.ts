import assert from "node:assert/strict";
import { describe, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { definitions, settingNames } from "../../src/cli/config.ts";
import { exitTable } from "../../src/cli/errors.ts";
import { fullName } from "../../src/cli/program.ts";
import { commands, jsonCommands, program } from "../support/commands.ts";
import { runHere } from "../support/run-here.ts";

describe("help", () => {
  test("--version is the package's", async () => {
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

  test("of a narrow terminal has descriptions under what they describe", async () => {
    const { stdout } = await runHere(["exchange", "--help"], { env: { FX_FORCE_TTY: "40" } });
    const [upToExamples = ""] = stdout.split("\nExamples:");
    assert.match(stdout, /\n {2}--to-buy <amount>\n {6}buy exactly this much\n/);
    for (const line of upToExamples.split("\n")) assert.ok([...line].length <= 40, line);
  });

  test("fx help COMMAND is the command's help", async () => {
    const words = ["account", "create"];
    assert.equal((await runHere(["help", ...words])).stdout, (await runHere([...words, "--help"])).stdout);
  });

  test("fx help exit-codes is the table of exits", async () => {
    const { stdout } = await runHere(["help", "exit-codes"]);
    assert.equal(
      stdout,
      exitTable.map(({ exit, meaning, moved, next }) => `${exit}\t${meaning}\t${moved}\t${next}\n`).join(""),
    );
  });

  test("fx help environment has every setting's variable", async () => {
    const { stdout } = await runHere(["help", "environment"]);
    for (const name of settingNames) assert.ok(stdout.includes(`${definitions[name].env}\t`));
  });

  test("fx help json has every command that takes --json", async () => {
    const { stdout } = await runHere(["help", "json"]);
    const listed = stdout
      .split("\n")
      .flatMap((line) => (line.split("\t")[0] ?? "").split(", ").map((name) => `fx ${name}`));
    for (const name of jsonCommands.map(fullName))
      assert.ok(listed.includes(name.replace(/(?<=rates|receipt) show$/, "")), name);
  });

  test("every topic stands in fx help --help", async () => {
    const { stdout } = await runHere(["help", "--help"]);
    for (const topic of ["exit-codes", "settings", "environment", "json"]) {
      assert.match(stdout, new RegExp(`^  ${topic} `, "m"));
      assert.equal((await runHere(["help", topic])).exit, 0);
    }
  });

  test("fx help settings has every setting", async () => {
    const { stdout } = await runHere(["help", "settings"]);
    for (const name of settingNames) assert.ok(stdout.includes(`\t${definitions[name].env}\t${name}\t`));
  });
});
