import assert from "node:assert/strict";
import { test } from "node:test";
import { openHttpService } from "../src/client/http-service.ts";
import type { ExchangeService } from "../src/core/service.ts";
import { LedgerService } from "../src/ledger/service.ts";
import { describeExchangeService } from "./service.contract.ts";
import { openInstance, startServer } from "./support/server.ts";
import { withToken } from "./support/service.ts";

describeExchangeService("ExchangeService over a store in this process", async () => {
  const { service, rates, clock } = await openInstance();
  const as = (by: string | undefined) => withToken(service, by);
  return { service: noted(service), rates, clock, as, close: () => service.close() };
});

describeExchangeService("ExchangeService over HTTP", async () => {
  const server = await startServer();
  const service = openHttpService(server.url);
  return {
    service,
    rates: server.rates,
    clock: server.clock,
    as: (name) => {
      server.caller = name === undefined ? undefined : { name, role: "operator", expires: undefined };
      return service;
    },
    close: async () => {
      await service.close();
      await server.close();
    },
  };
});

const asked = new Set<string | symbol>(["constructor", "close"]);

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
