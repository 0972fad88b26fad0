import { parseOpening } from "../../core/account.ts";
import { warsawDate } from "../../core/date.ts";
import { parsePesel } from "../../core/pesel.ts";
import { accountText, encodeStatement } from "../../wire/codecs.ts";
import { parseAtQuery, parseStatementQuery } from "../../wire/queries.ts";
import { parseOpeningBody } from "../../wire/requests.ts";
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

export function accountHandlers({ service, now, prefix }: HandlerContext, metrics: Metrics) {
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
    const found = await service.account(pesel, at);
    return sendJson(reply, accountText(found), 200, accountHeaders(found));
  };

  const statement: Handler = async (request, reply) => {
    const page = parseStatementQuery(request.query);
    const pesel = parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
    return sendJson(reply, encodeStatement(await service.statement(pesel, page)));
  };

  return { createAccount, account, statement };
}
