import type { Account, Opening } from "../core/account.ts";
import type { Change, Request } from "../core/change.ts";
import { isClean } from "../core/checkpoint.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { FxError, undecided } from "../core/errors.ts";
import { type ExchangeOrder, type ExchangeTerms, type Quote, requireTableName } from "../core/exchange.ts";
import type { Receipt } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { LatestTable, RateOfTable } from "../core/rates.ts";
import type {
  AccountsRequest,
  AuditOptions,
  AuditReport,
  BulkAnswer,
  BulkLine,
  ExchangeService,
  ExportRequest,
  Page,
  PageRequest,
  Position,
  Recorded,
  Settlement,
  Statement,
  StatementRequest,
} from "../core/service.ts";
import { decodeAudit } from "../wire/audit.ts";
import {
  decodeAccount,
  decodeAccounts,
  decodeEntry,
  decodePosition,
  decodeQuote,
  decodeRateHistory,
  decodeRates,
  decodeStatement,
  notAnAnswer,
} from "../wire/codecs.ts";
import { encodeAccountsQuery, encodeAtQuery, encodeStatementQuery } from "../wire/queries.ts";
import {
  encodeChange,
  encodeIdempotencyKey,
  encodeOpening,
  encodeOrder,
  encodeQuoteQuery,
} from "../wire/requests.ts";
import { Bulk } from "./bulk.ts";
import { compareCheckpoint, takeCheckpoint } from "./checkpoints.ts";
import { readExport } from "./export.ts";
import { type Answer, Transport, type TransportOptions, whatAnswered } from "./transport.ts";
import { problemOf, unfit } from "./unfit.ts";

/**
 * ExchangeService at the server under `baseUrl`, which may have a path. Nothing is connected before the first call. A
 * call that moves money is sent once, or again while its outcome is unknown if it has a key.
 */
export function openHttpService(baseUrl: string, options: TransportOptions = {}): ExchangeService {
  return new HttpService(new Transport(baseUrl, options));
}

