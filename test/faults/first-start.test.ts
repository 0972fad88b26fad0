import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { backUpSqlite } from "../../src/sqlite/backup.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { newFolder } from "../support/folder.ts";

const rounds = 100;
const startUpMs = 3000;
const tsx = ["--import", "tsx"];
const script = fileURLToPath(new URL("first-start.ts", import.meta.url));

for (const [what, prepare] of [
  ["a new file", async () => {}],
  ["a restored backup", restoreBackups],
] as const) {
  test(`Three processes that start at once on ${what} open one ledger with the account of each`, async (t) => {
    const folder = newFolder(t);
    await prepare(folder);
    const startMs = String(Date.now() + startUpMs);
    const processes = await Promise.all(
      ["0", "1", "2"].map((self) =>
        promisify(execFile)(process.execPath, [...tsx, script, folder, String(rounds), startMs, self]),
      ),
    );
    assert.deepEqual(
      processes.map(({ stdout }) => stdout),
      ["", "", ""],
    );
    for (let round = 0; round < rounds; round += 1) {
      const store = openSqlite(join(folder, `${round}.db`), { access: "read" });
      assert.equal((await store.accounts({ limit: 10 })).length, 3, `round ${round}`);
      await store.close();
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes(".new-")),
      [],
    );
  });
}

async function restoreBackups(folder: string): Promise<void> {
  const [ledger, copy] = [join(folder, "ledger"), join(folder, "copy")];
  await openSqlite(ledger).close();
  await backUpSqlite(ledger, copy);
  for (let round = 0; round < rounds; round += 1) copyFileSync(copy, join(folder, `${round}.db`));
}
