import type { FastifyRequest } from "fastify";
import { warsawDate } from "../../core/date.ts";
import { FxError } from "../../core/errors.ts";
import { type ExchangeOrder, parseTerms } from "../../core/exchange.ts";
import { parsePesel } from "../../core/pesel.ts";
import { accountText, encodeEntry, encodeQuote } from "../../wire/codecs.ts";
import { parseOrderBody, parseQuoteQuery } from "../../wire/requests.ts";
import {
  type Handler,
  type HandlerContext,
  idempotencyKey,
  pathParameter,
  recordedHeaders,
  sendJson,
} from "../answers.ts";
import type { Metrics } from "../metrics.ts";

export function exchangeHandlers({ service, now, prefix }: HandlerContext, metrics: Metrics) {
  const exchange: Handler = async (request, reply) => {
    const settlement = await metrics.counted(
      "exchange",
      () => parseOrder(request),
      (order) => service.exchange(order),
    );
    return sendJson(reply, accountText(settlement.account), 200, recordedHeaders(settlement, prefix));
  };

  const quote: Handler = async (request, reply) =>
    sendJson(reply, encodeQuote(await service.quote(parseTerms(parseQuoteQuery(request.query)))));

  const receipt: Handler = async (request, reply) =>
    sendJson(reply, encodeEntry(await service.receipt(pathParameter(request, "id"))));

  /** Checks in the documented order: body, PESEL, mismatch, same currency. */
  function parseOrder(request: FastifyRequest): ExchangeOrder {
    const body = parseOrderBody(request.body);
    const key = idempotencyKey(request);
    const today = warsawDate(now());
    const pesel = parsePesel(pathParameter(request, "pesel"), today);
    if (body.pesel !== pesel) {
      parsePesel(body.pesel, today);
      throw new FxError("pesel-mismatch", "The PESEL in the body is not the one in the path.");
    }
    const table = request.headers["fx-table"];
    // Listed one by one, because V8 is slow at a spread between other fields (docs/PERFORMANCE.md).
    const { from, to, side, amount } = parseTerms(body);
    const pinned = typeof table === "string" ? table : undefined;
    return { pesel, from, to, side, amount, table: pinned, key, by: request.caller?.name };
  }

  return { exchange, quote, receipt };
}
