import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import packageJson from "../package.json" with { type: "json" };
import { runFx, startFx } from "./support/run-fx.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

// It takes half a minute, so it is not among the tests: npm run try-package.
describe("the packed package, installed under a prefix without a network", () => {
  const prefix = mkdtempSync(join(tmpdir(), "fx-package-"));
  after(() => rmSync(prefix, { recursive: true }));
  const fx = join(prefix, "bin/fx");
  const installed = join(prefix, "lib/node_modules/fx");
  const dist = join(installed, "dist");
  const bundled = new Set<string>();

  before(() => {
    writeFileSync(join(root, "dist/left-over.js"), "");
    run("npm", "pack", "--pack-destination", prefix);
    const packed = join(prefix, `fx-${packageJson.version}.tgz`);
    run(
      "npm",
      "install",
      "--global",
      packed,
      "--prefix",
      prefix,
      "--offline",
      "--cache",
      join(prefix, "cache"),
    );
    for (const file of readdirSync(dist).filter((name) => name.endsWith(".js"))) {
      const text = readFileSync(join(dist, file), "utf8");
      for (const [, name = ""] of text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm))
        bundled.add(name);
    }
    // Of the page, minifying takes the comments away.
    const web = join(root, "src/web");
    for (const file of readdirSync(web, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.tsx?$/.test(name),
    )) {
      const text = readFileSync(join(web, file), "utf8");
      for (const [, name = ""] of text.matchAll(/(?:from|import) "((?:@[^/"]+\/)?[^./"][^/"]*)/g))
        bundled.add(name);
    }
  });

  test("was built when it was packed", () => {
    assert.equal(existsSync(join(dist, "left-over.js")), false);
  });

  test("tells its version", async () => {
    assert.deepEqual(await runFx(["--version"], { fx }), {
      stdout: `${packageJson.version}\n`,
      stderr: "",
      exit: 0,
    });
  });

  test("serves", async () => {
    const server = await startFx(["--demo"], { fx, cwd: prefix });
    const { status } = await fetch(`${server.url}/api/user/80010112340`);
    const { exit } = await server.stop();
    assert.deepEqual([status, exit], [200, 0]);
  });

  test("has its man pages where man looks for them", () => {
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
    test(`completes in ${shell}`, () => {
      const { stdout, stderr, error } = spawnSync(shell, ["-c", script], {
        env: { PATH: `${join(prefix, "bin")}${delimiter}${process.env.PATH}`, HOME: prefix },
        encoding: "utf8",
      });
      assert.equal(error, undefined);
      assert.equal(stderr, "");
      assert.match(stdout, told);
    });
  }

  test("carries the licence of every package in its bundle", () => {
    const text = readFileSync(join(dist, "LICENSES.txt"), "utf8");
    const licensed = [...text.matchAll(/^node_modules\/(.+)$/gm)].map(([, name]) => name);
    assert.deepEqual(licensed, [...bundled].sort());
    assert.ok(licensed.includes("commander"));
  });

  test("lists all of its packages for scanners", () => {
    const { components }: { components: { "bom-ref": string }[] } = JSON.parse(
      readFileSync(join(dist, "sbom.cdx.json"), "utf8"),
    );
    const inside = [...packagesIn(installed), ...[...bundled].map((name) => `node_modules/${name}`)];
    assert.deepEqual(components.map((each) => each["bom-ref"]).sort(), [...new Set(inside)].sort());
  });

  test("brings the packages that the tests ran with, and none that is in its bundle", () => {
    const lock: { packages: Record<string, { version: string; inBundle?: true }> } = JSON.parse(
      readFileSync(join(root, "package-lock.json"), "utf8"),
    );
    const locked = Object.entries(lock.packages).filter(([, { inBundle }]) => inBundle);
    for (const [path, { version }] of locked)
      assert.equal(JSON.parse(readFileSync(join(installed, path, "package.json"), "utf8")).version, version);
    assert.deepEqual(packagesIn(installed), locked.map(([path]) => path).sort());
  });
});

function run(command: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, `${command} ${args.join(" ")}: ${stdout}${stderr}`);
}

/** The paths of the packages below, as a lock file has them. */
function packagesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/@]+)\/package\.json$/.exec(path)?.[1] ?? [])
    .sort();
}
