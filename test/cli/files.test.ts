import assert from "node:assert/strict";
import { chmodSync, copyFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runFx, type Served, startFx } from "../support/run-fx.ts";

const folder = newFolder();
const at = (name: string) => join(folder, name);
const umask = process.umask(0);
after(() => process.umask(umask));

let served: Served;
const fx = (line: string, stdin = "") =>
  runFx(line.split(" "), { env: { FX_URL: served.url }, stdin, cwd: folder });

before(async () => {
  served = await startFx(["--rates", "demo"], { env: { FX_DB: "sqlite:fx.db" }, cwd: folder });
});
after(() => served.stop());

test("every file that fx makes can be read by its user alone, where the umask would let all read it", async () => {
  const before = readdirSync(folder);
  const rows = `name,surname,pesel,pln\nJan,Nowak,${adult()},100\nJan,Nowak,${adult()},100\n`;
  const read = { mode: 0o644 };
  writeFileSync(at("accounts.csv"), rows, read);
  assert.equal((await fx("batch accounts.csv --yes --rejects rejects.csv")).exit, 3);
  assert.equal((await fx("audit --checkpoint first.checkpoint")).exit, 0);
  assert.equal((await fx("backup copy.db --db sqlite:fx.db")).exit, 0);
  const made = readdirSync(folder).filter((name) => name !== "accounts.csv");
  for (const name of ["fx.db", "fx.db-wal", "rejects.csv", "first.checkpoint", "copy.db"]) {
    assert.ok(made.includes(name), `${name} is not among ${made}`);
  }
  assert.ok(before.includes("fx.db"));
  for (const name of made) assert.equal((statSync(at(name)).mode & 0o777).toString(8), "600", name);
});

test("a server says so if others may read its ledger", async () => {
  copyFileSync(at("copy.db"), at("open.db"));
  const warnings: boolean[] = [];
  for (const mode of [0o640, 0o600]) {
    chmodSync(at("open.db"), mode);
    const open = await startFx(["--rates", "demo"], { env: { FX_DB: "sqlite:open.db" }, cwd: folder });
    warnings.push(
      /other users of this machine may read or write open\.db: chmod 600/.test((await open.stop()).stderr),
    );
  }
  assert.deepEqual(warnings, [true, false]);
});
