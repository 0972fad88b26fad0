import { parseCurrencyCode } from "../../core/currency.ts";
import type { Between } from "../../core/service.ts";
import { encodeRateHistory, encodeRates } from "../../wire/codecs.ts";
import { parseRateHistoryQuery } from "../../wire/requests.ts";
import type { ExpensiveReads } from "../admission.ts";
import { type Handler, type HandlerContext, pathParameter, sendJson } from "../answers.ts";

export function rateHandlers({ service }: Pick<HandlerContext, "service">, expensive: ExpensiveReads) {
  const rates: Handler = async (_request, reply) => sendJson(reply, encodeRates(await service.rates()));

  const rateHistory: Handler = async (request, reply) => {
    const { days } = parseRateHistoryQuery(request.query);
    const currency = parseCurrencyCode(pathParameter(request, "code"));
    const read = async (rest: Between) => {
      const rates = await service.rateHistory(currency, days);
      await rest();
      return JSON.stringify(encodeRateHistory(currency, rates));
    };
    sendJson(reply, await expensive.read(request, request.url, read));
  };

  return { rates, rateHistory };
}
