import { parseCurrencyCode } from "../core/currency.ts";
import { parsePesel } from "../core/pesel.ts";
import type { ExchangeService } from "../core/service.ts";
import { warsawDate } from "../warsaw.ts";
import {
  encodeAccounts,
  encodeAudit,
  encodeEntry,
  encodePosition,
  encodeRateHistory,
  encodeRates,
  encodeStatement,
} from "../wire/codecs.ts";
import { parsePageQuery, parseRateHistoryQuery } from "../wire/requests.ts";
import { type Handler, pathParameter, sendJson } from "./answers.ts";

/** What the ledger and the rates can be asked. */
export function ledgerHandlers({
  service,
  now,
}: {
  readonly service: ExchangeService;
  readonly now: () => Date;
}) {
  const statement: Handler = async (request, reply) => {
    const page = parsePageQuery(request.query);
    const pesel = parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
    return sendJson(reply, encodeStatement(await service.statement(pesel, page)));
  };

  const receipt: Handler = async (request, reply) =>
    sendJson(reply, encodeEntry(await service.receipt(pathParameter(request, "id"))));

  const accounts: Handler = async (request, reply) =>
    sendJson(reply, encodeAccounts(await service.accounts(parsePageQuery(request.query))));

  const rates: Handler = async (_request, reply) => sendJson(reply, encodeRates(await service.rates()));

  const rateHistory: Handler = async (request, reply) => {
    const { days } = parseRateHistoryQuery(request.query);
    const currency = parseCurrencyCode(pathParameter(request, "code"));
    return sendJson(reply, encodeRateHistory(currency, await service.rateHistory(currency, days)));
  };

  const position: Handler = async (_request, reply) =>
    sendJson(reply, encodePosition(await service.position()));

  const audit: Handler = async (_request, reply) => sendJson(reply, encodeAudit(await service.audit()));

  return { statement, receipt, accounts, rates, rateHistory, position, audit };
}
