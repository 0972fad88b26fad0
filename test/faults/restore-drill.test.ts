import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { adult } from "../support/fixture.ts";
import { runHere } from "../support/run-here.ts";

/** The restore drill of docs/OPERATIONS.md: a copy that is too old has a clean audit, and only a checkpoint shows it. */

/** A ledger that can be copied, and its copy be opened in its place. */
interface Drill {
  /** For `--url`. */
  readonly place: string;
  backUp(): Promise<void>;
  /** Puts the copy in the ledger's place, or gives where it was restored. */
  restore(): Promise<string>;
}

async function sqliteDrill(_t: TestContext, folder: string): Promise<Drill> {
  const [path, copy] = [join(folder, "fx.db"), join(folder, "copy.db")];
  return {
    place: `sqlite:${path}`,
    backUp: async () => {
      const { exit, stderr } = await runHere(["backup", copy, "--db", `sqlite:${path}`]);
      assert.equal(exit, 0, stderr);
    },
    restore: async () => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
      copyFileSync(copy, path);
      return `sqlite:${path}`;
    },
  };
}

/** A database made of another as its template is a copy of one moment, as a dump is. */
async function postgresDrill(t: TestContext): Promise<Drill> {
  const { createDatabase, sharedServer, runSql } = await import("../support/postgres.ts");
  const database = await createDatabase();
  const server = await sharedServer();
  const name = new URL(database.url).pathname.slice(1);
  const restored = new URL(database.url);
  restored.pathname = `/${name}_copy`;
  t.after(async () => {
    await runSql(server, `drop database if exists ${name}_copy with (force)`);
    await database.drop();
  });
  return {
    place: database.url,
    backUp: async () => {
      await runSql(server, `create database ${name}_copy template ${name}`);
    },
    restore: async () => restored.href,
  };
}

const drills = {
  "SQLite (fx backup)": sqliteDrill,
  ...(process.env.FX_TEST_POSTGRES !== "none" && { PostgreSQL: postgresDrill }),
};

describe("the restore drill", () => {
  for (const [name, start] of Object.entries(drills)) {
    test(`names what an older copy lacks, ${name}`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), "fx-drill-"));
      t.after(() => rmSync(folder, { recursive: true }));
      const { place, backUp, restore } = await start(t, folder);
      const [checkpoint, early] = [join(folder, "checkpoint"), join(folder, "early")];
      const fx = (url: string, ...args: string[]) =>
        runHere(args, { env: { FX_URL: url, FX_RATES: "demo" }, cwd: folder });
      const done = async (...args: string[]) => {
        const { exit, stderr } = await fx(place, ...args);
        assert.equal(exit, 0, stderr);
      };
      const create = (index: number) =>
        done("account", "create", adult(index), "--name", "Jan", "--surname", "K", "--pln", "900");
      const buy = (index: number) =>
        done("exchange", adult(index), ..."--from PLN --to USD --to-buy 1 --yes".split(" "));

      await create(0);
      await create(1);
      await buy(0);
      await done("audit", "--checkpoint", early);
      await backUp();
      await buy(0);
      await buy(0);
      await create(2);
      await done("audit", "--checkpoint", checkpoint);
      const copy = await restore();

      const clean = await fx(copy, "audit", "--json");
      assert.deepEqual([clean.exit, JSON.parse(clean.stdout).ok], [0, true]);
      assert.equal((await fx(copy, "audit", "--against", early)).exit, 0);

      const late = await fx(copy, "audit", "--against", checkpoint, "--json");
      const { ok, findings, against } = JSON.parse(late.stdout);
      assert.deepEqual([late.exit, ok, findings], [1, false, []]);
      assert.deepEqual(
        [
          against.accounts,
          against.found,
          against.lost.map(({ customer: _, ...head }: object & { customer: string }) => head),
        ],
        [
          3,
          2,
          [
            { entries: 4, entriesNow: 2, account: adult(0) },
            { entries: 1, entriesNow: 0, account: null },
          ],
        ],
      );
      const { stdout, stderr } = await fx(copy, "audit", "--against", checkpoint);
      assert.match(stdout, /\t4\t2\tmissing entries\n.*\t1\t0\tmissing account\n/);
      assert.match(stdout, /\ncompared\t3\nfound\t2\nlost\t2\nlost entries\t3\n/);
      assert.match(stderr, /lacks what the checkpoint saw\. It is an older copy/);
    });
  }
});
