import { parseReason } from "../../core/change.ts";
import { parseCurrencyCode } from "../../core/currency.ts";
import type { TradingRequest } from "../../core/suspension.ts";
import * as shapes from "../../wire/rates.ts";
import { parseRequest } from "../../wire/requests.ts";
import { sendJson } from "../answers.ts";
import type { Handler, HandlerContext } from "../context.ts";
import type { ReadHandlers } from "../reads.ts";

export function rateHandlers({ service }: HandlerContext, reads: ReadHandlers) {
  const tradingHandler =
    (reasonIn: (body: unknown) => TradingRequest["reason"]): Handler =>
    async (request, reply) => {
      const reason = reasonIn(request.body);
      const state = await service.changeTrading({ reason, by: request.caller?.name });
      return sendJson(reply, shapes.trading.encode(state));
    };

  return {
    suspendTrading: tradingHandler((body) => parseReason(parseRequest(shapes.suspending, body).reason)),
    resumeTrading: tradingHandler((body) => void parseRequest(shapes.resuming, body)),
    rates: reads.atOnce("rates", () => service.rates()),
    rateHistory: reads.inTurn("rateHistory", async ({ query: { days }, parameter }) => {
      const currency = parseCurrencyCode(parameter("code"));
      return { currency, rates: await service.rateHistory(currency, days) };
    }),
    rateTables: reads.inTurn("rateTables", ({ query: { days } }) => service.rateTables(days)),
  };
}
