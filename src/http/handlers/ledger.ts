import { encodeAudit } from "../../wire/audit.ts";
import { encodeAccounts, encodePosition } from "../../wire/codecs.ts";
import { parseAccountsQuery, parseAtQuery } from "../../wire/queries.ts";
import { type Handler, type HandlerContext, sendJson } from "../answers.ts";

export function ledgerHandlers({ service }: Pick<HandlerContext, "service">) {
  const accounts: Handler = async (request, reply) =>
    sendJson(reply, encodeAccounts(await service.accounts(parseAccountsQuery(request.query))));

  const position: Handler = async (request, reply) => {
    const at = parseAtQuery(request.query);
    sendJson(reply, request.method === "HEAD" ? "" : encodePosition(await service.position(at)));
  };

  const audit: Handler = async (request, reply) =>
    sendJson(reply, request.method === "HEAD" ? "" : encodeAudit(await service.audit()));

  return { accounts, position, audit };
}
