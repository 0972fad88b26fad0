import { type Account, accountBeforeEntries, type ListedAccount, type Opening } from "../core/account.ts";
import type { Change, Request } from "../core/change.ts";
import { isClean } from "../core/checkpoint.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { FxError, undecided } from "../core/errors.ts";
import { type ExchangeOrder, type ExchangeTerms, type Quote, requireTableName } from "../core/exchange.ts";
import { housePlaceOf } from "../core/house.ts";
import type { Receipt } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { LatestTable, RateOfTable, RateTable, TradingState } from "../core/rates.ts";
import type {
  AccountsRequest,
  AuditOptions,
  AuditReport,
  BulkAnswer,
  BulkLine,
  EntriesPage,
  EntriesRequest,
  ExchangeService,
  ExportRequest,
  FollowRequest,
  Page,
  PageRequest,
  PersonalData,
  Position,
  ReceiptProof,
  Recorded,
  Settlement,
  Statement,
  StatementRequest,
  Till,
  TillRequest,
} from "../core/service.ts";
import type { TradingRequest } from "../core/suspension.ts";
import { account, accounts, accountsQuery, atQuery } from "../wire/accounts.ts";
import { decodeAnswer, notAnAnswer } from "../wire/answers.ts";
import { audit } from "../wire/audit.ts";
import { encodeBody } from "../wire/bulk.ts";
import { entriesPage, entriesQuery, entry, statement, statementQuery } from "../wire/entries.ts";
import { encodeTerms, quote, quoteQuery } from "../wire/exchanges.ts";
import { house } from "../wire/house.ts";
import { position, till, tillQuery } from "../wire/ledger.ts";
import { personalData } from "../wire/personal-data.ts";
import { receiptProof } from "../wire/proof.ts";
import { rateHistory, rateHistoryQuery, rates, rateTables, rateTablesQuery, trading } from "../wire/rates.ts";
import { encodeIdempotencyKey, encodeQuery } from "../wire/requests.ts";
import { RunStart } from "../wire/run-start.ts";
import { type Answer, whatAnswered } from "./answer.ts";
import { Bulk } from "./bulk.ts";
import { compareCheckpoint, takeCheckpoint } from "./checkpoints.ts";
import { readExport } from "./export.ts";
import { problemOf, readFailure } from "./failures.ts";
import { followEntries } from "./follow.ts";
import { type HttpRequest, notFxHint, Transport, type TransportOptions } from "./transport.ts";

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

  createAccount(opening: Opening): Promise<Recorded> {
    return this.#change({ kind: "opening", ...opening }, ({ status, headers }) => {
      if (status !== 204) throw notAnAnswer(`status ${status}`);
      return recordedIn(headers);
    });
  }

  async account(pesel: Pesel, at?: Date): Promise<Account> {
    const query = encodeQuery(atQuery, { at });
    const place = housePlaceOf(pesel);
    if (place === undefined) return this.#get(pathTo`/api/user/${pesel}`, accountIn, { query });
    const held = await this.#get("/api/house", (body) => decodeAnswer(house, body), { query });
    return { ...(accountBeforeEntries(pesel) as Account), balances: held[place] };
  }

  exchange(order: ExchangeOrder): Promise<Settlement> {
    return this.#change({ kind: "exchange", ...order }, settlementIn);
  }

  change(change: Change): Promise<Settlement> {
    return this.#change(change, settlementIn);
  }

  bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncIterable<readonly BulkAnswer[]> {
    return new Bulk(this.#transport, lines, { dryRun: false }).answers();
  }

  dryRun(lines: AsyncIterable<readonly (Request | FxError)[]>): AsyncIterable<readonly BulkAnswer[]> {
    return new Bulk(this.#transport, lines, { dryRun: true }).answers();
  }

  async quote(terms: ExchangeTerms): Promise<Quote> {
    return this.#get("/api/quote", (body) => decodeAnswer(quote, body), {
      query: encodeQuery(quoteQuery, encodeTerms(terms)),
    });
  }

  rates(): Promise<LatestTable> {
    return this.#get("/api/rates", (body) => decodeAnswer(rates, body));
  }

  changeTrading({ reason }: TradingRequest): Promise<TradingState> {
    const isSuspended = reason !== undefined;
    const path = `/api/trading/${isSuspended ? "suspension" : "resumption"}`;
    // Sent again after a lost answer, it could undo what a colleague has done since.
    const post = { path, body: isSuspended ? { reason } : {}, repeatable: false };
    return this.#post(post, ({ body }) => decodeAnswer(trading, body));
  }

  async rateHistory(currency: CurrencyCode, days: number): Promise<readonly RateOfTable[]> {
    const path = pathTo`/api/rates/${currency}/history`;
    const query = encodeQuery(rateHistoryQuery, { days });
    return (await this.#get(path, (body) => decodeAnswer(rateHistory, body), { query })).rates;
  }

  async rateTables(days: number): Promise<readonly RateTable[]> {
    const query = encodeQuery(rateTablesQuery, { days });
    return this.#get("/api/rates/history", (body) => decodeAnswer(rateTables, body), { query });
  }

  async statement(pesel: Pesel, page: StatementRequest): Promise<Statement> {
    const decode = (body: unknown) => requireEnd(decodeAnswer(statement, body), page);
    const place = housePlaceOf(pesel);
    const path = place === undefined ? pathTo`/api/user/${pesel}` : pathTo`/api/house/${place}`;
    return this.#get(`${path}/history`, decode, { query: encodeQuery(statementQuery, page) });
  }

  async personalData(pesel: Pesel): Promise<PersonalData> {
    const decode = (body: unknown) => decodeAnswer(personalData, body);
    return this.#get(pathTo`/api/user/${pesel}/export`, decode, { readsJournal: true });
  }

  receipt(id: string): Promise<Receipt> {
    return this.#get(pathTo`/api/receipts/${id}`, (body) => decodeAnswer(entry, body));
  }

  async entries(page: EntriesRequest): Promise<EntriesPage> {
    const decode = (body: unknown) => {
      const { items, next } = decodeAnswer(entriesPage, body);
      if (items.length > page.limit || (items.length > 0 && next === page.after)) throw leadsNowhere();
      return { items, next };
    };
    return this.#get("/api/entries", decode, { query: encodeQuery(entriesQuery, page) });
  }

  follow(request: FollowRequest): AsyncIterable<readonly Receipt[]> {
    return followEntries(this.#transport, request);
  }

  proof(id: string): Promise<ReceiptProof> {
    const path = pathTo`/api/receipts/${id}/proof`;
    return this.#get(path, (body) => decodeAnswer(receiptProof, body));
  }

  async accounts(page: AccountsRequest): Promise<Page<ListedAccount>> {
    const decode = (body: unknown) => requireEnd(decodeAnswer(accounts, body), page);
    return this.#get("/api/users", decode, { query: encodeQuery(accountsQuery, page) });
  }

  async position(at?: Date): Promise<Position> {
    const decode = (body: unknown) => decodeAnswer(position, body);
    return this.#get("/api/position", decode, { query: encodeQuery(atQuery, { at }), readsJournal: true });
  }

  async till(request: TillRequest): Promise<Till> {
    const query = encodeQuery(tillQuery, request);
    return this.#get("/api/till", (body) => decodeAnswer(till, body), { query, readsJournal: true });
  }

  async audit(options: AuditOptions = {}): Promise<AuditReport> {
    const { onHeads, against } = options;
    if (onHeads === undefined && against === undefined) {
      return this.#get("/api/audit", (body) => decodeAnswer(audit, body), { readsJournal: true });
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
    options: { query?: HttpRequest["query"]; readsJournal?: boolean } = {},
  ): Promise<T> {
    // After a gateway timed out the server may still be reading the journal: a repetition would add to that.
    const repeatable = options.readsJournal !== true;
    const get = { method: "GET", path, repeatable, ...options } as const;
    return this.#transport.send(get, (answer) => this.#decoded(answer, decode));
  }

  /** The answer to a request that moves nothing. */
  #decoded<T>(answer: Answer, decode: (body: unknown, headers: Answer["headers"]) => T) {
    const { status, body, headers } = answer;
    if (status !== 200 || body === undefined) return readFailure(answer, this.#transport);
    try {
      return { value: decode(body, headers) };
    } catch (error) {
      if (!(error instanceof FxError)) throw error;
      const message = `What answers at ${this.#transport.target} is not fx, or is another version of it.`;
      throw new FxError("unreachable", `${message} ${error.message}`, { hint: notFxHint });
    }
  }

  async #change<T extends Recorded>(request: Request, decode: (answer: Answer) => T): Promise<T> {
    const { key } = request;
    const table = request.kind === "exchange" ? request.table : undefined;
    if (table !== undefined) requireTableName(table);
    const [path, body] = [pathOf(request), encodeBody(request)];
    const headers = {
      ...(key !== undefined && { "idempotency-key": encodeIdempotencyKey(key) }),
      ...(table !== undefined && { "fx-table": table }),
    };
    const start = new RunStart();
    return this.#post({ path, body, headers, repeatable: key !== undefined }, (answer, wasUnknown) => {
      start.hear(answer.headers.date as string | undefined);
      const value = decode(answer);
      return wasUnknown ? start.answerAfter(value) : value;
    });
  }

  #post<T>(
    request: Omit<HttpRequest, "method">,
    decode: (answer: Answer, wasUnknown: boolean) => T,
  ): Promise<T> {
    return this.#transport.send({ method: "POST", ...request }, (answer, wasUnknown) => {
      const problem = problemOf(answer);
      if (problem !== undefined) {
        if (isRefusal(problem, answer.status)) throw problem;
        return { failure: problem, outcomeUnknown: undecided.includes(problem.code) };
      }
      try {
        return { value: decode(answer, wasUnknown) };
      } catch {
        return this.#transport.notFx("POST", whatAnswered(answer, false));
      }
    });
  }
}

