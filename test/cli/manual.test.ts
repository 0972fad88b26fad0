import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { fullName } from "../../src/cli/command.ts";
import { program, commands as subcommands } from "../support/commands.ts";

const folder = fileURLToPath(new URL("../../dist/man/", import.meta.url));
const commands = [program, ...subcommands];
const pageOf = (command: Command) => `${fullName(command).replaceAll(" ", "-")}.1`;

describe("the manual that the build writes", () => {
  test("The manual has a page for every command, and no other", () => {
    assert.deepEqual(readdirSync(folder).sort(), commands.map(pageOf).sort());
  });

  test("The manual is listed in package.json, which the build writes, and from which npm installs it", () => {
    const pages = readdirSync(folder).sort();
    assert.deepEqual(
      packageJson.man,
      pages.map((page) => `dist/man/${page}`),
    );
  });

  test("The manual has every option, and each page its subcommands", () => {
    for (const command of commands) {
      const text = readFileSync(folder + pageOf(command), "utf8").replaceAll("\\-", "-");
      assert.ok(text.startsWith(".TH "));
      for (const { flags } of command.options) assert.ok(text.includes(`\n\\fB${flags}\\fR\n`), flags);
      for (const child of command.commands) assert.ok(text.includes(`\\fB${pageOf(child).slice(0, -2)}(1)`));
      assert.match(text, /\n\.SH EXAMPLES\n\.EX\n\$ /);
    }
  });

  const missing = spawnSync("groff", ["--version"]).status !== 0 && "groff is not on this machine";
  test("The manual is read by groff without a warning", { skip: missing }, () => {
    for (const page of readdirSync(folder)) {
      const env = { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" };
      const args = ["-man", "-Tutf8", "-Kutf8", "-ww", page];
      const { status, stderr } = spawnSync("groff", args, { cwd: folder, env });
      assert.deepEqual([String(stderr), status], ["", 0], page);
    }
  });
});
