import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Rejects } from "../../src/cli/commands/batch/rejects.ts";
import { NewFile } from "../../src/files/new-file.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runHere } from "../support/run-here.ts";

const nobody = 65534;
const env = { FX_URL: "sqlite:ledger/fx.db", FX_DB: "sqlite:ledger/fx.db", FX_RATES: "demo" };
const account = ["--name", "Jan", "--surname", "Nowak", "--pln", "5"];
/** The line is refused, because there is no such account. */
const batch = `kind,pesel,amount,currency\ndeposit,${adult(7)},1,PLN\n`;

/** Each command that makes a file of a name that is given, and its exit when it has made it. */
const writers: Record<string, { readonly exit: number; readonly args: (path: string) => string[] }> = {
  "fx batch --rejects": { exit: 3, args: (path) => ["batch", "-", "--rejects", path, "--json"] },
  "fx audit --checkpoint": { exit: 0, args: (path) => ["audit", "--checkpoint", path] },
  "fx backup": { exit: 0, args: (path) => ["backup", path] },
  "fx account create on a new ledger": {
    exit: 0,
    args: (path) => ["account", "create", adult(1), ...account, "--url", `sqlite:${path}`],
  },
};
const replacing = "fx account create on a new ledger";

/** A folder with a ledger in `ledger/fx.db`, and an empty folder `out`. */
async function workplace(t: TestContext) {
  const cwd = newFolder(t);
  for (const name of ["ledger", "out"]) mkdirSync(join(cwd, name));
  const run = (args: readonly string[]) => runHere(args, { cwd, env, stdin: batch });
  const { exit, stderr } = await run(["account", "create", adult(), ...account]);
  assert.equal(exit, 0, stderr);
  return { cwd, out: join(cwd, "out"), run };
}

describe("a command that makes a file", () => {
  for (const [name, { args, exit }] of Object.entries(writers)) {
    test(`A command that makes a file leaves alone the files of others beside it: ${name}`, async (t) => {
      const { out, run } = await workplace(t);
      const endings = ["part", "partial", "tmp", "new", "next", "bak", "draft", "lock", "upgraded", "1"];
      const others = [...endings.map((ending) => `new.file.${ending}`), "new.file~", ".new.file.swp"];
      for (const other of others) writeFileSync(join(out, other), "of somebody else");
      const ran = await run(args("out/new.file"));
      assert.equal(ran.exit, exit, ran.stderr);
      for (const other of others) assert.equal(readFileSync(join(out, other), "utf8"), "of somebody else");
      const made = readdirSync(out).filter((file) => !others.includes(file) && !/-(wal|shm)$/.test(file));
      assert.deepEqual(made, ["new.file"]);
    });

    test(`A command that makes a file makes it where a symbolic link leads, and leaves the link: ${name}`, async (t) => {
      const { cwd, out, run } = await workplace(t);
      symlinkSync("out/new.file", join(cwd, "link"));
      const ran = await run(args("link"));
      assert.equal(ran.exit, exit, ran.stderr);
      assert.ok(lstatSync(join(cwd, "link")).isSymbolicLink());
      assert.ok(existsSync(join(out, "new.file")));
    });

    if (name === replacing) continue;
    for (const [what, make] of [
      ["a file", writeFileSync],
      ["a symbolic link to a file", (path: string) => linkTo(path, symlinkSync)],
      ["another hard link to a file", (path: string) => linkTo(path, linkSync)],
    ] as const) {
      test(`A command that makes a file replaces nothing where there is ${what}: ${name}`, async (t) => {
        const { out, run } = await workplace(t);
        make(join(out, "new.file"), "of somebody else");
        const before = readdirSync(out);
        const ran = await run(args("out/new.file"));
        assert.equal(ran.exit, 2);
        assert.match(ran.stderr, /exists/);
        assert.equal(readFileSync(join(out, "new.file"), "utf8"), "of somebody else");
        assert.deepEqual(readdirSync(out), before);
      });
    }

    test(`A command that makes a file makes none that SQLite would take for a part of a ledger: ${name}`, async (t) => {
      const { cwd, run } = await workplace(t);
      const file = "ledger/fx.db-journal";
      const ran = await run(args(file));
      assert.equal(ran.exit, 2);
      assert.match(ran.stderr, /SQLite would take it for a part of .*fx\.db/);
      assert.ok(!existsSync(join(cwd, file)));
    });
  }
});