/** A path with values in it, which are encoded: an id from elsewhere must not lead to another operation. */
function pathTo(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent));
}

function pathOf(request: Request): string {
  const account =
    housePlaceOf(request.pesel) === undefined ? pathTo`/api/user/${request.pesel}` : "/api/house";
  switch (request.kind) {
    case "opening":
      return "/api/user";
    case "exchange":
      return pathTo`/api/exchange/${request.pesel}`;
    case "deposit":
    case "withdrawal":
      return `${account}/${request.kind}s`;
    case "renaming":
      return `${account}/name`;
    case "closing":
    case "block":
    case "unblock":
      return `${account}/${request.kind}`;
    case "reversal":
      return pathTo`/api/receipts/${request.reverses}/reversal`;
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
    throw leadsNowhere();
  }
  return page;
}

function leadsNowhere(): FxError {
  return notAnAnswer("a page that is too long, or leads nowhere");
}

function settlementIn({ status, body, headers }: Answer): Settlement {
  if (status !== 200) throw notAnAnswer(`status ${status}`);
  return { account: accountIn(body, headers), ...recordedIn(headers) };
}

/** The body of an account has four fields only, so a header says whether it is closed or blocked. */
function accountIn(body: unknown, headers: Answer["headers"]): Account {
  const state = headers["fx-account"];
  return { ...decodeAnswer(account, body), closed: state === "closed", blocked: state === "blocked" };
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
