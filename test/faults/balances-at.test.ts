import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openHttpService } from "../../src/client/http-service.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { cash } from "../service-changes.contract.ts";
import { adapters } from "../support/adapters.ts";
import { adult, opening, terms } from "../support/fixture.ts";
import { startFx } from "../support/run-fx.ts";
import { everyPage } from "../support/service.ts";

const accounts = 60;
const clients = 8;
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

/** Random exchanges, deposits, withdrawals and openings by clients of both servers, until `isOver`. */
async function load(services: readonly ExchangeService[], isOver: () => boolean): Promise<void> {
  let opened = accounts;
  const client = async () => {
    while (!isOver()) {
      const service = services[Math.floor(Math.random() * services.length)] as ExchangeService;
      const pesel = adult(Math.floor(Math.random() * accounts));
      const dice = Math.random();
      if (dice < 0.5) await service.exchange({ pesel, ...terms("sell 0.37 PLN for USD") });
      else if (dice < 0.7) await service.change(cash("deposit", pesel, "3 USD"));
      else if (dice < 0.9) await service.change(cash("withdrawal", pesel, "0.01 PLN"));
      else {
        opened += 1;
        await service.createAccount(opening({ index: opened }));
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}

describe("Past balances under load from two processes", { concurrency: true }, () => {
  for (const { name, database } of adapters) {
    if (database === undefined) continue;
    test(`Past balances under load always add up to the position of that time, ${name}`, async (t) => {
      const { url } = await database(t);
      const start = () => startFx(["--rates", "demo", "--log-level", "error"], { env: { FX_DB: url } });
      const servers = [await start(), await start()];
      t.after(() => Promise.all(servers.map((server) => server.stop())));
      const services = servers.map((server) => openHttpService(server.url));
      t.after(() => Promise.all(services.map((service) => service.close())));
      const [one, other] = services as [ExchangeService, ExchangeService];
      await Promise.all(
        Array.from({ length: accounts }, (_, index) => one.createAccount(opening({ index }))),
      );
      let isOver = false;
      const loaded = load(services, () => isOver);
      try {
        await sleep(settledMs);
        const seen: { at: Date; sums: Sums }[] = [];
        while (seen.length < 5) {
          await sleep(100);
          const at = new Date(Date.now() - settledMs);
          const [sums, customers] = await Promise.all([summedAt(one, at), customersAt(other, at)]);
          assert.deepEqual(sums, customers);
          if (sums.PLN !== seen.at(-1)?.sums.PLN) seen.push({ at, sums });
        }
        isOver = true;
        await loaded;
        for (const { at, sums } of seen) {
          assert.deepEqual(await summedAt(other, at), sums);
          assert.deepEqual(await customersAt(one, at), sums);
        }
      } finally {
        isOver = true;
        await loaded;
      }
    });
  }
});
