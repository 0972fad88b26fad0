import assert from "node:assert/strict";
import { test } from "node:test";
import { openHttpService } from "../src/client/http-service.ts";
import { openSqlite } from "../src/sqlite/store.ts";
import { describeExchangeService } from "./service.contract.ts";
import { opening } from "./support/fixture.ts";
import { startServer } from "./support/server.ts";

describeExchangeService("ExchangeService over HTTP", async () => {
  // Two servers over one ledger: one asks for tokens, and one does not.
  const store = Object.assign(openSqlite(":memory:"), { close: async () => {} });
  const callerOf = (authorization: string) => {
    return { name: authorization.replace("Bearer ", ""), role: "operator" as const, expires: undefined };
  };
  const guarded = await startServer({}, "", { store, tokens: { callerOf } });
  const server = await startServer({}, "", { store });
  const services = new Map(
    [undefined, "anna", "jan", "ewa"].map((token) => {
      return [token, openHttpService(token === undefined ? server.url : guarded.url, { token })];
    }),
  );
  const as = (by: string | undefined) => services.get(by) ?? assert.fail(`no token ${by}`);
  return {
    service: as(undefined),
    rates: server.rates,
    clock: server.clock,
    as,
    close: async () => {
      for (const service of services.values()) await service.close();
      for (const { close } of [guarded, server]) await close();
    },
  };
});

test("a key still finds its answer under a new secret of the same token", async (t) => {
  const callerOf = (authorization: string) => {
    return {
      name: authorization.replace(/^Bearer (\w+)-\d$/, "$1"),
      role: "teller" as const,
      expires: undefined,
    };
  };
  const server = await startServer({}, "", { tokens: { callerOf } });
  t.after(() => server.close());
  const [before, rotated, other] = ["anna-1", "anna-2", "jan-1"].map((token) => {
    const service = openHttpService(server.url, { token });
    t.after(() => service.close());
    return service;
  });
  const request = opening({ key: "k" });
  const first = await before?.createAccount(request);
  assert.deepEqual(await rotated?.createAccount(request), { ...first, replayed: true });
  await assert.rejects(other?.createAccount(request) ?? assert.fail(), { code: "idempotency-key-reused" });
});
