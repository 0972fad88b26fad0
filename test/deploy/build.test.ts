import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { newFolder } from "../support/folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe("a build over the files of an earlier one", () => {
  const folder = newFolder();
  const main = join(folder, "dist/main.js");
  const leftOver = ["dist/chunk-BEFORE.js", "dist/man/fx-before.1"];
  /** Files that a command which started during the build would not have found. */
  const missing = new Set<string>();
  let looks = 0;

  before(async () => {
    for (const name of [
      "src",
      "build",
      "package.json",
      "package-lock.json",
      "tsconfig.json",
      "tsup.config.ts",
    ])
      cpSync(join(root, name), join(folder, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    mkdirSync(join(folder, "dist/man"), { recursive: true });
    for (const name of leftOver) writeFileSync(join(folder, name), "");
    writeFileSync(main, 'import "./chunk-BEFORE.js";\n');

    const build = spawn("npm", ["run", "build"], { cwd: folder, stdio: "inherit" });
    const ended = once(build, "exit");
    for (; build.exitCode === null; looks += 1) {
      const text = readMain();
      if (!text.endsWith("\n")) missing.add("main.js");
      const absent = importsOf(text).filter((name) => !existsSync(join(folder, "dist", name)));
      if (readMain() === text) for (const name of absent) missing.add(name);
      await turn();
    }
    assert.deepEqual(await ended, [0, null]);
  });

  test("A command that starts during a build finds all that it imports", () => {
    assert.ok(looks > 0);
    assert.deepEqual([...missing], []);
    assert.ok(importsOf(readMain()).length > 1);
  });

  test("A build removes files that only an earlier build had", () => {
    const left = leftOver.filter((name) => existsSync(join(folder, name)));
    assert.deepEqual([left, existsSync(join(folder, "dist/main.js"))], [[], true]);
  });

  function readMain(): string {
    return existsSync(main) ? readFileSync(main, "utf8") : "";
  }
});

function importsOf(text: string): string[] {
  return [...text.matchAll(/(?:from |import |import\()"\.\/([^"]+)"/g)].map(([, name = ""]) => name);
}
