import { parseCurrencyCode } from "../../core/currency.ts";
import { encodeRateHistory, encodeRates } from "../../wire/codecs.ts";
import { parseRateHistoryQuery } from "../../wire/requests.ts";
import { type Handler, type HandlerContext, pathParameter, sendJson } from "../answers.ts";

export function rateHandlers({ service }: Pick<HandlerContext, "service">) {
  const rates: Handler = async (_request, reply) => sendJson(reply, encodeRates(await service.rates()));

  const rateHistory: Handler = async (request, reply) => {
    const { days } = parseRateHistoryQuery(request.query);
    const currency = parseCurrencyCode(pathParameter(request, "code"));
    return sendJson(reply, encodeRateHistory(currency, await service.rateHistory(currency, days)));
  };

  return { rates, rateHistory };
}
