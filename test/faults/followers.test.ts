import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { openHttpService } from "../../src/client/http-service.ts";
import type { Receipt } from "../../src/core/journal.ts";
import { type ExchangeService, longestPage } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { createDatabase } from "../support/postgres.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { openTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { centOrder, sendOrder } from "./orders.ts";

const accounts = 16;
const clients = 16;
/** Clients of these that send batches, to one of the servers. */
const bulks = 1;
const bulkLines = 200;
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

/** An account of this client's half, so that the two servers lock no account of each other's and commit side by side. */
function accountOf(nth: number, count: number): string {
  return adult(((2 * count) % accounts) + (nth % 2));
}

/** A batch, which takes longer to commit than an order. Resolves to its lines if all of them are done. */
async function sendBulk(url: string, name: string, nth: number): Promise<number> {
  const lines = Array.from({ length: bulkLines }, (_, line) => {
    return {
      kind: "deposit",
      pesel: accountOf(nth, line),
      amount: 1,
      currency: "PLN",
      key: `${name}-${line}`,
    };
  });
  const headers = { "content-type": "application/x-ndjson" };
  const body = Buffer.from(lines.map((line) => JSON.stringify(line)).join("\n"));
  const { text } = await send(url, "POST", "/api/bulk", { headers, body });
  return text.match(/"status":200/g)?.length === bulkLines ? bulkLines : 0;
}

async function sendSingle(url: string, name: string, pesel: string): Promise<number> {
  return (await sendOrder(url, centOrder(pesel, name))).status === 200 ? 1 : 0;
}

test("Followers of two servers see every entry once and in order, although they are cut and servers are killed", async (t) => {
  const database = await createDatabase();
  t.after(() => database.drop());
  const store = await openPostgres(database.url);
  const local = new LedgerService(store, fixedRates());
  t.after(() => local.close());
  for (let index = 0; index < accounts; index += 1)
    await local.createAccount(opening({ index, pln: "1000" }));
  const env = { FX_DB: `${database.url}?pool_size=5` };
  const start = () => startFx(["--rates", "demo", "--log-level", "silent"], { env });
  const servers = [await start(), await start()];
  t.after(() => Promise.all(servers.map((server) => server.stop())));
  // It leads to the servers of the moment, in turn.
  const network = await openTcpProxy((nth) => Number(new URL(servers[nth % servers.length]?.url ?? "").port));
  const remote = openHttpService(network.url, { pauseMs: 20 });
  t.after(() => network.close());

  const ending = new AbortController();
  const seen: Receipt[][] = [[], []];
  const following = [
    follow(remote, seen[0] ?? [], ending.signal),
    readPages(local, seen[1] ?? [], ending.signal),
  ];

  await until(() => seen.every(({ length }) => length > 0));

  let isFaulty = true;
  let settled = 0;
  const client = async (nth: number) => {
    for (let count = 0; isFaulty; count += 1) {
      const name = `order-${nth}-${count}`;
      let done = 0;
      for (let tries = 0; done === 0; tries += 1) {
        const { url } = servers[(nth + tries) % servers.length] as Served;
        const sent = nth < bulks ? sendBulk(url, name, nth) : sendSingle(url, name, accountOf(nth, count));
        done = await sent.catch(() => pause(20, 0));
      }
      settled += done;
    }
  };
  const load = Promise.all(Array.from({ length: clients }, (_, nth) => client(nth)));
  for (let cut = 1; cut <= cuts; cut += 1) {
    await pause(Math.random() * 100);
    network.cut();
    if (cut % (cuts / kills) > 0) continue;
    const nth = ((cut * kills) / cuts) % 2;
    servers[nth]?.signal("SIGKILL");
    await servers[nth]?.ended;
    servers[nth] = await start();
  }
  isFaulty = false;
  await load;

  const journal = await database.run("select id, pesel, sequence from journal order by position");
  const ids = journal.map(({ id }) => id);
  assert.equal(ids.length, accounts + settled);
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
