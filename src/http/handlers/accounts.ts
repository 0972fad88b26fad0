import type { FastifyRequest } from "fastify";
import { parseOpening } from "../../core/account.ts";
import { warsawDate } from "../../core/date.ts";
import { FxError } from "../../core/errors.ts";
import { houseNumber, housePlaces } from "../../core/house.ts";
import { type Pesel, parsePesel } from "../../core/pesel.ts";
import { atQuery, encodeAccount, initialOf, opening } from "../../wire/accounts.ts";
import { statementQuery, statement as statementShape } from "../../wire/entries.ts";
import { house as houseShape } from "../../wire/house.ts";
import { personalDataParts } from "../../wire/personal-data.ts";
import { parseRequest } from "../../wire/requests.ts";
import {
  accountHeaders,
  type Handler,
  type HandlerContext,
  idempotencyKey,
  pathParameter,
  recordedHeaders,
  sendHead,
  sendJson,
  sendSlow,
} from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { Lifecycle } from "../lifecycle.ts";
import type { LongReads } from "../long-reads.ts";
import type { Metrics } from "../metrics.ts";

/** Longer pages are read one at a time. */
const shortPage = 100;

export function accountHandlers(
  { service, now, prefix, slowAnswers }: HandlerContext,
  metrics: Metrics,
  longReads: LongReads,
  lifecycle: Lifecycle,
) {
  const createAccount: Handler = async (request, reply) => {
    const read = () => {
      const fields = parseRequest(opening, request.body);
      const key = idempotencyKey(request);
      const by = request.caller?.name;
      return parseOpening({ ...fields, initial: initialOf(fields), key, by }, warsawDate(now()));
    };
    const recorded = await metrics.counted("opening", read, (opening) => service.createAccount(opening));
    return reply.code(204).headers(recordedHeaders(recorded, prefix)).send();
  };

  const account: Handler = async (request, reply) => {
    const { at } = parseRequest(atQuery, request.query, "query");
    const pesel = parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
    const read = () => service.account(pesel, at);
    const found = await (at === undefined ? read() : longReads.run(request.url, closingOf(reply), read));
    return sendJson(reply, encodeAccount(found), 200, accountHeaders(found));
  };

  const house: Handler = async (request, reply) => {
    const { at } = parseRequest(atQuery, request.query, "query");
    return sendJson(reply, houseShape.encode(await service.house(at)));
  };

  const statementOf =
    (accountOf: (request: FastifyRequest) => Pesel): Handler =>
    async (request, reply) => {
      const page = parseRequest(statementQuery, request.query, "query");
      const number = accountOf(request);
      const read = async () => JSON.stringify(statementShape.encode(await service.statement(number, page)));
      const isLong = page.limit > shortPage || page.from !== undefined || page.to !== undefined;
      return sendJson(reply, await (isLong ? longReads.run(request.url, closingOf(reply), read) : read()));
    };
  const statement = statementOf((request) => parsePesel(pathParameter(request, "pesel"), warsawDate(now())));
  const houseStatement = statementOf((request) => houseAccountOf(pathParameter(request, "account")));

  const personalData: Handler = async (request, reply) => {
    const pesel = parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
    if (request.method === "HEAD") return sendHead(reply);
    const read = (signal: AbortSignal) => service.personalData(pesel, signal);
    const parts = personalDataParts(longReads.run(undefined, closingOf(reply), read));
    return sendSlow(request, reply, { lifecycle, slowAnswers, parts });
  };

  return { createAccount, account, statement, house, houseStatement, personalData };
}

/** @throws FxError not-found */
function houseAccountOf(given: string): Pesel {
  const place = housePlaces.find((name) => name === given);
  if (place !== undefined) return houseNumber(place);
  const accounts = housePlaces.join(" and ");
  throw new FxError("not-found", `The house has no such account. Its accounts are ${accounts}.`);
}
