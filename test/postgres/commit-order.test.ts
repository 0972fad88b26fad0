import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { adult } from "../support/fixture.ts";
import { create, emptyDatabase, openStore, sellGrosz } from "../support/postgres-store.ts";

test("A reader that goes on after the last position it saw misses no entry that several servers commit", async (t) => {
  const { url } = await emptyDatabase(t);
  const reader = await openStore(t, url);
  const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(t, url, { poolSize: 4 })));
  const orders = 60;
  let isOver = false;
  const seen: string[] = [];
  const reading = (async () => {
    for (let after = 0; ; await nextTurn()) {
      const wasOver = isOver;
      const page = await reader.entries({ after, limit: 1000 });
      seen.push(...page.map(({ entry }) => entry.id));
      after = page.at(-1)?.position ?? after;
      if (wasOver && page.length === 0) return;
    }
  })();
  const writing = stores.flatMap((store, nth) =>
    [0, 1, 2, 3].map(async (lane) => {
      const pesel = adult(nth * 4 + lane);
      await create(store, pesel);
      for (let order = 0; order < orders; order += 1) await sellGrosz(store, [pesel]);
    }),
  );
  await Promise.all(writing);
  isOver = true;
  await reading;
  const all = await reader.rows("journal", { limit: 10_000 });
  assert.equal(all.length, 16 * (orders + 1));
  assert.deepEqual(
    seen,
    all.map(({ entry }) => JSON.parse(entry).id),
  );
});

test("A ledger without the row that orders commits takes no entries, and is told as damaged", async (t) => {
  const database = await emptyDatabase(t);
  const store = await openStore(t, database.url);
  await create(store, adult());
  await database.run("delete from fx_schema");
  await assert.rejects(sellGrosz(store, [adult()]), { message: /The ledger is damaged/ });
  assert.equal((await store.account(adult()))?.sequence, 1);
});
