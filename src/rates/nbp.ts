import type { Response } from "got";
import { FxError } from "../core/errors.ts";
import { visible } from "../core/visible.ts";
import { requestHeaders, requestOptions, routeTo } from "../outbound/proxy.ts";
import { excerpt, InvalidRateTable, parseTables } from "./published.ts";
import { addressWithoutSecrets, type RateSource, sourceName, tablesOf } from "./source.ts";

const nbpBaseUrl = "https://api.nbp.pl/api";

/** The most tables that the bank gives at once: three months, for the history of rates. */
const mostTables = 67;

/** Bounds on one fetch. A command waits as long before it fails. */
const fetchLimits = {
  connectTimeoutMs: 3000,
  /** The time from the request to the first byte of the answer. */
  responseTimeoutMs: 5000,
  requestTimeoutMs: 8000,
  /** 67 tables are 70 KB. */
  maxBytes: 1024 * 1024,
};
export type FetchLimits = typeof fetchLimits;

/**
 * The bank's API, as "nbp", or another one of its shape, by its base URL. The newest tables are those of
 * `<base>/exchangerates/tables/C/last/67/`, or, where an API does not have these, the one of
 * `<base>/exchangerates/tables/C/`. A query of the base URL is sent along; a redirect is not followed.
 * @throws FxError rates-unavailable if that is no URL
 */
export function openApi(source: string, limits: Partial<FetchLimits> = {}): RateSource {
  const baseUrl = source === "nbp" ? nbpBaseUrl : source;
  if (!URL.canParse(baseUrl)) {
    throw new FxError("rates-unavailable", `No rates from ${source}: it is not an http(s) address.`);
  }
  const name = sourceName(source);
  return {
    name,
    recorded: false,
    async tables(signal) {
      const ask = (path: string) => {
        const url = new URL(baseUrl);
        url.pathname = `${url.pathname.replace(/\/+$/, "")}/exchangerates/tables/C/${path}`;
        url.searchParams.set("format", "json");
        return answerOf(url, signal, { ...fetchLimits, ...limits });
      };
      const list = await ask(`last/${mostTables}/`);
      const response = list.statusCode === 404 ? await ask("") : list;
      const where = addressWithoutSecrets(new URL(response.url));
      const { statusCode, headers } = response;
      // Bytes, if they are in a coding that fx did not ask for.
      const body = String(response.body);
      if (statusCode !== 200) {
        const { location } = headers;
        const instead = location === undefined ? excerpt(body) : `a redirect to ${excerpt(location)}`;
        throw new Error(`${where} answered ${statusCode}: ${instead}.`);
      }
      try {
        return { tables: tablesOf(name, parseTables(body)), date: timeOf(headers) };
      } catch (error) {
        if (!(error instanceof InvalidRateTable)) throw error;
        throw new Error(`${where} did not answer with rate tables: ${error.message}.`, { cause: error });
      }
    },
  };
}

/** @throws Error if there is no whole answer, with a message that says why */
async function answerOf(
  url: URL,
  signal: AbortSignal | undefined,
  limits: FetchLimits,
): Promise<Response<string>> {
  // Imported here, because loading it is slow and most commands do not need it.
  const { got } = await import("got");
  let way = "";
  try {
    const { agent, proxy } = routeTo(url, { timeout: limits.requestTimeoutMs });
    way = proxy === undefined ? "" : ` through the proxy ${proxy}`;
    const request = got(url, {
      ...requestOptions,
      agent,
      signal,
      headers: { accept: "application/json", ...requestHeaders },
      timeout: {
        lookup: limits.connectTimeoutMs,
        connect: limits.connectTimeoutMs,
        secureConnect: limits.connectTimeoutMs,
        response: limits.responseTimeoutMs,
        request: limits.requestTimeoutMs,
      },
    });
    void request.on("downloadProgress", ({ transferred }) => {
      if (transferred > limits.maxBytes) request.cancel();
    });
    return await request;
  } catch (error) {
    const { name, message, code } = error as NodeJS.ErrnoException;
    const reason =
      name === "CancelError"
        ? `it is longer than ${limits.maxBytes} bytes`
        : (message || code || name).replace(/\.$/, "");
    const address = addressWithoutSecrets(url);
    throw new Error(`No answer from ${address}${way}: ${visible(reason)}.`, { cause: error });
  }
}

/** The time at which an answer left. One from a cache says how many seconds ago it was made. */
function timeOf({ date, age }: Response["headers"]): Date | undefined {
  const made = Date.parse(date ?? "");
  return Number.isNaN(made) ? undefined : new Date(made + 1000 * (Number(age) || 0));
}
