import packageJson from "../../../../package.json" with { type: "json" };
import { asker, openHttpService } from "../../../client/http-service.ts";
import { Transport } from "../../../client/transport.ts";
import { warsawDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import { maskPesels } from "../../../core/mask.ts";
import type { TableLedger } from "../../../core/rates.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { schemaVersion } from "../../../ledger/store.ts";
import { inspectSource } from "../../../rates/open.ts";
import { ready } from "../../../wire/server.ts";
import type { Config } from "../../config.ts";
import { openLedger, openService } from "../../open.ts";
import { flagOf, type Settings, variableOf } from "../../settings.ts";
import { type StoreTarget, withoutSecrets } from "../../target.ts";
import { readTokenFile } from "../../tokens/file.ts";

type Subject =
  | "environment"
  | "serve"
  | "tokens"
  | "db"
  | "server"
  | "token"
  | "store"
  | "schema"
  | "table"
  | "trading"
  | "bank"
  | "clock";

/** The result of one check. */
export interface Check {
  readonly check: Subject;
  readonly ok: boolean;
  /** The result for a reader. */
  readonly detail: string;
}

const dayMs = 86_400_000;
const clockToleranceMs = 30_000;
const serverTimeouts = { connectTimeoutMs: 3000, answerTimeoutMs: 5000 };

/** Checks everything that a command with these settings depends on. A failure is a check that is not ok. */
export async function examine(config: Config): Promise<readonly Check[]> {
  const { settings } = config;
  const { url } = settings;
  const checks = url.kind === "server" ? examineServer(url.address, settings) : examineStore(url, settings);
  return [
    ...examineEnvironment(config),
    ...(await examineServing(settings)),
    ...(await examineTokens(settings.tokens)),
    ...(await examineDb(settings)),
    ...(await checks),
  ];
}

function fine(check: Subject, detail: string): Check {
  return { check, ok: true, detail };
}

/** @param reason the error, or the sentence that says what is wrong */
function wrong(check: Subject, reason: unknown): Check {
  const text = reason instanceof Error ? reason.message : String(reason);
  const { hint } = reason instanceof FxError ? reason : {};
  const detail = maskPesels(hint === undefined ? text : `${text} ${hint}`);
  return { check, ok: false, detail: detail.replace(/\.$/, "") };
}

/** Variables that are ignored, and a default server although these settings start one at another port. */
function examineEnvironment({ settings: { url, port }, sources, ignored }: Config): Check[] {
  const notes = ignored.map(
    (name) =>
      `${variableOf(name)} is ignored: Kubernetes has set it for a Service. ${flagOf(name)} or the config file sets it`,
  );
  const isElsewhere = url.kind === "server" && new URL(url.address).port !== String(port);
  if (sources.url === "default" && sources.port !== "default" && isElsewhere) {
    notes.push(
      `port is ${port}, and commands work at ${url.address}; --url, FX_URL or "url" in the config file names another server`,
    );
  }
  return notes.map((note) => fine("environment", note));
}

/** No check if fx serve takes its own settings. */
async function examineServing(settings: Settings): Promise<Check[]> {
  const { requireUsable } = await import("../serve/server.ts");
  try {
    requireUsable(settings);
    return [];
  } catch (error) {
    return [wrong("serve", error)];
  }
}

/** No check if the settings name no file of tokens. */
async function examineTokens(path: string | undefined): Promise<Check[]> {
  if (path === undefined) return [];
  try {
    const tokens = await readTokenFile(path);
    const now = new Date().toISOString();
    const expired = tokens.filter(({ expires }) => expires !== null && expires <= now).length;
    return [
      fine("tokens", `${tokens.length} in ${path}${expired === 0 ? "" : `, ${expired} of them expired`}`),
    ];
  } catch (error) {
    return [wrong("tokens", error)];
  }
}

/** No check if the store of fx serve is in memory, or the one that commands work in. */
async function examineDb(settings: Settings): Promise<Check[]> {
  const { db, url } = settings;
  if (db.kind === "memory" || db.address === url.address) return [];
  try {
    const service = await openService({ ...settings, url: db }, "read", undefined);
    await service.close();
    return [storeCheck("db", db)];
  } catch (error) {
    return [wrong("db", error)];
  }
}

function storeCheck(check: "db" | "store", { address }: StoreTarget): Check {
  return fine(check, `${withoutSecrets(address)} answers`);
}

async function examineServer(url: string, { token, allowPlainHttp }: Settings): Promise<Check[]> {
  const options = { ...serverTimeouts, token, allowPlainHttp };
  let transport: Transport;
  let service: ExchangeService;
  try {
    transport = new Transport(url, options);
    service = openHttpService(url, options);
  } catch (error) {
    return [wrong("server", error)];
  }
  try {
    const get = { method: "GET", path: "/health/ready", repeatable: true } as const;
    const { status, body, headers } = await transport.send(get, (value) => ({ value }));
    const receivedAt = new Date();
    const { data } = ready.safeParse(body);
    if (data === undefined)
      return [wrong("server", `what answers at ${transport.target} is not fx (status ${status})`)];
    const { rates } = data;
    const isGone = data.store === "memory" ? " (gone when it ends)" : "";
    const state = `${transport.target}: ${data.status}, fx ${data.version}, store ${data.store}${isGone}, rates ${rates.source}`;
    const problem = rates.problem ?? undefined;
    // Without a table, the check of the table has the reason.
    const isKnown = problem !== undefined || (!rates.recorded && rates.table !== null);
    return [
      (data.status === "ready" ? fine : wrong)("server", state),
      ...(await examineToken(transport, token)),
      schemaCheck(data.schemaVersion, "the server"),
      await examineTable(service),
      ...(isKnown ? [bankCheck(problem, `${rates.source}, asked by the server`)] : []),
      rates.clock ? wrong("clock", rates.clock) : compareClocks(String(headers.date), receivedAt),
    ];
  } catch (error) {
    return [wrong("server", error)];
  } finally {
    transport.close();
    await service.close();
  }
}

/** Checks the token that is sent. No check if none is sent and none is required. */
async function examineToken(transport: Transport, sent: string | undefined): Promise<Check[]> {
  try {
    const { name, role, expires } = await asker(transport)("token");
    if (name === undefined)
      return sent === undefined ? [] : [fine("token", "one is sent, and the server asks for none")];
    const end = expires === undefined ? "does not expire" : `until ${expires.toISOString()}`;
    const isBare = /^http:\/\/(?!127\.|localhost(:|$|\/)|\[::1\])/.test(transport.target);
    const way = isBare ? "; on its way anyone can read it, for the address is not https" : "";
    return [fine("token", `${name}, role ${role}, ${end}${way}`)];
  } catch (error) {
    const isAsked = sent === undefined && error instanceof FxError && error.code === "unauthorized";
    const why = "none is sent, and the server asks for one; set FX_TOKEN or FX_TOKEN_FILE";
    return [wrong("token", isAsked ? why : error)];
  }
}

async function examineStore(target: StoreTarget, settings: Settings): Promise<Check[]> {
  try {
    const { service, store, rates } = await openLedger(target, settings, { access: "read", role: "read" });
    try {
      await store.ping();
      const { checks, clock } = await examineSource(settings.rates, store);
      return [
        storeCheck("store", target),
        schemaCheck(schemaVersion, `this fx ${packageJson.version}`),
        await examineTable(service),
        ...checks,
        clock ? wrong("clock", clock) : examineClock(rates.status().table?.effectiveDate, new Date()),
      ];
    } finally {
      await service.close();
    }
  } catch (error) {
    const check = error instanceof FxError && error.code === "rates-unavailable" ? "table" : "store";
    return [wrong(check, error), ...(await examineSource(settings.rates)).checks];
  }
}

/** Cannot fail: a store of another version is not opened. */
function schemaCheck(version: number, writer: string): Check {
  return fine("schema", `version ${version}, which ${writer} writes`);
}

async function examineTable(service: ExchangeService): Promise<Check> {
  try {
    const { table, recorded, notTraded, suspension } = await service.rates();
    if (notTraded !== undefined) return wrong(suspension === undefined ? "table" : "trading", notTraded);
    const { number, effectiveDate, source } = table;
    const days = Math.round((Date.parse(warsawDate(new Date())) - Date.parse(effectiveDate)) / dayMs);
    const age = days === 0 ? "of today" : days === 1 ? "1 day old" : `${days} days old`;
    const from = `${source}${recorded ? ", recorded: it does not age" : ""}`;
    return fine("table", `${number} of ${effectiveDate}, ${age}, from ${from}`);
  } catch (error) {
    return wrong("table", error);
  }
}

/** No check for recorded rates, which need no bank, unless a table of them is held back. */
async function examineSource(
  name: string,
  ledger?: TableLedger,
): Promise<{ checks: Check[]; clock?: string | undefined }> {
  const start = performance.now();
  const { recorded, table, problem, clock } = await inspectSource(name, ledger, () => new Date());
  const ms = Math.round(performance.now() - start);
  if (recorded && (problem === undefined || table === undefined)) return { checks: [] };
  return { checks: [bankCheck(problem, `answered in ${ms} ms, with table ${table}`)], clock };
}

function bankCheck(problem: string | undefined, detail: string): Check {
  return problem === undefined ? fine("bank", detail) : wrong("bank", problem);
}

/** Compares this machine's clock with a server's Date header, which has whole seconds. */
export function compareClocks(date: string, now: Date): Check {
  const differenceMs = now.getTime() - Date.parse(date);
  if (Number.isNaN(differenceMs)) return wrong("clock", "the server does not tell the time");
  if (Math.abs(differenceMs) <= clockToleranceMs) return fine("clock", "as the server's");
  const seconds = Math.round(Math.abs(differenceMs) / 1000);
  return wrong("clock", `${seconds} s ${differenceMs < 0 ? "behind" : "ahead of"} the server's`);
}

/** No table takes effect in the future, so one that seems to shows a clock that is behind. */
export function examineClock(newestTable: string | undefined, now: Date): Check {
  const today = warsawDate(now);
  if (newestTable === undefined || newestTable <= today) return fine("clock", `${today} in Warsaw`);
  return wrong("clock", `${today} in Warsaw, before the table's ${newestTable}`);
}
