import type { Got, Method, OptionsInit, RequestError, Response, TimeoutError } from "got";
import type { Account, Opening } from "../core/account.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { FxError } from "../core/errors.ts";
import type { Exchange, ExchangeOrder, ExchangeTerms } from "../core/exchange.ts";
import type { Entry, ExchangeEntry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type {
  AuditReport,
  ExchangeService,
  Page,
  PageRequest,
  Position,
  RateOnDay,
  RatesInForce,
  Settlement,
} from "../core/service.ts";
import * as codecs from "../wire/codecs.ts";
import { decodeProblem } from "../wire/problem.ts";
import { encodeIdempotencyKey, encodeOpening, encodeOrder, encodeQuoteQuery } from "../wire/requests.ts";

/** Nothing was sent: the server refused the connection, is not known, or did not take it in time. */
export class ServerUnreachable extends Error {
  override readonly name = "ServerUnreachable";
}

/** The request was sent and no answer of fx came: whether it was done is not known. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

export interface HttpServiceOptions {
  readonly connectTimeoutMs?: number;
  /** For the answer to one attempt. Audit and position, which read the whole journal, have as long as they need. */
  readonly answerTimeoutMs?: number;
  /** Pauses before a request whose answer was lost is sent again, each up to twice as long by chance. */
  readonly resendPausesMs?: readonly number[];
}

/** ExchangeService of the fx server at `baseUrl`, such as "http://127.0.0.1:8080". It connects when first asked. */
export async function openHttpService(
  baseUrl: string,
  options: HttpServiceOptions = {},
): Promise<ExchangeService> {
  const [{ got }, { Agent: HttpAgent }, { Agent: HttpsAgent }] = await Promise.all([
    import("got"),
    import("node:http"),
    import("node:https"),
  ]);
  const agent = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  const { connectTimeoutMs = 5000, answerTimeoutMs = 30_000, resendPausesMs = [100, 300, 900] } = options;
  const client = got.extend({
    prefixUrl: baseUrl,
    agent,
    headers: { "user-agent": "fx", accept: "application/json" },
    timeout: {
      lookup: connectTimeoutMs,
      connect: connectTimeoutMs,
      secureConnect: connectTimeoutMs,
      response: answerTimeoutMs,
    },
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
  });
  return new HttpService(client, resendPausesMs, () => {
    agent.http.destroy();
    agent.https.destroy();
  });
}

const dayMs = 86_400_000;

interface Request {
  readonly method?: Method;
  readonly query?: Record<string, string | number | undefined>;
  readonly body?: unknown;
  readonly headers?: Record<string, string | undefined>;
  /** Whether the same request sent twice does what it does once. */
  readonly repeatable?: boolean;
  readonly withoutTimeout?: boolean;
}

class HttpService implements ExchangeService {
  readonly #client: Got;
  readonly #resendPausesMs: readonly number[];
  readonly #disconnect: () => void;

  constructor(client: Got, resendPausesMs: readonly number[], disconnect: () => void) {
    this.#client = client;
    this.#resendPausesMs = resendPausesMs;
    this.#disconnect = disconnect;
  }

