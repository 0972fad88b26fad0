import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { after, before } from "node:test";
import type { FastifyInstance } from "fastify";
import type { ExchangeService } from "../../src/core/service.ts";
import { buildServer, type ServerOptions } from "../../src/http/server.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { type Store, schemaVersion } from "../../src/ledger/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { errorsOf, type Operation } from "../../src/wire/operation.ts";
import { operations } from "../../src/wire/operations.ts";
import type { Caller } from "../../src/wire/role.ts";
import { adult, type fixedRates, now, table, tradedRates } from "./fixture.ts";
import { openGate } from "./gate.ts";
import { instead } from "./instead.ts";
import { until } from "./until.ts";

/** An instance of fx over a store in memory, with one fixed table. Its clock stands at `now` until it is set. */
export async function openInstance(store: Store = openSqlite(":memory:")) {
  const rates = await tradedRates(store);
  const clock = { now };
  await store.saveTables([table]);
  return { store, rates, clock, service: new LedgerService(store, rates, () => clock.now) };
}

export interface TestServer {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly store: Store;
  readonly rates: ReturnType<typeof fixedRates>;
  readonly clock: { now: Date };
  readonly service: ExchangeService;
  /** The caller of later requests, as if identified by a token. */
  caller: Caller | undefined;
  log(): string;
  /** Resolves once the log matches: a client may have an answer before its line is written. */
  logged(pattern: RegExp): Promise<void>;
  /** @throws if an operation has answered with a code that src/wire/operations.ts does not list for it */
  close(): Promise<void>;
}

/** Has `GET /api/users` answer with more than the buffers of a connection hold. */
export const longAnswers: Partial<ExchangeService> = {
  accounts: async () => {
    const holder = { pesel: adult(1), name: "x".repeat(20_000_000), surname: "Kowalski" };
    return { items: [{ ...holder, balances: [], closed: false, blocked: false }], next: undefined };
  },
};

/** Starts a server on loopback; `replace` has substitutes for methods of its service. */
export async function startServer(
  replace: Partial<ExchangeService> = {},
  prefix = "",
  options: Partial<Omit<ServerOptions, "service" | "probes" | "now" | "log">> & {
    readonly store?: Store;
  } = {},
): Promise<TestServer> {
  const { store, rates, clock, service: ledger } = await openInstance(options.store);
  const service = instead<ExchangeService>(ledger, replace);
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const app = buildServer({
    ...options,
    service,
    probes: {
      version: "1.2.3",
      store: "memory",
      schemaVersion,
      ping: () => store.ping(),
      rates: () => rates.status(),
      commits: ledger.commits,
    },
    now: () => clock.now,
    prefix,
    log: { level: "info", stream },
  });
  const undeclared = undeclaredCodes(app);
  app.addHook("onRequest", async (request) => {
    if (server.caller !== undefined) request.caller = server.caller;
  });
  // A client compares an answer's date with the time in a receipt's id.
  app.server.prependListener("request", (_request, response) => {
    response.setHeader("date", clock.now.toUTCString());
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const server: TestServer = {
    app,
    url: `http://127.0.0.1:${port}`,
    store,
    rates,
    clock,
    service,
    caller: undefined,
    log: () => lines.join(""),
    logged: (pattern) => until(() => pattern.test(lines.join(""))),
    close: async () => {
      await app.close();
      assert.deepEqual([...undeclared], [], "an answer's code is not among the errors of its operation");
    },
  };
  return server;
}

/** A server whose accounts are read only once `release` was called, and whose list of accounts is long. */
export async function startGated(options: Parameters<typeof startServer>[2] = {}) {
  const { passed: gate, release } = openGate();
  const events: string[] = [];
  const replace: Partial<ExchangeService> = {
    ...longAnswers,
    async account(pesel) {
      events.push("asked");
      await gate;
      events.push("answered");
      return { pesel, name: "Jan", surname: "Kowalski", balances: [], closed: false, blocked: false };
    },
    async close(this: ExchangeService) {
      await this.close();
      events.push("service closed");
    },
  };
  const server = await startServer(replace, "", options);
  return { server, release, events, asked: () => events.filter((event) => event === "asked").length };
}

/** Collects error codes that an operation answers but does not declare, as "exchange: underage". */
function undeclaredCodes(app: FastifyInstance): ReadonlySet<string> {
  const found = new Set<string>();
  app.server.prependListener("request", ({ method, url = "" }, response) => {
    const operation = Object.entries<Operation>(operations).find(
      ([, each]) => each.method === method && patternOf(each.path).test(url),
    );
    if (operation === undefined) return;
    const [id, asked] = operation;
    const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
    response.end = (...args: unknown[]) => {
      const [, code] = /"type":"urn:fx:error:([a-z-]+)"/.exec(String(args[0])) ?? [];
      const declared: readonly string[] = errorsOf(asked);
      if (code !== undefined && !declared.includes(code)) found.add(`${id}: ${code}`);
      return end(...args);
    };
  });
  return found;
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/?]+")}(\\?|$)`);
}

/** A server for all tests of a file or of a suite, which runs while they do. */
export function useServer(...args: Parameters<typeof startServer>): TestServer {
  let started: TestServer | undefined;
  before(async () => {
    started = await startServer(...args);
  });
  after(() => started?.close());
  return new Proxy({} as TestServer, {
    get: (_, name) => Reflect.get(started as TestServer, name),
    set: (_, name, value) => Reflect.set(started as TestServer, name, value),
  });
}
