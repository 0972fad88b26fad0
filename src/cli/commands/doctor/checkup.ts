import { existsSync } from "node:fs";
import packageJson from "../../../../package.json" with { type: "json" };
import type { Transport } from "../../../client/transport.ts";
import { warsawDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import { maskPesels } from "../../../core/mask.ts";
import type { TableLedger } from "../../../core/rates.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { schemaVersion } from "../../../ledger/store.ts";
import type { Config } from "../../config.ts";
import { flagOf, type SettingName, type Settings, variableOf } from "../../settings.ts";
import { type StoreTarget, withoutSecrets } from "../../target.ts";

/** The result of one check. */
export interface Check {
  readonly check:
    | "environment"
    | "tokens"
    | "server"
    | "token"
    | "store"
    | "schema"
    | "table"
    | "trading"
    | "bank"
    | "clock";
  readonly ok: boolean;
  /** The result for a reader. */
  readonly detail: string;
}

const dayMs = 86_400_000;
const clockToleranceMs = 30_000;
const serverTimeouts = { connectTimeoutMs: 3000, answerTimeoutMs: 5000 };

/** Checks everything that a command with these settings depends on. A failure is a check that is not ok. */
export async function examine({ settings, sources, ignored }: Config): Promise<readonly Check[]> {
  const { url } = settings;
  const checks = url.kind === "server" ? examineServer(url.address, settings) : examineStore(url, settings);
  return [
    ...ignored.map(serviceVariable),
    ...examineTarget(settings, sources),
    ...(await examineTokens(settings.tokens)),
    ...(await checks),
  ];
}

function serviceVariable(name: SettingName): Check {
  const detail = `${variableOf(name)} is ignored: Kubernetes has set it for a Service. ${flagOf(name)} or the config file sets it`;
  return { check: "environment", ok: true, detail };
}

/** Notes that a command works at the default server although these settings start one at another port. */
function examineTarget({ url, port }: Settings, sources: Config["sources"]): Check[] {
  if (sources.url !== "default" || sources.port === "default") return [];
  if (url.kind !== "server" || new URL(url.address).port === String(port)) return [];
  const detail = `port is ${port}, and commands work at ${url.address}; --url, FX_URL or "url" in the config file names another server`;
  return [{ check: "environment", ok: true, detail }];
}

/** No check if the settings name no file of tokens. */
async function examineTokens(path: string | undefined): Promise<Check[]> {
  if (path === undefined) return [];
  try {
    const { readTokenFile } = await import("../../tokens/file.ts");
    const tokens = await readTokenFile(path);
    const now = new Date().toISOString();
    const expired = tokens.filter(({ expires }) => expires !== null && expires <= now).length;
    const detail = `${tokens.length} in ${path}${expired === 0 ? "" : `, ${expired} of them expired`}`;
    return [{ check: "tokens", ok: true, detail }];
  } catch (error) {
    return [{ check: "tokens", ok: false, detail: reasonOf(error) }];
  }
}

async function examineServer(
  url: string,
  { token, allowPlainHttp }: Pick<Settings, "token" | "allowPlainHttp">,
): Promise<Check[]> {
  const [{ Transport }, { openHttpService }, { ready }] = await Promise.all([
    import("../../../client/transport.ts"),
    import("../../../client/http-service.ts"),
    import("../../../wire/server.ts"),
  ]);
  const options = { ...serverTimeouts, token, allowPlainHttp };
  let transport: Transport;
  let service: ExchangeService;
  try {
    transport = new Transport(url, options);
    service = openHttpService(url, options);
  } catch (error) {
    return [serverFault(error)];
  }
  try {
    const question = { method: "GET", path: "/health/ready", repeatable: true } as const;
    const answer = await transport.send(question, (value) => ({ value }));
    const receivedAt = new Date();
    const { data } = ready.safeParse(answer.body);
    if (data === undefined) {
      const detail = `what answers at ${transport.target} is not fx (status ${answer.status})`;
      return [{ check: "server", ok: false, detail }];
    }
    const { status, version, store, schemaVersion, rates } = data;
    const isGone = store === "memory" ? " (gone when it ends)" : "";
    const state = `${transport.target}: ${status}, fx ${version}, store ${store}${isGone}, rates ${rates.source}`;
    const problem = rates.problem ?? undefined;
    // Without a table, the check of the table has the reason.
    const isKnown = problem !== undefined || (!rates.recorded && rates.table !== null);
    return [
      { check: "server", ok: status === "ready", detail: state },
      ...(await examineToken(transport, token)),
      schemaCheck(schemaVersion, "the server"),
      await examineTable(service),
      ...(isKnown ? [bankCheck(problem, `${rates.source}, asked by the server`)] : []),
      clockCheck(rates.clock) ?? compareClocks(String(answer.headers.date), receivedAt),
    ];
  } catch (error) {
    return [serverFault(error)];
  } finally {
    transport.close();
    await service.close();
  }
}

function serverFault(error: unknown): Check {
  return { check: "server", ok: false, detail: reasonOf(error) };
}

/** Checks the token that is sent. No check if none is sent and none is required. */
async function examineToken(transport: Transport, sent: string | undefined): Promise<Check[]> {
  const [{ decodeProblem }, { decodeAnswer }, { token }] = await Promise.all([
    import("../../../wire/problem.ts"),
    import("../../../wire/answers.ts"),
    import("../../../wire/server.ts"),
  ]);
  try {
    const question = { method: "GET", path: "/api/token", repeatable: true } as const;
    const { status, body } = await transport.send(question, (value) => ({ value }));
    const problem = decodeProblem(body, status);
    if (problem !== undefined) throw problem;
    const { name, role, expires } = decodeAnswer(token, body);
    const end = expires === undefined ? "does not expire" : `until ${expires.toISOString()}`;
    const isBare = /^http:\/\/(?!127\.|localhost(:|$|\/)|\[::1\])/.test(transport.target);
    const way = isBare ? "; on its way anyone can read it, for the address is not https" : "";
    if (name !== undefined)
      return [{ check: "token", ok: true, detail: `${name}, role ${role}, ${end}${way}` }];
    const detail = "one is sent, and the server asks for none";
    return sent === undefined ? [] : [{ check: "token", ok: true, detail }];
  } catch (error) {
    const isMissing = sent === undefined && error instanceof FxError && error.code === "unauthorized";
    const detail = isMissing
      ? "none is sent, and the server asks for one; set FX_TOKEN or FX_TOKEN_FILE"
      : reasonOf(error);
    return [{ check: "token", ok: false, detail }];
  }
}

async function examineStore(target: StoreTarget, settings: Settings): Promise<Check[]> {
  const { openLedger } = await import("../../open.ts");
  if (target.kind === "sqlite" && !existsSync(target.path)) {
    const detail = `there is no file ${target.path} yet; fx serve, fx account create and fx batch create it`;
    return [{ check: "store", ok: false, detail }, ...(await examineSource(settings.rates)).checks];
  }
  try {
    const { service, store, rates } = await openLedger(target, settings, { access: "read", serves: false });
    try {
      await store.ping();
      const source = await examineSource(settings.rates, store);
      return [
        { check: "store", ok: true, detail: `${withoutSecrets(target.address)} answers` },
        schemaCheck(schemaVersion, `this fx ${packageJson.version}`),
        await examineTable(service),
        ...source.checks,
        clockCheck(source.clock) ?? examineClock(rates.status().table?.effectiveDate, new Date()),
      ];
    } finally {
      await service.close();
    }
  } catch (error) {
    const check = error instanceof FxError && error.code === "rates-unavailable" ? "table" : "store";
    const { checks } = await examineSource(settings.rates);
    return [{ check, ok: false, detail: reasonOf(error) }, ...checks];
  }
}

/** A store that is open has this version. */
function schemaCheck(version: number, writer: string): Check {
  return { check: "schema", ok: true, detail: `version ${version}, which ${writer} writes` };
}

async function examineTable(service: ExchangeService): Promise<Check> {
  try {
    const { table, recorded, notTraded, suspension } = await service.rates();
    if (notTraded !== undefined) {
      const check = suspension === undefined ? "table" : "trading";
      return { check, ok: false, detail: withoutStop(notTraded) };
    }
    const { number, effectiveDate, source } = table;
    const days = Math.round((Date.parse(warsawDate(new Date())) - Date.parse(effectiveDate)) / dayMs);
    const age = days === 0 ? "of today" : days === 1 ? "1 day old" : `${days} days old`;
    const from = `${source}${recorded ? ", recorded: it does not age" : ""}`;
    return { check: "table", ok: true, detail: `${number} of ${effectiveDate}, ${age}, from ${from}` };
  } catch (error) {
    return { check: "table", ok: false, detail: reasonOf(error) };
  }
}

/** No check for recorded rates, which need no bank, unless a table of them is held back. */
async function examineSource(
  name: string,
  ledger?: TableLedger,
): Promise<{ checks: Check[]; clock?: string | undefined }> {
  const { inspectSource } = await import("../../../rates/open.ts");
  const start = performance.now();
  const { recorded, table, problem, clock } = await inspectSource(name, ledger, () => new Date());
  const ms = Math.round(performance.now() - start);
  if (recorded && (problem === undefined || table === undefined)) return { checks: [] };
  return {
    checks: [bankCheck(problem && maskPesels(problem), `answered in ${ms} ms, with table ${table}`)],
    clock,
  };
}

function bankCheck(problem: string | undefined, detail: string): Check {
  return { check: "bank", ok: problem === undefined, detail: withoutStop(problem ?? detail) };
}

function clockCheck(problem: string | null | undefined): Check | undefined {
  return problem ? { check: "clock", ok: false, detail: withoutStop(problem) } : undefined;
}

/** Against a server's Date header, which has whole seconds. */
export function compareClocks(date: string, now: Date): Check {
  const differenceMs = now.getTime() - Date.parse(date);
  if (Number.isNaN(differenceMs))
    return { check: "clock", ok: false, detail: "the server does not tell the time" };
  const ok = Math.abs(differenceMs) <= clockToleranceMs;
  const seconds = Math.round(Math.abs(differenceMs) / 1000);
  const off = `${seconds} s ${differenceMs < 0 ? "behind" : "ahead of"} the server's`;
  return { check: "clock", ok, detail: ok ? "as the server's" : off };
}

/** No table takes effect in the future, so one that seems to shows a clock that is behind. */
export function examineClock(newestTable: string | undefined, now: Date): Check {
  const today = warsawDate(now);
  const ok = newestTable === undefined || newestTable <= today;
  const detail = ok ? `${today} in Warsaw` : `${today} in Warsaw, before the table's ${newestTable}`;
  return { check: "clock", ok, detail };
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const { hint } = error instanceof FxError ? error : {};
  return withoutStop(maskPesels(hint === undefined ? text : `${text} ${hint}`));
}

function withoutStop(sentences: string): string {
  return sentences.replace(/\.$/, "");
}