class HttpService implements ExchangeService {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async createAccount(opening: Opening): Promise<Recorded> {
    const { key } = opening;
    return this.#post("/api/user", encodeOpening(opening), { key }, ({ status, headers }) => {
      if (status !== 204) throw notAnAnswer(`status ${status}`);
      return recordedIn(headers);
    });
  }

  account(pesel: Pesel, at?: Date): Promise<Account> {
    const decode = (body: unknown, headers: Answer["headers"]) => decodeAccount(body, isClosed(headers));
    return this.#get(`/api/user/${pesel}`, decode, { query: encodeAtQuery(at) });
  }

  async exchange(order: ExchangeOrder): Promise<Settlement> {
    const { pesel, table, key } = order;
    return this.#post(`/api/exchange/${pesel}`, encodeOrder(pesel, order), { key, table }, (answer) => {
      return settlementIn(answer);
    });
  }

  change(change: Change): Promise<Settlement> {
    const { path, body } = encodeChange(change);
    return this.#post(path, body, { key: change.key }, settlementIn);
  }

  bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncIterable<readonly BulkAnswer[]> {
    return new Bulk(this.#transport, lines, { dryRun: false }).answers();
  }

  dryRun(lines: AsyncIterable<readonly (Request | FxError)[]>): AsyncIterable<readonly BulkAnswer[]> {
    return new Bulk(this.#transport, lines, { dryRun: true }).answers();
  }

  quote(terms: ExchangeTerms): Promise<Quote> {
    return this.#get("/api/quote", decodeQuote, { query: encodeQuoteQuery(terms) });
  }

  rates(): Promise<LatestTable> {
    return this.#get("/api/rates", decodeRates);
  }

  rateHistory(currency: CurrencyCode, days: number): Promise<readonly RateOfTable[]> {
    const path = `/api/rates/${encodeURIComponent(currency)}/history`;
    return this.#get(path, decodeRateHistory, { query: { days: String(days) } });
  }

  statement(pesel: Pesel, page: StatementRequest): Promise<Statement> {
    const decode = (body: unknown) => requireEnd(decodeStatement(body), page);
    return this.#get(`/api/user/${pesel}/history`, decode, { query: encodeStatementQuery(page) });
  }

  receipt(id: string): Promise<Receipt> {
    return this.#get(`/api/receipts/${encodeURIComponent(id)}`, decodeEntry);
  }

  accounts(page: AccountsRequest): Promise<Page<Account>> {
    const decode = (body: unknown) => requireEnd(decodeAccounts(body), page);
    return this.#get("/api/users", decode, { query: encodeAccountsQuery(page) });
  }

  position(at?: Date): Promise<Position> {
    const query = encodeAtQuery(at);
    return this.#get("/api/position", decodePosition, { query, readsJournal: true });
  }

  async audit(options: AuditOptions = {}): Promise<AuditReport> {
    const { onHeads, against } = options;
    if (onHeads === undefined && against === undefined) {
      return this.#get("/api/audit", decodeAudit, { readsJournal: true });
    }
    const compared = against && (await compareCheckpoint(this.#transport, against));
    if (compared !== undefined && (onHeads === undefined || !isClean(compared))) return compared;
    return { ...compared, ...(await takeCheckpoint(this.#transport, options)) };
  }

  export(request: ExportRequest): AsyncIterable<string> {
    return readExport(this.#transport, request);
  }

  async close(): Promise<void> {
    this.#transport.close();
  }

  async #get<T>(
    path: string,
    decode: (body: unknown, headers: Answer["headers"]) => T,
    options: { query?: Record<string, string>; readsJournal?: boolean } = {},
  ): Promise<T> {
    return this.#transport.send({ method: "GET", path, repeatable: true, ...options }, (answer) => {
      const { status, body, headers } = answer;
      if (status !== 200 || body === undefined) return unfit(answer, this.#transport);
      try {
        return { value: decode(body, headers) };
      } catch (error) {
        if (!(error instanceof FxError)) throw error;
        const message = `What answers at ${this.#transport.place} is not fx, or is another version of it.`;
        throw new FxError("internal", `${message} ${error.message}`);
      }
    });
  }

  async #post<T>(
    path: string,
    body: object,
    { key, table }: { key: string | undefined; table?: string | undefined },
    decode: (answer: Answer) => T,
  ): Promise<T> {
    if (table !== undefined) requireTableName(table);
    const headers = {
      ...(key !== undefined && { "idempotency-key": encodeIdempotencyKey(key) }),
      ...(table !== undefined && { "fx-table": table }),
    };
    const request = { method: "POST", path, body, headers, repeatable: key !== undefined } as const;
    return this.#transport.send(request, (answer) => {
      const problem = problemOf(answer);
      if (problem !== undefined) {
        if (isRefusal(problem, answer.status)) throw problem;
        return { failure: problem, isOpen: undecided.includes(problem.code) };
      }
      try {
        return { value: decode(answer) };
      } catch {
        return this.#transport.notFx("POST", whatAnswered(answer, false));
      }
    });
  }
}

/** Whether fx has decided on the request by its key. Any other problem says nothing of an attempt before. */
function isRefusal({ code }: FxError, status: number): boolean {
  return [400, 404, 409, 422].includes(status) && code !== "not-found";
}

/** Pages that lead nowhere would be asked for without end. */
function requireEnd<T extends Page<unknown>>(
  page: T,
  { limit, cursor, at }: PageRequest & { at?: unknown },
): T {
  const { items, next } = page;
  const isPast = at !== undefined;
  if (items.length > limit || (next !== undefined && (next === cursor || (items.length === 0 && !isPast)))) {
    throw notAnAnswer("a page that is too long, or leads nowhere");
  }
  return page;
}

function settlementIn({ status, body, headers }: Answer): Settlement {
  if (status !== 200) throw notAnAnswer(`status ${status}`);
  return { account: decodeAccount(body, isClosed(headers)), ...recordedIn(headers) };
}

function isClosed(headers: Answer["headers"]): boolean {
  return headers["fx-account"] === "closed";
}

/** If the server's URL has a path, so has the receipt's. */
function recordedIn(headers: Answer["headers"]): Recorded {
  const [, receiptId] = /\/api\/receipts\/([^/]+)$/.exec(String(headers["fx-receipt"])) ?? [];
  if (receiptId === undefined) throw notAnAnswer("no receipt");
  return { receiptId, replayed: isReplay(headers) };
}

function isReplay(headers: Answer["headers"]): boolean {
  return headers["idempotency-replayed"] === "true";
}
