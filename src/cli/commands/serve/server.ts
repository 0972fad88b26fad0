import { once } from "node:events";
import type { Server as HttpsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import type { FastifyBaseLogger } from "fastify";
import type { RatesStatus } from "../../../core/rates.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { openAdmin } from "../../../http/admin.ts";
import { pathHiddenBy } from "../../../http/paths.ts";
import { buildServer } from "../../../http/server.ts";
import { schemaVersion } from "../../../ledger/store.ts";
import type { RatesEvent } from "../../../rates/news.ts";
import { isLoopback } from "../../../wire/plain-http.ts";
import { type Settings, settingNames } from "../../config.ts";
import { describeFailure, UsageError } from "../../errors.ts";
import { openLedger } from "../../open.ts";
import { TokensInForce } from "../../tokens/in-force.ts";
import { TurnLog } from "./log.ts";
import { followKeyPair, readKeyPair } from "./tls.ts";

export interface RunningServer {
  /** Where this machine reaches it. */
  readonly url: string;
  /** Where metrics and probes have a listener of their own. */
  readonly adminUrl: string | undefined;
  /** The address of the page for tellers; undefined without one. */
  readonly page: string | undefined;
  /** Whether other machines can. */
  readonly isOpen: boolean;
  /** How many tokens the server knows; undefined if it asks for none. */
  readonly tokenCount: number | undefined;
  readonly log: FastifyBaseLogger;
  rates(): RatesStatus;
  /** Asks for rates again, and applies the other settings that can change while it runs. */
  reload(settings: Settings): Promise<void>;
  /**
   * Answers what is under way within the time limit, then closes everything. What fails then is logged, and changes no
   * answer. Resolves at the latest a second after the limit.
   */
  stop(): Promise<void>;
}

export interface ServerStart {
  readonly version: string;
  /** Is done before the server listens. */
  readonly prepare: (service: ExchangeService) => Promise<void>;
}

/** Requests a second, for a server that other machines reach. */
const usualRateLimit = 100;

/** Connections that come at once. The system has a limit of its own; who is beyond it tries again for seconds. */
const backlog = 4096;
/** The settings that a running server applies again. The log's level is info unless set. */
const changeable = ["logLevel", "maxTableAge", "acceptTable"];

/**
 * The heap may grow to three times what lives on in it before V8 looks through all of it. By itself V8 does that every
 * two seconds, and hundreds of orders wait 10 ms for it (docs/PERFORMANCE.md).
 */
const heapGrowth = "--heap-growing-percent=200";

/** How long the store may take to close after the last connection was. */
const storeCloseMs = 1000;

/** Opens the store and the rates, and listens. The log goes to stderr, one JSON object a line. */
export async function startServer(settings: Settings, start: ServerStart): Promise<RunningServer> {
  const { version, prepare } = start;
  const { host, port, adminPort } = settings;
  const { kind } = settings.db;
  const prefix = settings.prefix === "/" ? "" : settings.prefix;
  const hidden = pathHiddenBy(prefix);
  if (hidden !== undefined) {
    throw new UsageError(
      `The prefix cannot be ${prefix}, because ${hidden} is a path of fx itself. Name another, such as --prefix /fx.`,
    );
  }
  const isOpen = !isLoopback(host);
  if (isOpen && settings.tokens === undefined && !settings.allowAnonymous) {
    throw new UsageError(
      `Whoever reaches ${host} could do everything. Name a file of tokens with --tokens, or allow it with --allow-anonymous.`,
    );
  }
  const tls = readKeyPair(settings);
  const tokens = settings.tokens === undefined ? undefined : await TokensInForce.open(settings.tokens);
  warmUpNextTick();
  setFlagsFromString(heapGrowth);
  // The rates and the store report events before there is a server with a log.
  const early: RatesEvent[] = [];
  let report = (event: RatesEvent): void => void early.push(event);
  const notices: string[] = [];
  let warn = (notice: string): void => void notices.push(notice);
  const { service, store, rates } = await openLedger(settings.db, settings, {
    access: "create",
    serves: true,
    onNotice: (notice) => warn(notice),
    onEvent: (event) => report(event),
  });
  const page = builtPage();
  const log = new TurnLog(process.stderr);
  const stopTimeoutMs = settings.stopTimeout * 1000;
  const app = buildServer({
    service,
    probes: {
      version,
      store: kind,
      schemaVersion,
      ping: () => store.ping(),
      rates: () => rates.status(),
      commits: () => service.commits,
    },
    now: () => new Date(),
    prefix,
    ...(tls && { tls }),
    allowedHosts: settings.allowedHost,
    cors: settings.cors,
    trustProxy: settings.trustProxy,
    rateLimit: settings.rateLimit ?? (isOpen ? usualRateLimit : 0),
    page,
    tokens,
    log: { level: settings.logLevel ?? "info", stream: log },
    stopTimeoutMs,
    maxConnections: settings.maxConnections,
  });
  log.onDropped = (lines) => app.log.warn({ lines }, "log lines dropped, because nobody read them in time");
  app.log.info({ version, store: kind, rates: rates.status().source }, "starting");
  if (kind === "memory") {
    app.log.warn("database: in memory, and lost when this server ends; --db or FX_DB names one that stays");
  }
  report = (event) => {
    if (event.kind === "in-force") {
      app.log.info({ table: event.table.number, from: event.from }, "rate table in force");
    } else {
      const { kind, ...facts } = event;
      app.log.warn(facts, `rates: ${kind}`);
    }
  };
  for (const event of early) report(event);
  warn = (notice) => app.log.warn(`database: ${notice}`);
  notices.forEach(warn);
  const unfollow = tls && followKeyPair(settings, app.server as HttpsServer, app.log);
  const admin = adminPort === undefined ? undefined : openAdmin(app);
  tokens?.follow({
    onRead: (count) => app.log.info({ tokens: count }, "tokens read again"),
    onFault: (reason) => app.log.warn({ reason }, "tokens not read again: the last ones stay in force"),
  });
  const stop = async () => {
    unfollow?.();
    tokens?.close();
    const closed = app.close().then(() => true);
    try {
      const isClosed = await Promise.race([
        closed,
        pause(stopTimeoutMs + storeCloseMs, false, { ref: false }),
      ]);
      if (isClosed) app.log.info("stopped");
      else app.log.warn("stopped while the store was still closing; nothing that was answered is lost");
    } catch (error) {
      app.log.warn({ reason: describeFailure(error).message }, "closing failed");
    } finally {
      log.end();
    }
  };
  try {
    await prepare(service);
    await app.listen({ host: addressOf(host), port, backlog });
    if (admin !== undefined) await listen(admin, addressOf(host), adminPort ?? 0);
  } catch (error) {
    await stop();
    throw listenFailure(error, settings);
  }
  const url = `${tls === undefined ? "http" : "https"}://${reachable(host)}:${portOf(app.server)}`;
  return {
    url,
    page: page && `${url}${prefix}/`,
    adminUrl: admin && `http://${reachable(host)}:${portOf(admin)}`,
    isOpen,
    tokenCount: tokens?.count,
    log: app.log,
    rates: () => rates.status(),
    async reload(next) {
      const waiting = settingNames.filter(
        (name) => !changeable.includes(name) && JSON.stringify(next[name]) !== JSON.stringify(settings[name]),
      );
      if (waiting.length > 0)
        app.log.warn({ settings: waiting }, "these settings take effect at the next start");
      app.log.level = next.logLevel ?? "info";
      await rates.refresh({ maxAgeDays: next.maxTableAge, acceptTable: next.acceptTable });
      const { table, notTraded: reason, problem } = rates.status();
      const trading = reason === undefined;
      app.log.info({ table: table?.number, trading, reason, problem }, "settings read again");
    },
    stop,
  };
}

/** The name would lead Fastify to make a second server, for the other of its addresses, that has none of our guards. */
function addressOf(host: string): string {
  return host === "localhost" ? "127.0.0.1" : host;
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Source has no page beside it. */
function builtPage(): string | undefined {
  return import.meta.url.endsWith(".ts") ? undefined : fileURLToPath(new URL("web", import.meta.url));
}

function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

function listenFailure(error: unknown, { host, ...settings }: Settings): unknown {
  const { code, port = settings.port } = error as NodeJS.ErrnoException & { port?: number };
  const flag = port === settings.port ? "--port" : "--admin-port";
  switch (code) {
    case "EADDRINUSE":
      return new UsageError(
        `Port ${port} of ${host} is in use, perhaps by another fx serve. Name another with ${flag}; 0 takes a free one.`,
      );
    case "EACCES":
      return new UsageError(`This user may not listen on port ${port}. Name one above 1023 with ${flag}.`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new UsageError(`${host} is not an address of this machine. Name one that is with --host.`);
    default:
      return error;
  }
}

/**
 * Has V8 optimize `process.nextTick` for one kind of call. Otherwise it is slow in most processes of Node 20
 * (docs/PERFORMANCE.md).
 */
function warmUpNextTick(): void {
  const nothing = () => {};
  for (let calls = 0; calls < 20_000; calls += 1) process.nextTick(nothing);
}
