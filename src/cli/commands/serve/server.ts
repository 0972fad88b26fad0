import { once } from "node:events";
import type { Server as HttpsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { FxError } from "../../../core/errors.ts";
import type { CurrentRates, RatesStatus } from "../../../core/rates.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { openAdmin } from "../../../http/admin.ts";
import { pathHiddenBy } from "../../../http/paths.ts";
import { buildServer } from "../../../http/server.ts";
import { schemaVersion } from "../../../ledger/store.ts";
import type { RatesEvent } from "../../../rates/trading.ts";
import { isLoopback } from "../../../wire/plain-http.ts";
import { describeFailure, reasonOf, UsageError } from "../../errors.ts";
import { type Ledger, openLedger } from "../../open.ts";
import { type Settings, settingNames } from "../../settings.ts";
import { TokensInForce } from "../../tokens/in-force.ts";
import { openLog } from "./log.ts";
import { KeyPairFiles } from "./tls.ts";

export interface RunningServer {
  readonly url: string;
  /** The address of the listener for metrics and probes, if they have their own. */
  readonly adminUrl: string | undefined;
  /** The address of the page for tellers; undefined without one. */
  readonly page: string | undefined;
  readonly isExposed: boolean;
  /** How many tokens the server knows; undefined if it asks for none. */
  readonly tokenCount: number | undefined;
  readonly log: FastifyBaseLogger;
  rates(): RatesStatus;
  /** Asks for rates again, and applies the other settings that can change while it runs. */
  reload(settings: Settings): Promise<void>;
  /**
   * Answers what is under way within the time limit, then closes everything and writes the rest of the log. Resolves at
   * the latest two seconds after the limit.
   */
  stop(): Promise<void>;
}

export interface ServerStart {
  readonly version: string;
  readonly prepare: (service: ExchangeService) => Promise<void>;
}

/** Requests a second, for a server that other machines reach. */
const usualRateLimit = 100;

/** Connections that may wait to be accepted. The system has its own limit; a client beyond it retries for seconds. */
const backlog = 4096;
/** The settings that a running server applies again. The log's level is info unless set. */
const changeable = ["logLevel", "maxTableAge", "acceptTable"];

/** How long the store may take to close after the last connection was. */
const storeCloseMs = 1000;

/** Opens the store and the rates, and listens. The log goes to stderr, one JSON object a line. */
export async function startServer(settings: Settings, start: ServerStart): Promise<RunningServer> {
  const { host, port, adminPort } = settings;
  const { prefix, tls } = requireUsable(settings);
  const tokens = settings.tokens === undefined ? undefined : await TokensInForce.open(settings.tokens);
  // Events of the store and the rates from before there is a log.
  const early: ((log: FastifyBaseLogger) => void)[] = [];
  let tell = (event: (log: FastifyBaseLogger) => void): void => void early.push(event);
  const ledger = await openLedger(settings.db, settings, {
    access: "create",
    role: "serve",
    onNotice: (notice) => tell((log) => log.warn(`database: ${notice}`)),
    onEvent: (event) => tell((log) => logRates(log, event)),
  });
  const { service, rates } = ledger;
  const page = builtPage();
  const log = openLog();
  const app = buildServer({
    ...serverOptions(settings, ledger, start.version),
    prefix,
    ...(tls && { tls: tls.pair, certificateExpires: () => tls.expires }),
    page,
    tokens,
    log: { level: settings.logLevel ?? "info", stream: log.stream },
  });
  log.onDropped((lines) => app.log.warn({ lines }, "log lines dropped, because nobody read them in time"));
  app.log.info({ version: start.version, store: settings.db.kind, rates: rates.status().source }, "starting");
  warnOfRisks(settings, app.log);
  tls?.warnIfExpiring(app.log);
  tell = (event) => event(app.log);
  for (const event of early) event(app.log);
  const stopping = new AbortController();
  void tls?.follow(app.server as HttpsServer, app.log, stopping.signal);
  void tokens?.follow(app.log, stopping.signal);
  const stop = async () => {
    stopping.abort();
    await stopWithin(app, settings.stopTimeout * 1000 + storeCloseMs);
    await log.close();
  };
  const admin = adminPort === undefined ? undefined : openAdmin(app);
  try {
    await start.prepare(service);
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
    isExposed: !isLoopback(host),
    tokenCount: tokens?.count,
    log: app.log,
    rates: () => rates.status(),
    reload: (next) => reload(app.log, rates, settings, next),
    stop,
  };
}

function serverOptions(settings: Settings, { service, store, rates }: Ledger, version: string) {
  return {
    service,
    probes: {
      version,
      store: settings.db.kind,
      schemaVersion,
      ping: () => store.ping(),
      rates: () => rates.status(),
      commits: service.commits,
    },
    office: {
      name: settings.officeName ?? null,
      address: settings.officeAddress ?? null,
      taxNumber: settings.officeTax ?? null,
    },
    now: () => new Date(),
    allowedHosts: settings.allowedHost,
    cors: settings.cors,
    trustProxy: settings.trustProxy,
    rateLimit: settings.rateLimit ?? (isLoopback(settings.host) ? 0 : usualRateLimit),
    stopTimeoutMs: settings.stopTimeout * 1000,
    maxConnections: settings.maxConnections,
  };
}

/**
 * Checks the settings that only a server has, and opens its certificate.
 * @throws UsageError
 */
export function requireUsable(settings: Settings): { prefix: string; tls: KeyPairFiles | undefined } {
  const { host, port, adminPort, tokens, allowAnonymous } = settings;
  const prefix = settings.prefix === "/" ? "" : settings.prefix;
  if (port === adminPort && port !== 0) {
    throw new UsageError(`--port and --admin-port are both ${port}. Give each a port of its own.`);
  }
  const hidden = pathHiddenBy(prefix);
  if (hidden !== undefined) {
    throw new UsageError(
      `The prefix cannot be ${prefix}, because ${hidden} is a path of fx itself. Name another, such as --prefix /fx.`,
    );
  }
  if (!isLoopback(host) && tokens === undefined && !allowAnonymous) {
    throw new UsageError(
      `Refusing to listen on ${host} without authentication. Use --tokens FILE, or --allow-anonymous to accept the risk.`,
    );
  }
  return { prefix, tls: KeyPairFiles.open(settings) };
}

function logRates(log: FastifyBaseLogger, event: RatesEvent): void {
  if (event.kind === "in-force") {
    log.info({ table: event.table.number }, "rate table in force");
  } else {
    const { kind, ...facts } = event;
    log.warn(facts, `rates: ${kind}`);
  }
}

function warnOfRisks({ db, host, tokens, tlsCert }: Settings, log: FastifyBaseLogger): void {
  if (db.kind === "memory") {
    log.warn("database: in memory, and lost when this server ends; --db or FX_DB names one that stays");
  }
  if (tokens !== undefined && tlsCert === undefined && !isLoopback(host)) {
    log.warn({ host }, "without TLS, the network can read tokens and PESELs: use --tls-cert and --tls-key");
  }
}

/** Closes the server. What fails then is logged, and changes no answer. */
async function stopWithin(app: FastifyInstance, ms: number): Promise<void> {
  try {
    const closed = app.close().then(() => true);
    if (await Promise.race([closed, pause(ms, false, { ref: false })])) app.log.info("stopped");
    else app.log.warn("stopped while the store was still closing; nothing that was answered is lost");
  } catch (error) {
    app.log.warn({ reason: describeFailure(error).message }, "closing failed");
  }
}

async function reload(
  log: FastifyBaseLogger,
  rates: Pick<CurrentRates, "refresh" | "status">,
  settings: Settings,
  next: Settings,
): Promise<void> {
  const waiting = settingNames.filter(
    (name) => !changeable.includes(name) && JSON.stringify(next[name]) !== JSON.stringify(settings[name]),
  );
  if (waiting.length > 0) log.warn({ settings: waiting }, "these settings take effect at the next start");
  log.level = next.logLevel ?? "info";
  await rates.refresh({ maxAgeDays: next.maxTableAge, acceptTable: next.acceptTable });
  const { table, notTraded, problem } = rates.status();
  const reason = notTraded?.reason;
  log.info({ table: table?.number, trading: reason === undefined, reason, problem }, "settings read again");
}

/** Given the name, Fastify would start a second server at its other address, without the guards of this one. */
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

/** The page is part of a build only. */
function builtPage(): string | undefined {
  return import.meta.url.endsWith(".ts") ? undefined : fileURLToPath(new URL("web", import.meta.url));
}

function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

/** A fault that passes by itself, such as an address that is not up yet, exits with 7: systemd then tries again. */
function listenFailure(error: unknown, { host, ...settings }: Settings): unknown {
  const { code = "", port = settings.port } = error as NodeJS.ErrnoException & { port?: number };
  const flag = port === settings.port ? "--port" : "--admin-port";
  const message = `Port ${port} of ${host} cannot be listened on (${reasonOf(error)}).`;
  const hint = `Name another port with ${flag}, where 0 takes a free one, or another address with --host.`;
  if (["EADDRINUSE", "EADDRNOTAVAIL", "EAI_AGAIN"].includes(code))
    return new FxError("unreachable", message, { hint, cause: error });
  return ["EACCES", "ENOTFOUND"].includes(code) ? new UsageError(`${message} ${hint}`) : error;
}
