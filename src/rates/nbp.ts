import type { Response } from "got";
import { InvalidRateTable, type RateTable } from "../core/rates.ts";
import { excerpt, parseTables } from "./tables.ts";

export const nbpBaseUrl = "https://api.nbp.pl/api";

/** The most tables that the bank gives at once. */
export const mostTables = 67;

/** Bounds on one fetch. The time-outs hold for each attempt. */
export interface FetchLimits {
  readonly connectTimeoutMs: number;
  /** From the request sent to the first byte of the answer. */
  readonly responseTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How often a failed attempt is repeated: after 1 to 2 s, then after 2 to 4 s, and so on. */
  readonly retries: number;
  /** 67 tables are 70 KB. */
  readonly maxBytes: number;
}

export const fetchLimits: FetchLimits = {
  connectTimeoutMs: 5000,
  responseTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  retries: 2,
  maxBytes: 1024 * 1024,
};

/**
 * The newest `count` tables, oldest first, from an API of the bank's shape under `baseUrl`: the one in force from
 * `<base>/exchangerates/tables/C/`, several from `<base>/exchangerates/tables/C/last/<count>/`. A query of the base
 * URL is sent along; a redirect is not followed.
 * @throws Error that says for people what came instead
 */
export async function fetchTables(
  baseUrl: string,
  count: number,
  signal: AbortSignal,
  limits: FetchLimits = fetchLimits,
): Promise<readonly RateTable[]> {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/exchangerates/tables/C/${count === 1 ? "" : `last/${count}/`}`;
  url.searchParams.set("format", "json");
  const where = withoutSecrets(url);
  const response = await answerOf(url, signal, limits).catch((error: NodeJS.ErrnoException) => {
    const reason =
      error.name === "CancelError"
        ? `it is longer than ${limits.maxBytes} bytes`
        : error.message || error.code || error.name;
    throw new Error(`No answer from ${where}: ${reason}.`, { cause: error });
  });
  if (response.statusCode !== 200) {
    const { location } = response.headers;
    const instead = location === undefined ? excerpt(response.body) : `a redirect to ${excerpt(location)}`;
    throw new Error(`${where} answered ${response.statusCode}: ${instead}.`);
  }
  try {
    return parseTables(response.body);
  } catch (error) {
    if (!(error instanceof InvalidRateTable)) throw error;
    throw new Error(`${where} did not answer with rate tables: ${error.message}.`, { cause: error });
  }
}

/** An address for messages: without the user, password and query, which may be secret. */
export function withoutSecrets({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

async function answerOf(url: URL, signal: AbortSignal, limits: FetchLimits): Promise<Response<string>> {
  // Loaded only here, because it takes 100 ms.
  const { got } = await import("got");
  const request = got(url, {
    signal,
    headers: { accept: "application/json", "user-agent": "fx" },
    throwHttpErrors: false,
    followRedirect: false,
    timeout: {
      lookup: limits.connectTimeoutMs,
      connect: limits.connectTimeoutMs,
      secureConnect: limits.connectTimeoutMs,
      response: limits.responseTimeoutMs,
      request: limits.requestTimeoutMs,
    },
    retry: {
      limit: limits.retries,
      maxRetryAfter: limits.requestTimeoutMs,
      calculateDelay: ({ computedValue }) => computedValue * (1 + Math.random()),
    },
  });
  void request.on("downloadProgress", ({ transferred }) => {
    if (transferred > limits.maxBytes) request.cancel();
  });
  return request;
}
