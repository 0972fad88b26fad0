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
import { isLoopback } from "../../../wire/plain-http.ts";
import { ready } from "../../../wire/server.ts";
import type { Config } from "../../config.ts";
import { describeFailure, UsageError } from "../../errors.ts";
import { openLedger, openService } from "../../open.ts";
import { flagOf, type Settings, variableOf } from "../../settings.ts";
import { type StoreTarget, withoutSecrets } from "../../target.ts";
import { readTokenFile } from "../../tokens/file.ts";

export interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

const dayMs = 86_400_000;
const clockToleranceMs = 30_000;
const serverTimeouts = { connectTimeoutMs: 3000, answerTimeoutMs: 5000 };

/** Checks everything that a command with these settings depends on. A failure is a check that is not ok. */
export async function examine({ settings, ignored }: Config): Promise<readonly Check[]> {
  const { url, tokens } = settings;
  const checks = await Promise.all([
    ignored.map((name) => {
      const note = `${variableOf(name)} is ignored: Kubernetes has set it for a Service`;
      return fine("environment", `${note}. ${flagOf(name)} or the config file sets it`);
    }),
    attempt("serve", async () => {
      (await import("../serve/server.ts")).requireUsable(settings);
      return [];
    }),
    attempt("tokens", async () => (tokens === undefined ? [] : [await examineTokens(tokens)])),
    attempt("db", () => examineDb(settings)),
    url.kind === "server"
      ? attempt("server", () => examineServer(url.address, settings))
      : examineStore(url, settings),
  ]);
  return checks.flat();
}

function fine(check: string, detail: string): Check {
  return { check, ok: true, detail };
}

function wrong(check: string, detail: string): Check {
  return { check, ok: false, detail: maskPesels(detail).replace(/\.$/, "") };
}

function failed(check: string, error: unknown): Check {
  const { message, hint } = describeFailure(error);
  return wrong(check, hint === null ? message : `${message} ${hint}`);
}

/** An examination that fails is a check that is wrong. */
async function attempt(
  check: string,
  examination: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await examination();
  } catch (error) {
    return [failed(check, error)];
  }
}

async function examineTokens(path: string): Promise<Check> {
  const tokens = await readTokenFile(path);
  const now = new Date().toISOString();
  const expired = tokens.filter(({ expires }) => expires !== null && expires <= now).length;
  return fine("tokens", `${tokens.length} in ${path}${expired === 0 ? "" : `, ${expired} of them expired`}`);
}

/** No check if the store of fx serve is in memory, or the one that commands work in. */
async function examineDb(settings: Settings): Promise<Check[]> {
  const { db, url } = settings;
  if (db.kind === "memory" || db.address === url.address) return [];
  const service = await openService({ ...settings, url: db }, "read", undefined);
  await service.close();
  return [storeCheck("db", db)];
}

function storeCheck(check: "db" | "store", { address }: StoreTarget): Check {
  return fine(check, `${withoutSecrets(address)} answers`);
}

async function examineServer(url: string, { token, allowPlainHttp }: Settings): Promise<readonly Check[]> {
  const options = { ...serverTimeouts, token, allowPlainHttp };
  const transport = new Transport(url, options);
  // Longer than a server tries to reach its database.
  const service = openHttpService(url, { ...options, answerTimeoutMs: 12_000 });
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
    // Without a table, the check of the table has the reason.
    const isKnown = rates.problem !== undefined || (!rates.recorded && rates.table !== undefined);
    return [
      (data.status === "ready" ? fine : wrong)("server", state),
      ...(await attempt("token", () => examineToken(transport, token))),
      schemaCheck(data.schemaVersion, "the server"),
      ...(await attempt("table", () => examineTable(service))),
      ...(isKnown ? [bankCheck(rates.problem, `${rates.source}, asked by the server`)] : []),
      rates.clock ? wrong("clock", rates.clock) : compareClocks(String(headers.date), receivedAt),
    ];
  } finally {
    transport.close();
    await service.close();
  }
}

/** Checks the token that is sent. No check if none is sent and none is required. */
async function examineToken(transport: Transport, sent: string | undefined): Promise<readonly Check[]> {
  const { name, role, expires } = await asker(transport)("token").catch((error: unknown) => {
    if (sent !== undefined || !(error instanceof FxError) || error.code !== "unauthorized") throw error;
    throw new UsageError("None is sent, and the server asks for one. Set FX_TOKEN or FX_TOKEN_FILE.");
  });
  if (name === undefined)
    return sent === undefined ? [] : [fine("token", "one is sent, and the server asks for none")];
  const end = expires === undefined ? "does not expire" : `until ${expires.toISOString()}`;
  const { protocol, hostname } = new URL(transport.target);
  const isReadable = protocol === "http:" && !isLoopback(hostname);
  const way = isReadable ? "; the network can read it on its way, because the address is not https" : "";
  return [fine("token", `${name}, role ${role}, ${end}${way}`)];
}

async function examineStore(target: StoreTarget, settings: Settings): Promise<readonly Check[]> {
  try {
    const { service, store } = await openLedger(target, settings, { access: "read", role: "read" });
    try {
      await store.ping();
      const { checks, clock } = await examineSource(settings.rates, store);
      return [
        storeCheck("store", target),
        schemaCheck(schemaVersion, `this fx ${packageJson.version}`),
        ...(await attempt("table", () => examineTable(service))),
        ...checks,
        clock ? wrong("clock", clock) : fine("clock", `${warsawDate(new Date())} in Warsaw`),
      ];
    } finally {
      await service.close();
    }
  } catch (error) {
    const check = error instanceof FxError && error.code === "rates-unavailable" ? "table" : "store";
    return [failed(check, error), ...(await examineSource(settings.rates)).checks];
  }
}

/** Cannot fail: a store of another version is not opened. */
function schemaCheck(version: number, writer: string): Check {
  return fine("schema", `version ${version}, which ${writer} writes`);
}

async function examineTable(service: ExchangeService): Promise<readonly Check[]> {
  const { table, recorded, notTraded, suspension } = await service.rates();
  if (notTraded !== undefined) {
    return [wrong(suspension === undefined ? "table" : "trading", notTraded.reason)];
  }
  const { number, effectiveDate, source } = table;
  const days = Math.round((Date.parse(warsawDate(new Date())) - Date.parse(effectiveDate)) / dayMs);
  const age = days === 0 ? "of today" : days === 1 ? "1 day old" : `${days} days old`;
  const from = `${source}${recorded ? ", recorded: it does not age" : ""}`;
  return [fine("table", `${number} of ${effectiveDate}, ${age}, from ${from}`)];
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
