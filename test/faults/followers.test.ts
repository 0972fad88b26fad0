import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { openHttpService } from "../../src/client/http-service.ts";
import type { Receipt } from "../../src/core/journal.ts";
import { type ExchangeService, longestPage } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { readHistory } from "../load/history.ts";
import { requireClean, underLoad } from "../load/ledger.ts";
import { fixedRates } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { createDatabase } from "../support/postgres.ts";
import { startFx } from "../support/run-fx.ts";
import { openTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

const cuts = 100;
const kills = 4;

/** Follows over HTTP until it is aborted. */
async function follow(service: ExchangeService, seen: Receipt[], signal: AbortSignal): Promise<void> {
  for await (const receipts of service.follow({ signal })) seen.push(...receipts);
}

/** Asks for page after page, often, so that it looks between any two commits. */
async function readPages(service: ExchangeService, seen: Receipt[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { items } = await service.entries({ after: seen.at(-1)?.id, limit: longestPage });
    seen.push(...items);
    await pause(2);
  }
}

test("Followers of two servers see every entry once and in order, although they are cut and servers are killed", async (t) => {
  const database = await createDatabase();
  t.after(() => database.drop());
  const store = await openPostgres(database.url);
  const local = new LedgerService(store, fixedRates());
  t.after(() => local.close());
  const env = { FX_DB: `${database.url}?pool_size=5` };
  const start = (port = "0") =>
    startFx(["--rates", "demo", "--log-level", "silent", "--port", port], { env });
  const servers = [await start(), await start()];
  const urls = servers.map(({ url }) => url);
  t.after(() => Promise.all(servers.map((server) => server.stop())));
  const network = await openTcpProxy((nth) => Number(new URL(urls[nth % urls.length] ?? "").port));
  const remote = openHttpService(network.url, { pauseMs: 20 });
  t.after(() => network.close());

  const ending = new AbortController();
  const seen: Receipt[][] = [[], []];
  const following = [
    follow(remote, seen[0] ?? [], ending.signal),
    readPages(local, seen[1] ?? [], ending.signal),
  ];

  // Many accounts, so that the servers seldom wait for each other's locks, and batches, which take long to commit.
  const mix = { order: 40, bulk: 1 };
  const load = { urls, accounts: 200, mostLines: 200, writers: 16, readers: 0, pauseMs: 0, mix };
  const history = await underLoad(newFolder(t), load, async () => {
    await until(() => seen.every(({ length }) => length > 0));
    for (let cut = 1; cut <= cuts; cut += 1) {
      await pause(Math.random() * 100);
      network.cut();
      if (cut % (cuts / kills) > 0) continue;
      const nth = ((cut * kills) / cuts) % 2;
      servers[nth]?.signal("SIGKILL");
      await servers[nth]?.ended;
      servers[nth] = await start(new URL(urls[nth] ?? "").port);
    }
  });
  await requireClean(store, readHistory(history.file));

  const journal = await database.run("select id, pesel, sequence from journal order by position");
  const ids = journal.map(({ id }) => id);
  await until(() => seen.every(({ length }) => length >= ids.length));
  ending.abort();
  network.cut();
  await Promise.all(following);
  for (const receipts of seen) {
    assert.deepEqual(
      receipts.map(({ id }) => id),
      ids,
    );
    const next = new Map<string, number>();
    for (const { pesel, sequence } of receipts) {
      assert.equal(sequence, next.get(pesel) ?? 1);
      next.set(pesel, sequence + 1);
    }
  }
  t.diagnostic(`${ids.length} entries, ${cuts} cuts, ${kills} kills`);
  await remote.close();
});
