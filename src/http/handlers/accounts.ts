import { parseOpening } from "../../core/account.ts";
import { warsawDate } from "../../core/date.ts";
import { parsePesel } from "../../core/pesel.ts";
import type { StatementRequest } from "../../core/service.ts";
import { accountText, encodeStatement } from "../../wire/codecs.ts";
import { parseAtQuery, parseStatementQuery } from "../../wire/queries.ts";
import { parseOpeningBody } from "../../wire/requests.ts";
import { type Between, type ExpensiveReads, readInParts, shortPage } from "../admission.ts";
import {
  accountHeaders,
  type Handler,
  type HandlerContext,
  idempotencyKey,
  pathParameter,
  recordedHeaders,
  sendJson,
  sendText,
} from "../answers.ts";
import type { Metrics } from "../metrics.ts";

export function accountHandlers(
  { service, now, prefix }: HandlerContext,
  metrics: Metrics,
  expensive: ExpensiveReads,
) {
  const createAccount: Handler = async (request, reply) => {
    const read = () => {
      const fields = parseOpeningBody(request.body);
      const key = idempotencyKey(request);
      const by = request.caller?.name;
      return parseOpening({ ...fields, key, by }, warsawDate(now()));
    };
    const recorded = await metrics.counted("opening", read, (opening) => service.createAccount(opening));
    return sendText(reply, "", 204, recordedHeaders(recorded, prefix));
  };

  const account: Handler = async (request, reply) => {
    const at = parseAtQuery(request.query);
    const pesel = parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
    const read = () => service.account(pesel, at);
    const found = await (at === undefined ? read() : expensive.read(request, request.url, read));
    return sendJson(reply, accountText(found), 200, accountHeaders(found));
  };

  const statement: Handler = async (request, reply) => {
    const page = parseStatementQuery(request.query);
    const pesel = parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
    const read = async (part: StatementRequest) => encodeStatement(await service.statement(pesel, part));
    if (page.limit <= shortPage && page.from === undefined && page.to === undefined) {
      return sendJson(reply, await read(page));
    }
    const readAll = (rest: Between) =>
      readInParts(page, "entries", (part) => read({ ...page, ...part }), rest);
    sendJson(reply, await expensive.read(request, request.url, readAll));
  };

  return { createAccount, account, statement };
}
