import { parseReason } from "../../core/change.ts";
import { parseCurrencyCode } from "../../core/currency.ts";
import * as shapes from "../../wire/rates.ts";
import { parseRequest } from "../../wire/requests.ts";
import { type Handler, type HandlerContext, pathParameter, sendJson } from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { LongReads } from "../long-reads.ts";

export function rateHandlers({ service }: Pick<HandlerContext, "service">, longReads: LongReads) {
  const rates: Handler = async (_request, reply) =>
    sendJson(reply, shapes.rates.encode(await service.rates()));

  const suspendTrading: Handler = async (request, reply) => {
    const reason = parseReason(parseRequest(shapes.suspending, request.body).reason);
    const state = await service.changeTrading({ reason, by: request.caller?.name });
    return sendJson(reply, shapes.trading.encode(state));
  };

  const resumeTrading: Handler = async (request, reply) => {
    if (request.body !== undefined) parseRequest(shapes.resuming, request.body);
    const state = await service.changeTrading({ reason: undefined, by: request.caller?.name });
    return sendJson(reply, shapes.trading.encode(state));
  };

  const rateHistory: Handler = async (request, reply) => {
    const { days } = parseRequest(shapes.rateHistoryQuery, request.query, "query");
    const currency = parseCurrencyCode(pathParameter(request, "code"));
    const read = async () => {
      const rates = await service.rateHistory(currency, days);
      return JSON.stringify(shapes.rateHistory.encode({ currency, rates }));
    };
    return sendJson(reply, await longReads.run(request.url, closingOf(reply), read));
  };

  const rateTables: Handler = async (request, reply) => {
    const { days } = parseRequest(shapes.rateTablesQuery, request.query, "query");
    const read = async () => JSON.stringify(shapes.rateTables.encode(await service.rateTables(days)));
    return sendJson(reply, await longReads.run(request.url, closingOf(reply), read));
  };

  return { rates, suspendTrading, resumeTrading, rateHistory, rateTables };
}
