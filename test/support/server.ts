import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { ExchangeService } from "../../src/core/service.ts";
import { buildServer } from "../../src/http/server.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { fixedRates, now, table } from "./fixture.ts";

/** An instance of fx over a store in memory, at one fixed table, as of `now`. */
export async function openInstance() {
  const store = openSqlite(":memory:");
  const rates = fixedRates(table, store);
  await store.saveTables([table]);
  return { store, rates, service: new LedgerService(store, rates, () => now) };
}

export interface TestServer {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly store: Store;
  readonly rates: ReturnType<typeof fixedRates>;
  readonly service: ExchangeService;
  /** Everything logged so far. */
  log(): string;
  close(): Promise<void>;
}

/** A server that listens on loopback; `replace` puts other methods in place of the service's. */
export async function startServer(replace: Partial<ExchangeService> = {}, prefix = ""): Promise<TestServer> {
  const { store, rates, service: ledger } = await openInstance();
  const service = new Proxy(ledger, {
    get: (target, name) => {
      const method: unknown = Reflect.get(replace, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const app = buildServer({
    service,
    probes: {
      schemaVersion: store.schemaVersion,
      ping: () => store.ping(),
      rates: () => rates.status(),
    },
    now: () => now,
    version: "1.2.3",
    prefix,
    log: { level: "info", stream },
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    store,
    rates,
    service,
    log: () => lines.join(""),
    close: () => app.close() as unknown as Promise<void>,
  };
}
