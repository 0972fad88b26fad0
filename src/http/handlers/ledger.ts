import { lettersSought } from "../../core/names.ts";
import { includes } from "../../core/role.ts";
import { encodeAudit } from "../../wire/audit.ts";
import { encodeAccounts, encodePosition } from "../../wire/codecs.ts";
import { parseAccountsQuery, parseAtQuery } from "../../wire/queries.ts";
import { tooLittle } from "../access.ts";
import { type Handler, type HandlerContext, sendJson } from "../answers.ts";

/** With fewer, a teller would see most of the list. */
const fewestLetters = 3;

export function ledgerHandlers({ service }: Pick<HandlerContext, "service">) {
  const accounts: Handler = async (request, reply) => {
    const page = parseAccountsQuery(request.query);
    const { caller } = request;
    const isFree = caller === undefined || includes(caller.role, "operator");
    if (!isFree && lettersSought(page.name ?? []) < fewestLetters) {
      throw tooLittle(caller, "A list without a name of three letters or more takes the role operator");
    }
    return sendJson(reply, encodeAccounts(await service.accounts(page)));
  };

  const position: Handler = async (request, reply) =>
    sendJson(reply, encodePosition(await service.position(parseAtQuery(request.query))));

  const audit: Handler = async (_request, reply) => sendJson(reply, encodeAudit(await service.audit()));

  return { accounts, position, audit };
}
