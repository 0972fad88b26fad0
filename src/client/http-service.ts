import type * as z from "zod";
import { type Account, accountBeforeEntries } from "../core/account.ts";
import type { Request } from "../core/change.ts";
import { isClean } from "../core/checkpoint.ts";
import { FxError } from "../core/errors.ts";
import { requireTableName } from "../core/exchange.ts";
import { housePlaceOf } from "../core/house.ts";
import type { ExchangeService, Page, PageRequest, Recorded, Settlement, Statement } from "../core/service.ts";
import { account } from "../wire/accounts.ts";
import { decodeAnswer, notAnAnswer } from "../wire/answers.ts";
import { encodeBody } from "../wire/bulk.ts";
import { encodeTerms } from "../wire/exchanges.ts";
import type { Operation } from "../wire/operation.ts";
import { filledPath, operationOf } from "../wire/operation-of.ts";
import { type AnswerTo, operations, type QueryOf, type ReadId } from "../wire/operations.ts";
import { trading } from "../wire/rates.ts";
import { encodeIdempotencyKey, encodeQuery } from "../wire/requests.ts";
import { RunStart } from "../wire/run-start.ts";
import { type Answer, longestPersonalData, whatAnswered } from "./answer.ts";
import { Bulk } from "./bulk.ts";
import { compareCheckpoint, takeCheckpoint } from "./checkpoints.ts";
import { readExport } from "./export.ts";
import { problemOf, readFailure } from "./failures.ts";
import { followEntries } from "./follow.ts";
import { faultOf } from "./retries.ts";
import { type Attempt, type HttpRequest, Transport, type TransportOptions } from "./transport.ts";

type Changes = Pick<
  ExchangeService,
  "createAccount" | "exchange" | "change" | "bulk" | "dryRun" | "changeTrading"
>;

/**
 * ExchangeService at the server under `baseUrl`, which may have a path. Nothing is connected before the first call. A
 * call that moves money is sent once, or again while its outcome is unknown if it has a key.
 */
export function openHttpService(baseUrl: string, options: TransportOptions = {}): ExchangeService {
  const transport = new Transport(baseUrl, options);
  return { ...changesAt(transport), ...readsAt(transport), close: async () => transport.close() };
}

function changesAt(transport: Transport): Changes {
  return {
    createAccount: (opening) => sendChange(transport, { kind: "opening", ...opening }, openingIn),
    exchange: (order) => sendChange(transport, { kind: "exchange", ...order }, settlementIn),
    change: (change) => sendChange(transport, change, settlementIn),
    bulk: (lines) => new Bulk(transport, { dryRun: false }).answersTo(lines),
    dryRun: (lines) => new Bulk(transport, { dryRun: true }).answersTo(lines),
    changeTrading: ({ reason }) => {
      const { path } = operations[reason === undefined ? "resumeTrading" : "suspendTrading"];
      // Sent again after a lost answer, it could undo what a colleague has done since.
      const request = { path, body: reason === undefined ? {} : { reason }, repeatable: false };
      return post(transport, request, ({ body }) => decodeAnswer(trading, body));
    },
  };
}

function readsAt(transport: Transport): Omit<ExchangeService, keyof Changes | "close"> {
  const get = asker(transport);
  return {
    account: (pesel, at) => {
      const place = housePlaceOf(pesel);
      if (place === undefined) return get("account", { values: { pesel }, query: { at } }, withState);
      const empty = accountBeforeEntries(pesel) as Account;
      return get("house", { query: { at } }, (held) => ({ ...empty, balances: held[place] }));
    },
    house: (at) => get("house", { query: { at } }),
    quote: (terms) => get("quote", { query: encodeTerms(terms) }),
    rates: () => get("rates"),
    rateHistory: (currency, days) =>
      get("rateHistory", { values: { code: currency }, query: { days } }, ({ rates }) => rates),
    rateTables: (days) => get("rateTables", { query: { days } }),
    statement: (pesel, page) => {
      const account = housePlaceOf(pesel);
      const read = (statement: Statement) => requireEnd(statement, page);
      return account === undefined
        ? get("statement", { values: { pesel }, query: page }, read)
        : get("houseStatement", { values: { account }, query: page }, read);
    },
    personalData: (pesel) =>
      get("personalData", { values: { pesel }, readsJournal: true, longest: longestPersonalData }),
    receipt: (id) => get("receipt", { values: { id } }),
    proof: (id) => get("receiptProof", { values: { id } }),
    entries: (page) =>
      get("entries", { query: page }, ({ items, next }) => {
        if (items.length > page.limit || (items.length > 0 && next === page.after)) throw leadsNowhere();
        return { items, next };
      }),
    follow: (request) => followEntries(transport, request),
    accounts: (page) => get("accounts", { query: page }, (accounts) => requireEnd(accounts, page)),
    position: (at) => get("position", { query: { at }, readsJournal: true }),
    till: (query) => get("till", { query, readsJournal: true }),
    audit: async (options = {}) => {
      const { onHeads, against } = options;
      if (onHeads === undefined && against === undefined) return get("audit", { readsJournal: true });
      const compared = against && (await compareCheckpoint(transport, against));
      if (compared !== undefined && (onHeads === undefined || !isClean(compared))) return compared;
      return { ...compared, ...(await takeCheckpoint(transport, options)) };
    },
    export: (request) => readExport(transport, request),
  };
}

