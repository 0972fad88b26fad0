import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { launcher } from "../support/shell.ts";

const folder = mkdtempSync(join(tmpdir(), "fx-launcher-"));
after(() => rmSync(folder, { recursive: true }));

/** The launcher beside a build that prints "loaded", as on another version of Node. */
function runOn(version: string) {
  const place = mkdtempSync(join(folder, "on-"));
  for (const name of ["bin", "dist"]) mkdirSync(join(place, name));
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
  for (const version of ["14.21.3", "16.20.2", "18.20.8", "19.9.0", "20.0.0", "20.11.1"]) {
    test(`says on Node ${version} what fx needs, with exit 2, and loads nothing`, () => {
      const least = packageJson.engines.node.replace(">=", "");
      const told = `fx: this is Node ${version}, and fx needs ${least} or newer. Nothing was done.\n`;
      assert.deepEqual(runOn(version), ["", told, 2]);
    });
  }

  for (const version of ["20.12.0", "20.20.2", "21.0.0", "22.1.0", "24.0.0", "26.3.0", "100.0.0"]) {
    test(`loads fx on Node ${version}`, () => {
      assert.deepEqual(runOn(version), ["loaded\n", "", 0]);
    });
  }
});
