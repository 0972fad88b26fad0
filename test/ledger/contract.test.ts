import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import type { ExchangeService } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { describeExchangeService } from "../service.contract.ts";
import { adapters } from "../support/adapters.ts";
import { openInstance } from "../support/server.ts";
import { withToken } from "../support/service.ts";

const cleanUps: (() => unknown)[] = [];
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

for (const { name, open } of adapters) {
  describeExchangeService(`ExchangeService over ${name}`, async () => {
    const t = { after: (cleanUp: () => unknown) => cleanUps.push(cleanUp) } as unknown as TestContext;
    const { service, rates, clock } = await openInstance(await open(t));
    const as = (by: string | undefined) => withToken(service, by);
    return { service: noted(service), rates, clock, as, close: () => service.close() };
  });
}

const asked = new Set<string | symbol>(["constructor", "close", "commits"]);

function noted(service: ExchangeService): ExchangeService {
  return new Proxy(service, {
    get: (target, name) => {
      asked.add(name);
      const method: unknown = Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

test("the contract asks every method", () => {
  const all = Object.getOwnPropertyNames(LedgerService.prototype);
  assert.deepEqual(
    all.filter((name) => !asked.has(name)),
    [],
  );
});