  async createAccount(opening: Opening): Promise<{ readonly replayed: boolean }> {
    const { headers } = await this.#send("api/user", {
      method: "POST",
      body: encodeOpening(opening),
      ...keyed(opening.key),
    });
    return { replayed: "idempotency-replayed" in headers };
  }

  async exchange(order: ExchangeOrder): Promise<Settlement> {
    const { pesel, table, key } = order;
    const { headers: sent, repeatable } = keyed(key);
    const { body, headers } = await this.#send(`api/exchange/${pesel}`, {
      method: "POST",
      body: encodeOrder(pesel, order),
      headers: { ...sent, "fx-table": table },
      repeatable,
    });
    return {
      account: codecs.decodeAccount(parseAnswer(body)),
      receiptId: String(headers["fx-receipt"]).split("/").at(-1) ?? "",
      replayed: "idempotency-replayed" in headers,
    };
  }

  async account(pesel: Pesel): Promise<Account> {
    return codecs.decodeAccount(await this.#read(`api/user/${pesel}`));
  }

  async quote(terms: ExchangeTerms): Promise<Exchange> {
    return codecs.decodeQuote(await this.#read("api/quote", { query: encodeQuoteQuery(terms) }));
  }

  async rates(): Promise<RatesInForce> {
    return codecs.decodeRates(await this.#read("api/rates"));
  }

  async rateHistory(currency: CurrencyCode, days: number): Promise<readonly RateOnDay[]> {
    const path = `api/rates/${encodeURIComponent(currency)}/history`;
    return codecs.decodeRateHistory(await this.#read(path, { query: { days } }));
  }

  async statement(pesel: Pesel, { limit, cursor }: PageRequest): Promise<Page<Entry>> {
    return codecs.decodeStatement(
      await this.#read(`api/user/${pesel}/history`, { query: { limit, cursor } }),
    );
  }

  async receipt(id: string): Promise<ExchangeEntry> {
    const entry = codecs.decodeEntry(await this.#read(`api/receipts/${encodeURIComponent(id)}`));
    if (entry.kind === "exchange") return entry;
    throw new FxError("internal", "The answer is not a receipt.");
  }

  async accounts({ limit, cursor }: PageRequest): Promise<Page<Account>> {
    return codecs.decodeAccounts(await this.#read("api/users", { query: { limit, cursor } }));
  }

  async position(): Promise<Position> {
    return codecs.decodePosition(await this.#read("api/position", { withoutTimeout: true }));
  }

  async audit(): Promise<AuditReport> {
    return codecs.decodeAudit(await this.#read("api/audit", { withoutTimeout: true }));
  }

  async close(): Promise<void> {
    this.#disconnect();
  }

  async #read(path: string, request: Request = {}): Promise<unknown> {
    return parseAnswer((await this.#send(path, { ...request, repeatable: true })).body);
  }

  /** Sends a request, and sends it again after a lost answer where that is harmless. */
  async #send(path: string, request: Request): Promise<Response<string>> {
    const pauses = request.repeatable ? this.#resendPausesMs : [];
    let sentBefore = false;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return answered(await this.#attempt(path, request), request);
      } catch (error) {
        // Once sent, a request may have been done, even if the server cannot be reached any more.
        if (error instanceof ServerUnreachable && !sentBefore) throw error;
        if (!(error instanceof ServerUnreachable || error instanceof OutcomeUnknown)) throw error;
        const pauseMs = pauses[attempt];
        if (pauseMs === undefined) throw new OutcomeUnknown(error.message, { cause: error });
        sentBefore = true;
        await new Promise((next) => setTimeout(next, pauseMs * (1 + Math.random())));
      }
    }
  }

  async #attempt(path: string, request: Request): Promise<Response<string>> {
    const { method = "GET", query = {}, body, headers = {}, withoutTimeout } = request;
    const options: OptionsInit = {
      method,
      searchParams: query,
      headers,
      ...(body === undefined ? {} : { json: body }),
      ...(withoutTimeout ? { timeout: { response: dayMs } } : {}),
    };
    try {
      return (await this.#client(path, options)) as Response<string>;
    } catch (error) {
      throw transportError(error as RequestError);
    }
  }
}

function keyed(key: string | undefined) {
  const headers = key === undefined ? {} : { "idempotency-key": encodeIdempotencyKey(key) };
  return { headers, repeatable: key !== undefined };
}

/** The response of a success; the error that a problem tells of is thrown. */
function answered(response: Response<string>, { method, repeatable }: Request): Response<string> {
  const { statusCode, body, headers } = response;
  if (statusCode === 200 || statusCode === 204) return response;
  const retryAfter = Number(headers["retry-after"]);
  const problem = decodeProblem(parseOrUndefined(body), Number.isNaN(retryAfter) ? undefined : retryAfter);
  if (problem !== undefined) throw problem;
  const what = `${new URL(response.url).origin} answered ${statusCode}, and not as fx does`;
  if (statusCode >= 500 && (repeatable || method === "POST")) {
    throw new OutcomeUnknown(`${what}. A proxy between may have lost the answer.`);
  }
  throw new FxError("internal", `${what}. Is the address right?`);
}

const notConnected = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "EACCES",
  "ERR_INVALID_URL",
]);
const beforeSending = new Set(["lookup", "connect", "secureConnect", "socket"]);

function transportError(error: RequestError | TimeoutError): Error {
  const { code = "", message } = error;
  const origin = error.options?.url instanceof URL ? error.options.url.origin : "the server";
  const timedOutConnecting =
    code === "ETIMEDOUT" && beforeSending.has((error as TimeoutError).event ?? "connect");
  const untrusted = /CERT|ERR_TLS|ERR_SSL|SELF_SIGNED|EPROTO/.test(code);
  if (notConnected.has(code) || timedOutConnecting || untrusted) {
    const reason = code === "ECONNREFUSED" ? "nothing listens there" : message;
    return new ServerUnreachable(`${origin} cannot be reached: ${reason}.`, { cause: error });
  }
  return new OutcomeUnknown(`The request was sent to ${origin}, and no answer came: ${message}.`, {
    cause: error,
  });
}

function parseAnswer(body: string): unknown {
  const parsed = parseOrUndefined(body);
  if (parsed === undefined)
    throw new FxError("internal", "The answer is not JSON, as fx gives it. Is the address right?");
  return parsed;
}

function parseOrUndefined(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
