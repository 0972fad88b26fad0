import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openHttpService } from "../../src/client/http-service.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { readHistory } from "../load/history.ts";
import { requireClean, underLoad } from "../load/ledger.ts";
import { adapters } from "../support/adapters.ts";
import { newFolder } from "../support/folder.ts";
import { startFx } from "../support/run-fx.ts";
import { everyPage } from "../support/service.ts";

const accounts = 60;
/** Age from which the balances at a time are final. */
const settledMs = 10_000;

type Sums = Readonly<Record<string, bigint>>;

/** Sums of all accounts' balances at a time. */
async function summedAt(service: ExchangeService, at: Date): Promise<Sums> {
  const sums: Record<string, bigint> = {};
  for (const { balances } of await everyPage((page) => service.accounts({ ...page, at }), 25)) {
    for (const { currency, minor } of balances) sums[currency] = (sums[currency] ?? 0n) + minor;
  }
  return sums;
}

async function customersAt(service: ExchangeService, at: Date): Promise<Sums> {
  const { currencies } = await service.position(at);
  return Object.fromEntries(currencies.map(({ currency, customers }) => [currency, customers]));
}

describe("Past balances under load from two processes", { concurrency: true }, () => {
  for (const { name, database } of adapters) {
    if (database === undefined) continue;
    test(`Past balances under load always add up to the position of that time, ${name}`, async (t) => {
      const { url, open } = await database(t);
      const start = () => startFx(["--rates", "demo", "--log-level", "error"], { env: { FX_DB: url } });
      const servers = [await start(), await start()];
      t.after(() => Promise.all(servers.map((server) => server.stop())));
      const services = servers.map((server) => openHttpService(server.url));
      t.after(() => Promise.all(services.map((service) => service.close())));
      const [one, other] = services as [ExchangeService, ExchangeService];
      const mix = { order: 90, "new account": 10 };
      const load = { urls: servers.map(({ url }) => url), accounts, mix, readers: 0, pauseMs: 50 };
      const history = await underLoad(newFolder(t), load, async () => {
        await sleep(settledMs);
        const seen: { at: Date; sums: Sums }[] = [];
        while (seen.length < 5) {
          await sleep(100);
          const at = new Date(Date.now() - settledMs);
          const [sums, customers] = await Promise.all([summedAt(one, at), customersAt(other, at)]);
          assert.deepEqual(sums, customers);
          if (sums.PLN !== seen.at(-1)?.sums.PLN) seen.push({ at, sums });
        }
        for (const { at, sums } of seen) {
          assert.deepEqual(await summedAt(other, at), sums);
          assert.deepEqual(await customersAt(one, at), sums);
        }
      });
      await requireClean(await open(), readHistory(history.file));
    });
  }
});
