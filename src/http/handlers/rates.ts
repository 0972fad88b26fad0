import { parseCurrencyCode } from "../../core/currency.ts";
import { encodeRateHistory, encodeRates } from "../../wire/codecs.ts";
import { parseRateHistoryQuery } from "../../wire/requests.ts";
import { type Between, type ExpensiveReads, LongJson } from "../admission.ts";
import { type Handler, type HandlerContext, pathParameter, sendJson } from "../answers.ts";

/** Half a millisecond, in which orders wait. */
const ratesAtOnce = 500;

export function rateHandlers({ service }: Pick<HandlerContext, "service">, expensive: ExpensiveReads) {
  const rates: Handler = async (_request, reply) => sendJson(reply, encodeRates(await service.rates()));

  const rateHistory: Handler = async (request, reply) => {
    const { days } = parseRateHistoryQuery(request.query);
    const currency = parseCurrencyCode(pathParameter(request, "code"));
    const read = async (rest: Between) => {
      const history = await service.rateHistory(currency, days);
      const json = new LongJson();
      for (let start = 0; start < history.length; start += ratesAtOnce) {
        await rest();
        json.add(encodeRateHistory(currency, history.slice(start, start + ratesAtOnce)).rates);
      }
      return json.whole("rates", { symbol: currency });
    };
    sendJson(reply, await expensive.read(request, request.url, read));
  };

  return { rates, rateHistory };
}
