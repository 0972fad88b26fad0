import type { RatesStatus } from "../../core/rates.ts";
import type { CommitFigures } from "../../core/service.ts";
import type { OpenApiDocument } from "../../wire/openapi.ts";
import type { ReadyJson, TokenJson } from "../../wire/schemas.ts";
import { ExpensiveReads } from "../admission.ts";
import { type Handler, sendJson, sendText } from "../answers.ts";
import type { Metrics } from "../metrics.ts";
import type { Stream } from "./bulk.ts";

/** What can be asked of the process that the routes serve. */
export interface Probes {
  /** Of fx. */
  readonly version: string;
  readonly store: ReadyJson["store"];
  /** Of the database, as far as this fx knows it. */
  readonly schemaVersion: number;
  /** Fails unless the store answers now. */
  ping(): Promise<void>;
  rates(): RatesStatus;
  commits(): CommitFigures;
}

/** Whether the server still takes new work, and the bulks and exports under way, which a stop ends. */
export interface Lifecycle {
  readonly draining: boolean;
  readonly streams: Set<Stream>;
}

const pingTimeoutMs = 2000;

/** Probes and metrics. */
export function serverHandlers(
  { probes }: { readonly probes: Probes },
  metrics: Metrics,
  lifecycle: Lifecycle,
  document: OpenApiDocument,
) {
  // Of their own, so that nobody's lists delay a scrape.
  const reads = new ExpensiveReads();

  const live: Handler = async (_request, reply) => sendJson(reply, { status: "live" });

  const ready: Handler = async (_request, reply) => {
    const { source, recorded, table, notTraded, problem = null, clock = null } = probes.rates();
    const status = lifecycle.draining
      ? "draining"
      : (await answersInTime(probes))
        ? "ready"
        : "store-unavailable";
    const body: ReadyJson = {
      status,
      version: probes.version,
      store: probes.store,
      schemaVersion: probes.schemaVersion,
      rates: {
        source,
        recorded,
        table: table?.number ?? null,
        effectiveDate: table?.effectiveDate ?? null,
        tradable: notTraded === undefined,
        reason: notTraded ?? null,
        problem,
        clock,
      },
    };
    return sendJson(reply, body, status === "ready" ? 200 : 503);
  };

  const text: Handler = async (request, reply) => {
    const isHead = request.method === "HEAD";
    const read = isHead ? "" : await reads.read(request, "metrics", (rest) => metrics.text(rest));
    sendText(reply, read, 200, { "content-type": metrics.contentType });
  };

  const token: Handler = async ({ caller }, reply) => {
    const { name = null, role = "operator", expires } = caller ?? {};
    sendJson(reply, { name, role, expires: expires?.toISOString() ?? null } satisfies TokenJson);
  };

  const openApi: Handler = async (_request, reply) => sendJson(reply, document);

  return { token, live, ready, metrics: text, openApi };
}

async function answersInTime(probes: Probes): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), pingTimeoutMs);
  });
  const answered = probes.ping().then(
    () => true,
    () => false,
  );
  return Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
