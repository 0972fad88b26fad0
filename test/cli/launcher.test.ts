import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { newFolder } from "../support/folder.ts";
import { launcher } from "../support/shell.ts";

const folder = newFolder();

/** The launcher beside a build that prints "loaded", as on another version of Node. */
function runOn(version: string) {
  const place = mkdtempSync(join(folder, "on-"));
  mkdirSync(join(place, "dist"));
  cpSync(dirname(launcher), join(place, "bin"), { recursive: true });
  const text = readFileSync(launcher, "utf8").replaceAll("process.versions.node", `"${version}"`);
  writeFileSync(join(place, "package.json"), '{"type": "module"}');
  writeFileSync(join(place, "bin/fx.js"), text);
  writeFileSync(join(place, "dist/main.js"), 'console.log("loaded");\n');
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(place, "bin/fx.js")], {
    env: { PATH: process.env.PATH ?? "" },
    encoding: "utf8",
  });
  return [stdout, stderr, status];
}

describe("the launcher", () => {
  test("The launcher is CommonJS without syntax that came after Node 12", () => {
    const type = readFileSync(join(dirname(launcher), "package.json"), "utf8");
    assert.deepEqual(JSON.parse(type), { type: "commonjs" });
    const newer = /\?\.|\?\?|\|\|=|&&=|^(import|export|await)\b|^\s+(static )?#\w|\d_\d/gm;
    assert.deepEqual(readFileSync(launcher, "utf8").match(newer), null);
  });

  for (const version of ["12.22.12", "16.20.2", "18.20.8", "19.9.0", "20.0.0", "20.11.1"]) {
    test(`The launcher says on Node ${version} what fx needs, with exit 2, and loads nothing`, () => {
      const least = packageJson.engines.node.replace(">=", "");
      const told = `fx: this is Node ${version}, and fx needs ${least} or newer. Nothing was done.\n`;
      assert.deepEqual(runOn(version), ["", told, 2]);
    });
  }

  for (const version of ["20.12.0", "20.20.2", "21.0.0", "22.1.0", "24.0.0", "26.3.0", "100.0.0"]) {
    test(`The launcher loads fx on Node ${version}`, () => {
      assert.deepEqual(runOn(version), ["loaded\n", "", 0]);
    });
  }
});
