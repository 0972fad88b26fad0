import type { FastifyRequest } from "fastify";
import { warsawDate } from "../../core/date.ts";
import { FxError } from "../../core/errors.ts";
import { type ExchangeOrder, parseTerms } from "../../core/exchange.ts";
import { housePlaceOf } from "../../core/house.ts";
import { parsePesel } from "../../core/pesel.ts";
import { encodeAccount } from "../../wire/accounts.ts";
import { entry } from "../../wire/entries.ts";
import { quoteQuery, quote as quoteShape } from "../../wire/exchanges.ts";
import { order as orderShape } from "../../wire/orders.ts";
import { receiptProof as proofShape } from "../../wire/proof.ts";
import { parseRequest } from "../../wire/requests.ts";
import { includes } from "../../wire/role.ts";
import { tooLittle } from "../access.ts";
import {
  type Handler,
  type HandlerContext,
  idempotencyKey,
  pathParameter,
  recordedHeaders,
  sendJson,
} from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { LongReads } from "../long-reads.ts";
import type { Metrics } from "../metrics.ts";

/**
 * The characters of a receipt's id that a viewer or a teller gives at least: its time, and 12 random bits. With fewer, they
 * could go through the entries of all accounts by their times.
 */
const fewestCharacters = 18;

export function exchangeHandlers(
  { service, now, prefix }: HandlerContext,
  metrics: Metrics,
  longReads: LongReads,
) {
  const exchange: Handler = async (request, reply) => {
    const settlement = await metrics.counted(
      "exchange",
      () => parseOrder(request),
      (order) => service.exchange(order),
    );
    return sendJson(reply, encodeAccount(settlement.account), 200, recordedHeaders(settlement, prefix));
  };

  const quote: Handler = async (request, reply) => {
    const terms = parseTerms(parseRequest(quoteQuery, request.query, "query"));
    return sendJson(reply, quoteShape.encode(await service.quote(terms)));
  };

  const receipt: Handler = async (request, reply) => {
    const { caller } = request;
    const id = pathParameter(request, "id");
    const isFree = caller === undefined || includes(caller.role, "operator");
    if (!isFree && id.length < fewestCharacters) {
      throw tooLittle(
        caller,
        `A receipt by fewer than ${fewestCharacters} characters takes the role operator`,
      );
    }
    const found = await service.receipt(id);
    if (!isFree && housePlaceOf(found.pesel) !== undefined) {
      throw tooLittle(caller, "A receipt of the house takes the role operator");
    }
    return sendJson(reply, entry.encode(found));
  };

  const receiptProof: Handler = async (request, reply) => {
    const id = pathParameter(request, "id");
    const read = async () => JSON.stringify(proofShape.encode(await service.proof(id)));
    return sendJson(reply, await longReads.run(request.url, closingOf(reply), read));
  };

  /** Checks in the documented order: body, PESEL, mismatch, same currency. */
  function parseOrder(request: FastifyRequest): ExchangeOrder {
    const body = parseRequest(orderShape, request.body);
    const key = idempotencyKey(request);
    const today = warsawDate(now());
    const pesel = parsePesel(pathParameter(request, "pesel"), today);
    if (body.pesel !== pesel) {
      parsePesel(body.pesel, today);
      throw new FxError("pesel-mismatch", "The PESEL in the body is not the one in the path.");
    }
    const table = request.headers["fx-table"];
    const pinned = typeof table === "string" ? table : undefined;
    return { pesel, ...parseTerms(body), table: pinned, key, by: request.caller?.name };
  }

  return { exchange, quote, receipt, receiptProof };
}
