import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ExchangeService } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { describeExchangeService } from "../service.contract.ts";
import { adapters, openTwice } from "../support/adapters.ts";
import { openInstance } from "../support/server.ts";
import { withToken } from "../support/service.ts";

for (const adapter of adapters) {
  const open = async (t: Pick<TestContext, "after">) => {
    const [store, there] = await openTwice(adapter, t as TestContext);
    const { service, rates, clock } = await openInstance(store);
    const other = new LedgerService(there, rates, () => clock.now);
    const as = (by: string | undefined) => (by === undefined ? noted(service) : withToken(other, by));
    return { service: noted(service), rates, clock, as };
  };
  describeExchangeService(`ExchangeService over ${adapter.name}`, open, adapter.name === "memory:");
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
