import type { Response } from "got";
import { FxError } from "../core/errors.ts";
import { InvalidRateTable, type PublishedTable } from "../core/rates.ts";
import { visible } from "../core/visible.ts";
import { addressWithoutSecrets, type RateSource, sourceName, tablesOf } from "./source.ts";
import { excerpt, parseTables } from "./tables.ts";

export const nbpBaseUrl = "https://api.nbp.pl/api";

/** The most tables that the bank gives at once. */
export const mostTables = 67;

/** Bounds on one fetch. */
export interface FetchLimits {
  readonly connectTimeoutMs: number;
  /** From the request sent to the first byte of the answer. */
  readonly responseTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** 67 tables are 70 KB. */
  readonly maxBytes: number;
}

/** A command waits as long before it fails. */
export const fetchLimits: FetchLimits = {
  connectTimeoutMs: 3000,
  responseTimeoutMs: 5000,
  requestTimeoutMs: 8000,
  maxBytes: 1024 * 1024,
};

/**
 * The bank's API, as "nbp", or another one of its shape, by its base URL.
 * @throws FxError rates-unavailable if that is no URL
 */
export function openApi(source: string, limits: FetchLimits): RateSource {
  const baseUrl = source === "nbp" ? nbpBaseUrl : source;
  if (!URL.canParse(baseUrl)) {
    throw new FxError("rates-unavailable", `No rates from ${source}: it is not an http(s) address.`);
  }
  const name = sourceName(source);
  return {
    name,
    recorded: false,
    async tables(count, signal) {
      const { tables, date } = await fetchTables(baseUrl, count, signal, limits);
      return { tables: tablesOf(name, tables), date };
    },
  };
}

/**
 * The newest `count` tables, oldest first, from an API of the bank's shape under `baseUrl`: the one in force from
 * `<base>/exchangerates/tables/C/`, several from `<base>/exchangerates/tables/C/last/<count>/`. A query of the base
 * URL is sent along; a redirect is not followed.
 * @throws Error with a message that says what was received instead
 */
export async function fetchTables(
  baseUrl: string,
  count: number,
  signal: AbortSignal,
  limits: FetchLimits = fetchLimits,
): Promise<{ readonly tables: readonly PublishedTable[]; readonly date: Date | undefined }> {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/exchangerates/tables/C/${count === 1 ? "" : `last/${count}/`}`;
  url.searchParams.set("format", "json");
  const where = addressWithoutSecrets(url);
  const response = await answerOf(url, signal, limits).catch((error: NodeJS.ErrnoException) => {
    const reason =
      error.name === "CancelError"
        ? `it is longer than ${limits.maxBytes} bytes`
        : (error.message || error.code || error.name).replace(/\.$/, "");
    throw new Error(`No answer from ${where}: ${visible(reason)}.`, { cause: error });
  });
  if (response.statusCode !== 200) {
    const { location } = response.headers;
    const instead =
      location === undefined ? excerpt(String(response.body)) : `a redirect to ${excerpt(location)}`;
    throw new Error(`${where} answered ${response.statusCode}: ${instead}.`);
  }
  try {
    return { tables: parseTables(String(response.body)), date: timeOf(response.headers) };
  } catch (error) {
    if (!(error instanceof InvalidRateTable)) throw error;
    throw new Error(`${where} did not answer with rate tables: ${error.message}.`, { cause: error });
  }
}

/** The time at which an answer left. One from a cache says how many seconds ago it was made. */
function timeOf({ date, age }: Response["headers"]): Date | undefined {
  const made = Date.parse(date ?? "");
  return Number.isNaN(made) ? undefined : new Date(made + 1000 * (Number(age) || 0));
}

async function answerOf(url: URL, signal: AbortSignal, limits: FetchLimits): Promise<Response<string>> {
  // Imported here, because loading it is slow and most commands do not need it.
  const { got } = await import("got");
  const request = got(url, {
    signal,
    headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": "fx" },
    throwHttpErrors: false,
    followRedirect: false,
    // A compressed answer could be a thousand times as long as what arrives.
    decompress: false,
    timeout: {
      lookup: limits.connectTimeoutMs,
      connect: limits.connectTimeoutMs,
      secureConnect: limits.connectTimeoutMs,
      response: limits.responseTimeoutMs,
      request: limits.requestTimeoutMs,
    },
    retry: { limit: 0 },
  });
  void request.on("downloadProgress", ({ transferred }) => {
    if (transferred > limits.maxBytes) request.cancel();
  });
  return request;
}