for (const ending of ["-wal", "-shm", "-journal"]) {
  test(`A backup is not put beside a ${ending} that SQLite would take for its own`, async (t) => {
    const { cwd, out, run } = await workplace(t);
    writeFileSync(join(out, `copy${ending}`), "not of fx");
    symlinkSync("out/copy", join(cwd, "link"));
    const { exit, stderr } = await run(["backup", "link"]);
    assert.equal(exit, 2);
    assert.match(stderr, new RegExp(`copy${ending} exists, and SQLite would take it for a part of the copy`));
    assert.deepEqual(readdirSync(out), [`copy${ending}`]);
  });
}

function linkTo(path: string, link: (target: string, path: string) => void): void {
  writeFileSync(`${path}.target`, "of somebody else");
  link(`${path}.target`, path);
}

describe("a file that is being made", () => {
  test("A file that is being made does not replace one that another process makes meanwhile", (t) => {
    const folder = newFolder(t);
    const path = join(folder, "new.file");
    const file = new NewFile(path);
    file.write("of fx");
    writeFileSync(path, "of somebody else");
    assert.throws(() => file.keep(), { code: "EEXIST" });
    file.close();
    assert.equal(readFileSync(path, "utf8"), "of somebody else");
    assert.deepEqual(readdirSync(folder), ["new.file"]);
  });

  test("a file of rejects whose name was taken meanwhile is reported", (t) => {
    const path = join(newFolder(t), "rejects.csv");
    const rejects = new Rejects(path, undefined);
    rejects.add("1");
    writeFileSync(path, "of somebody else");
    rejects.close();
    assert.match(rejects.problem ?? "", /rejects\.csv exists\. Name a new file/);
  });

  test("A file that is being made has no name and leaves nothing if it is closed before it is kept", (t) => {
    const folder = newFolder(t);
    const file = new NewFile(join(folder, "new.file"));
    file.write("half of");
    assert.ok(!existsSync(file.path));
    file.close();
    assert.deepEqual(readdirSync(folder), []);
  });

  const isRoot = process.getuid?.() === 0;

  test("A file gets its name in a folder that may be written and not be read", (t) => {
    const folder = newFolder(t);
    // Root may read every folder.
    if (isRoot) chownSync(folder, nobody, nobody);
    chmodSync(folder, 0o300);
    if (isRoot) process.seteuid?.(nobody);
    try {
      const file = new NewFile(join(folder, "new.file"));
      file.keep();
      file.close();
      assert.deepEqual([existsSync(file.path), existsSync(file.draft)], [true, false]);
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder, 0o700);
    }
  });

  test("A file gets its name in a folder where files can be added and not be removed", (t) => {
    const folder = newFolder(t);
    if (spawnSync("chattr", ["+a", folder]).status !== 0) return t.skip("chattr +a takes root's rights");
    try {
      const file = new NewFile(join(folder, "new.file"));
      file.write("of fx");
      file.keep();
      file.close();
      assert.equal(readFileSync(file.path, "utf8"), "of fx");
    } finally {
      spawnSync("chattr", ["-a", folder]);
    }
  });

  test("A file that is being made leaves nothing if its process exits", (t) => {
    const folder = newFolder(t);
    const module = new URL("../../src/files/new-file.ts", import.meta.url);
    const code = `const { NewFile } = await import(${JSON.stringify(module.href)});
      new NewFile(${JSON.stringify(join(folder, "new.file"))}).write("half of");
      process.exit(130);`;
    const { status } = spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code]);
    assert.equal(status, 130);
    assert.deepEqual(readdirSync(folder), []);
  });
});
