import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { newFolder } from "../support/folder.ts";
import { type Served, startFx } from "../support/run-fx.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const folder = newFolder();

// Run by `npm run openapi`, and not with the tests, as it downloads two packages.
let server: Served;
before(async () => {
  server = await startFx();
  writeFileSync(join(folder, "openapi.json"), await (await fetch(`${server.url}/openapi.json`)).text());
});
after(() => server.stop());

test("Redocly's lint finds nothing wrong with the document", () => {
  npx("@redocly/cli@2.77.0", "lint", "openapi.json", "--config", join(here, "redocly.yaml"));
});

test("A client with the types of openapi-typescript compiles, opens an account and exchanges", () => {
  npx("openapi-typescript@7.13.0", "openapi.json", "--output", "schema.d.ts");
  copyFileSync(join(here, "program.ts"), join(folder, "program.ts"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  const options = {
    module: "nodenext",
    lib: ["es2023", "dom"],
    strict: true,
    allowImportingTsExtensions: true,
  };
  const types = { types: ["node"], typeRoots: [join(root, "node_modules/@types")], noEmit: true };
  const tsconfig = { compilerOptions: { ...options, ...types }, files: ["program.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  run(root, join(root, "node_modules/.bin/tsc"), "-p", folder);
  run(root, process.execPath, "--import", "tsx", join(folder, "program.ts"), server.url);
});

/** Runs packages outside the dependencies: one needs another TypeScript, the other brings hundreds of packages. */
function npx(...command: string[]): void {
  run(folder, "npx", "--yes", ...command);
}

function run(cwd: string, command: string, ...args: string[]): void {
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  assert.equal(status, 0, `${command} ${args.join(" ")}\n${stdout}${stderr}`);
}
