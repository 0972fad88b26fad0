import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { Context } from "../../src/cli/context.ts";
import { buildProgram, fullName } from "../../src/cli/program.ts";
import { openTerminal } from "../../src/cli/terminal/terminal.ts";

const folder = fileURLToPath(new URL("../../dist/man/", import.meta.url));
const program = buildProgram(new Context(openTerminal(process, {}, true), "0.0.0"));
const commandsUnder = (command: Command): Command[] => [command, ...command.commands.flatMap(commandsUnder)];
const pageOf = (command: Command) => `${fullName(command).replaceAll(" ", "-")}.1`;

describe("the manual that the build writes", () => {
  test("has a page for every command, and no other", () => {
    assert.deepEqual(readdirSync(folder).sort(), commandsUnder(program).map(pageOf).sort());
  });

  test("is listed in package.json, from which npm installs it", () => {
    assert.deepEqual(
      packageJson.man,
      readdirSync(folder)
        .sort()
        .map((page) => `dist/man/${page}`),
    );
  });

  for (const command of commandsUnder(program)) {
    test(`${pageOf(command)} has every option and an example`, () => {
      const text = readFileSync(folder + pageOf(command), "utf8").replaceAll("\\-", "-");
      assert.ok(text.startsWith(".TH "));
      for (const { flags } of command.options) assert.ok(text.includes(`\n\\fB${flags}\\fR\n`), flags);
      for (const child of command.commands) assert.ok(text.includes(`\\fB${pageOf(child).slice(0, -2)}(1)`));
      assert.match(
        text,
        new RegExp(`\\n\\.SH EXAMPLES\\n\\.EX\\n\\$ (FX_\\w+=\\S+ )?${fullName(command)}\\b`),
      );
    });
  }

  const missing = spawnSync("groff", ["--version"]).status !== 0 && "groff is not on this machine";
  test("is read by groff without a warning", { skip: missing }, () => {
    for (const page of readdirSync(folder)) {
      const env = { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" };
      const args = ["-man", "-Tutf8", "-Kutf8", "-ww", page];
      const { status, stderr } = spawnSync("groff", args, { cwd: folder, env });
      assert.deepEqual([String(stderr), status], ["", 0], page);
    }
  });
});
