import assert from "node:assert/strict";
import { openHttpService } from "../src/client/http-service.ts";
import { openSqlite } from "../src/sqlite/store.ts";
import { describeExchangeService } from "./service.contract.ts";
import { startServer, type TestServer } from "./support/server.ts";

describeExchangeService("ExchangeService over HTTP", async (t) => {
  // Two servers over one ledger: one asks for tokens, and one does not.
  const store = Object.assign(openSqlite(":memory:"), { close: async () => {} });
  const callerOf = (authorization: string) => {
    return { name: authorization.replace("Bearer ", ""), role: "operator" as const, expires: undefined };
  };
  const servers = [
    await startServer({}, "", { store, tokens: { callerOf } }),
    await startServer({}, "", { store }),
  ];
  const [guarded, open] = servers as [TestServer, TestServer];
  const services = new Map(
    [undefined, "anna", "jan", "ewa"].map((token) => {
      return [token, openHttpService(token === undefined ? open.url : guarded.url, { token })];
    }),
  );
  t.after(async () => {
    for (const service of services.values()) await service.close();
    for (const { close } of servers) await close();
  });
  const as = (by: string | undefined) => services.get(by) ?? assert.fail(`no token ${by}`);
  return {
    service: as(undefined),
    as,
    clock: {
      get now() {
        return open.clock.now;
      },
      set now(time) {
        for (const { clock } of servers) clock.now = time;
      },
    },
    rates: {
      ...open.rates,
      use: async (table) => {
        for (const { rates } of servers) await rates.use(table);
      },
      halt: (reason) => {
        for (const { rates } of servers) rates.halt(reason);
      },
    },
  };
});
