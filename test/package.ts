import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import packageJson from "../package.json" with { type: "json" };
import { documented } from "./deploy/package.ts";
import { newFolder } from "./support/folder.ts";
import { runFx, startFx } from "./support/run-fx.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes: readonly { readonly content: string }[];
}

const permissive = "MIT ISC BSD-2-Clause BSD-3-Clause Apache-2.0 BlueOak-1.0.0 Unlicense 0BSD".split(" ");

// It takes half a minute, so it is not among the tests: npm run try-package.
describe("the packed package, installed under a prefix without a network", () => {
  const prefix = newFolder();
  const fx = join(prefix, "bin/fx");
  const installed = join(prefix, "lib/node_modules/fx");
  const dist = join(installed, "dist");
  const packed = join(prefix, `fx-${packageJson.version}.tgz`);
  const offline = ["--offline", "--cache", join(prefix, "cache")];
  const bundled = new Set<string>();
  let installing: string;

  before(() => {
    writeFileSync(join(root, "dist/left-over.js"), "");
    run("npm", "pack", "--pack-destination", prefix);
    installing = run("npm", "install", "--global", packed, "--prefix", prefix, ...offline);
    for (const file of readdirSync(dist).filter((name) => name.endsWith(".js"))) {
      const text = readFileSync(join(dist, file), "utf8");
      for (const [, name = ""] of text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm))
        bundled.add(name);
    }
    // Minifying removes the comments of the page, so its imports are read from the source.
    const web = join(root, "src/web");
    for (const file of readdirSync(web, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.tsx?$/.test(name),
    )) {
      const text = readFileSync(join(web, file), "utf8");
      for (const [, name = ""] of text.matchAll(/(?:from|import) "((?:@[^/"]+\/)?[^./"][^/"]*)/g))
        bundled.add(name);
    }
  });

  test("The packed package was built when it was packed", () => {
    assert.equal(existsSync(join(dist, "left-over.js")), false);
  });

  test("The packed package has no script that npm would run, or warn of, when it is installed", () => {
    assert.doesNotMatch(installing, /script/);
  });

  test("The packed package tells its version", async () => {
    assert.deepEqual(await runFx(["--version"], { fx }), {
      stdout: `${packageJson.version}\n`,
      stderr: "",
      exit: 0,
    });
  });

  test("The packed package serves", async () => {
    const server = await startFx(["--demo"], { fx, cwd: prefix });
    const { status } = await fetch(`${server.url}/api/user/80010112340`);
    const { exit } = await server.stop();
    assert.deepEqual([status, exit], [200, 0]);
  });

  test("The packed package has its man pages where man looks for them", () => {
    const man = join(prefix, "share/man/man1");
    assert.deepEqual(
      readdirSync(man).sort(),
      packageJson.man.map((page) => basename(page)),
    );
    assert.match(readFileSync(join(man, "fx.1"), "utf8"), /^\.TH "FX" "1"/);
  });

  const shells: [shell: string, script: string, told: RegExp][] = [
    ["bash", "source <(fx completion bash) && complete -p fx", /^complete .* fx$/m],
    [
      "zsh",
      "autoload -U compinit && compinit -u -D && source <(fx completion zsh) && print $_comps[fx]",
      /^_fx$/m,
    ],
    ["fish", 'fx completion fish | source; complete -C "fx acc"', /^account\t/m],
  ];
  for (const [shell, script, told] of shells) {
    test(`The packed package completes in ${shell}`, () => {
      const { stdout, stderr, error } = spawnSync(shell, ["-c", script], {
        env: { PATH: `${join(prefix, "bin")}${delimiter}${process.env.PATH}`, HOME: prefix },
        encoding: "utf8",
      });
      assert.equal(error, undefined);
      assert.equal(stderr, "");
      assert.match(stdout, told);
    });
  }

  test("The packed package carries the licence of every package in its bundle", () => {
    const text = readFileSync(join(dist, "LICENSES.txt"), "utf8");
    const licensed = [...text.matchAll(/^node_modules\/(.+)$/gm)].map(([, name]) => name);
    assert.deepEqual(licensed, [...bundled].sort());
    assert.ok(licensed.includes("commander"));
  });

  test("The packed package lists all of its packages for scanners", () => {
    const { components }: { components: Component[] } = JSON.parse(
      readFileSync(join(dist, "sbom.cdx.json"), "utf8"),
    );
    for (const { name, version, purl, licenses, hashes } of components) {
      assert.equal(purl, `pkg:npm/${name.replace("@", "%40")}@${version}`);
      assert.match(hashes[0]?.content ?? "", /^[0-9a-f]{128}$/);
      // None asks more than that its text goes along.
      assert.ok(permissive.includes(licenses[0]?.license.id ?? ""), `${name}: ${licenses[0]?.license.id}`);
    }
    const inside = [...packagesIn(installed), ...[...bundled].map((name) => `node_modules/${name}`)];
    assert.deepEqual(components.map((each) => each["bom-ref"]).sort(), [...new Set(inside)].sort());
  });

  test("The packed package has nothing that publint warns of", async () => {
    const { messages } = await publint({ pkgDir: installed, level: "warning", pack: false });
    assert.deepEqual(messages, []);
  });

  test("The types of fx/client resolve as its code does, in every way in which an ES module is imported", async () => {
    const checked = await checkPackage(createPackageFromTarballData(readFileSync(packed)));
    const problems = "problems" in checked ? checked.problems : assert.fail("there are no types");
    // TypeScript's oldest resolution knows no exports, and code in CommonJS has to import an ES module dynamically.
    const isOfOld = (problem: object) =>
      Object(problem).resolutionKind === "node10" || Object(problem).kind === "CJSResolvesToESM";
    assert.deepEqual(
      problems.filter((problem) => !isOfOld(problem)),
      [],
    );
  });

  test("The example of docs/CLIENT.md has right types in a project of its own, and does what it says", async () => {
    const project = join(prefix, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(project, "example.ts"), documented("ts", "client: example.ts", "docs/CLIENT.md"));
    run("npm", "install", packed, "--prefix", project, ...offline);
    mkdirSync(join(project, "node_modules/@types"), { recursive: true });
    for (const name of ["@types/node", "undici-types"]) {
      symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
    }
    const compilerOptions = {
      ...{ module: "nodenext", target: "es2022", types: ["node"] },
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["example.ts"] }));
    run(process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", project);
    const server = await startFx(["--demo"], { fx, cwd: prefix });
    const env = { PATH: process.env.PATH, FX_URL: server.url };
    const { stdout, stderr } = spawnSync(process.execPath, ["example.js"], {
      cwd: project,
      env,
      encoding: "utf8",
    });
    await server.stop();
    assert.equal(stderr, "");
    assert.match(stdout, /^receipt \S{36}: \d+\.\d\d PLN, .*\n(done \S{36}\n){3}opening 1\nexchange 2\n/);
  });

  test("The packed package brings the packages that the tests ran with, and none that is in its bundle", () => {
    const lock: { packages: Record<string, { version: string; inBundle?: true }> } = JSON.parse(
      readFileSync(join(root, "package-lock.json"), "utf8"),
    );
    const locked = Object.entries(lock.packages).filter(([, { inBundle }]) => inBundle);
    for (const [path, { version }] of locked)
      assert.equal(JSON.parse(readFileSync(join(installed, path, "package.json"), "utf8")).version, version);
    assert.deepEqual(packagesIn(installed), locked.map(([path]) => path).sort());
  });
});

/** Returns what the command printed on stderr. */
function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, `${command} ${args.join(" ")}: ${stdout}${stderr}`);
  return stderr;
}

/** The paths of the packages below, as a lock file has them. */
function packagesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/@]+)\/package\.json$/.exec(path)?.[1] ?? [])
    .sort();
}
