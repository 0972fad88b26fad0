import type { FastifyRequest } from "fastify";
import { parseOpening } from "../core/account.ts";
import { FxError } from "../core/errors.ts";
import { type ExchangeOrder, parseTerms } from "../core/exchange.ts";
import { parsePesel } from "../core/pesel.ts";
import type { ExchangeService } from "../core/service.ts";
import { warsawDate } from "../warsaw.ts";
import { accountText, encodeQuote } from "../wire/codecs.ts";
import { parseIdempotencyKey, parseOpeningBody, parseOrderBody, parseQuoteQuery } from "../wire/requests.ts";
import { type Handler, type Headers, pathParameter, sendJson, sendText } from "./answers.ts";
import { toFxError } from "./errors.ts";
import type { Metrics } from "./metrics.ts";

/** The contract: opening an account, reading it, exchanging; and what an exchange would come to. */
export function exchangeHandlers(
  { service, now }: { readonly service: ExchangeService; readonly now: () => Date },
  metrics: Metrics,
) {
  const createAccount: Handler = async (request, reply) => {
    const fields = parseOpeningBody(request.body);
    const key = idempotencyKey(request);
    const { replayed } = await service.createAccount(parseOpening({ ...fields, key }, warsawDate(now())));
    return sendText(reply, "", 204, replayed ? { "idempotency-replayed": "true" } : {});
  };

  const account: Handler = async (request, reply) => {
    const pesel = parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
    return sendJson(reply, accountText(await service.account(pesel)));
  };

  const exchange: Handler = async (request, reply) => {
    try {
      const { account, receiptId, replayed } = await service.exchange(parseOrder(request));
      metrics.order(replayed ? "replayed" : "settled");
      const headers: Headers = { "fx-receipt": `/api/receipts/${receiptId}` };
      if (replayed) headers["idempotency-replayed"] = "true";
      return sendJson(reply, accountText(account), 200, headers);
    } catch (error) {
      metrics.order(toFxError(error).code);
      throw error;
    }
  };

  const quote: Handler = async (request, reply) =>
    sendJson(reply, encodeQuote(await service.quote(parseTerms(parseQuoteQuery(request.query)))));

  /** Checks in the order in which faults are told: body, PESEL, mismatch, same currency. */
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
    // Named one by one, because V8 is slow at a spread between other fields.
    const { from, to, side, amount } = parseTerms(body);
    return { pesel, from, to, side, amount, table: typeof table === "string" ? table : undefined, key };
  }

  return { createAccount, account, exchange, quote };
}

function idempotencyKey({ headers }: FastifyRequest): string | undefined {
  const header = headers["idempotency-key"];
  return typeof header === "string" ? parseIdempotencyKey(header) : undefined;
}