interface Question<Id extends ReadId> {
  /** The values of the parameters in the path. */
  readonly values?: Readonly<Record<string, string>>;
  readonly query?: QueryOf<Id>;
  /** Whether the server reads its whole journal for the answer. */
  readonly readsJournal?: boolean;
  /** The maximum bytes of the answer, if longer than usual. */
  readonly longest?: number;
}

/** Asks a server for the answers of operations by their ids. */
export function asker(transport: Transport) {
  /** @param read checks the answer, or adds what its headers say */
  return async <Id extends ReadId, T = AnswerTo<Id>>(
    id: Id,
    { values = {}, query, readsJournal = false, longest }: Question<Id> = {},
    read: (answer: AnswerTo<Id>, headers: Answer["headers"]) => T = (answer) => answer as T & AnswerTo<Id>,
  ): Promise<T> => {
    const { path, query: shape, answer: schema }: Operation = operations[id];
    const question = {
      path: filledPath(path, values),
      query: shape && (encodeQuery(shape, query ?? {}) as HttpRequest["query"]),
      readsJournal,
      longest,
      // After a gateway timed out the server may still be reading the journal: a repetition would add to that.
      repeatable: !readsJournal,
    };
    return transport.send({ method: "GET", ...question }, (answer) =>
      decoded(transport, answer, (body, headers) =>
        read(decodeAnswer(schema as z.ZodType<AnswerTo<Id>>, body), headers),
      ),
    );
  };
}

/** The answer to a request that moves nothing. */
function decoded<T>(
  transport: Transport,
  answer: Answer,
  decode: (body: unknown, headers: Answer["headers"]) => T,
): Attempt<T> {
  const { status, body, headers } = answer;
  if (status !== 200 || body === undefined) return readFailure(answer, transport);
  try {
    return { value: decode(body, headers) };
  } catch (error) {
    if (!(error instanceof FxError)) throw error;
    const message = `What answers at ${transport.target} is not fx, or is another version of it.`;
    throw new FxError("unreachable", `${message} ${error.message}`, { hint: transport.notFxHint });
  }
}

async function sendChange<T extends Recorded>(
  transport: Transport,
  request: Request,
  decode: (answer: Answer) => T,
): Promise<T> {
  const { key } = request;
  const table = request.kind === "exchange" ? request.table : undefined;
  if (table !== undefined) requireTableName(table);
  const reverses = request.kind === "reversal" ? request.reverses : "";
  const path = filledPath(operationOf(request).path, { pesel: request.pesel, id: reverses });
  const body = encodeBody(request);
  const headers = {
    ...(key !== undefined && { "idempotency-key": encodeIdempotencyKey(key) }),
    ...(table !== undefined && { "fx-table": table }),
  };
  const sent = { path, body, headers, repeatable: key !== undefined };
  return post(transport, sent, (answer, wasUnknown, start) => {
    start.hear(answer.headers.date as string | undefined);
    return start.answerAfter(decode(answer), wasUnknown);
  });
}

function post<T>(
  transport: Transport,
  request: Omit<HttpRequest, "method">,
  decode: (answer: Answer, wasUnknown: boolean, start: RunStart) => T,
): Promise<T> {
  const start = new RunStart();
  return transport.send({ method: "POST", ...request }, (answer, wasUnknown) => {
    const problem = problemOf(answer);
    if (problem !== undefined) {
      if (isRefusal(problem, answer.status)) throw start.answerAfter(problem, wasUnknown);
      return faultOf(problem);
    }
    try {
      return { value: decode(answer, wasUnknown, start) };
    } catch {
      return transport.notFx("POST", whatAnswered(answer, false));
    }
  });
}

/** Whether fx has decided on the request by its key. Any other problem says nothing about earlier attempts. */
function isRefusal({ code }: FxError, status: number): boolean {
  return [400, 404, 409, 422].includes(status) && code !== "not-found";
}

/** Refuses a page that does not lead on: it would be asked for without end. */
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

function openingIn({ status, headers }: Answer): Recorded {
  if (status !== 204) throw notAnAnswer(`status ${status}`);
  return recordedIn(headers);
}

function settlementIn({ status, body, headers }: Answer): Settlement {
  if (status !== 200) throw notAnAnswer(`status ${status}`);
  return { account: withState(decodeAnswer(account, body), headers), ...recordedIn(headers) };
}

/** The body of an account has four fields only, so a header says whether it is closed or blocked. */
function withState(account: Account, headers: Answer["headers"]): Account {
  const state = headers["fx-account"];
  return { ...account, closed: state === "closed", blocked: state === "blocked" };
}

/** If the server's URL has a path, so has the receipt's. */
function recordedIn(headers: Answer["headers"]): Recorded {
  const [, receiptId] = /\/api\/receipts\/([^/]+)$/.exec(String(headers["fx-receipt"])) ?? [];
  if (receiptId === undefined) throw notAnAnswer("no receipt");
  return { receiptId, replayed: headers["idempotency-replayed"] === "true" };
}
