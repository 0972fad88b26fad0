import type { AccountsRequest } from "../../core/service.ts";
import { encodeAudit } from "../../wire/audit.ts";
import { encodeAccounts, encodePosition } from "../../wire/codecs.ts";
import { lettersSought } from "../../wire/name-sought.ts";
import { parseAccountsQuery, parseAtQuery } from "../../wire/queries.ts";
import { includes } from "../../wire/role.ts";
import { tooLittle } from "../access.ts";
import { type Between, closingOf, type ExpensiveReads, readInParts, shortPage } from "../admission.ts";
import { type Handler, type HandlerContext, sendJson } from "../answers.ts";
import type { JournalReads } from "../journal-reads.ts";

/** With fewer, a teller would see most of the list. */
const fewestLetters = 3;

export function ledgerHandlers(
  { service }: Pick<HandlerContext, "service">,
  expensive: ExpensiveReads,
  journal: JournalReads,
) {
  const accounts: Handler = async (request, reply) => {
    const page = parseAccountsQuery(request.query);
    const { caller } = request;
    const isFree = caller === undefined || includes(caller.role, "operator");
    if (!isFree && lettersSought(page.name ?? []) < fewestLetters) {
      throw tooLittle(caller, "A list without a name of three letters or more takes the role operator");
    }
    const read = async (part: AccountsRequest) => encodeAccounts(await service.accounts(part));
    if (page.limit <= shortPage && page.name === undefined && page.at === undefined) {
      return sendJson(reply, await read(page));
    }
    const readAll = async (rest: Between) => {
      if (page.name === undefined) {
        return readInParts(page, "users", (part) => read({ ...page, ...part }), rest);
      }
      // Those of a name are found at once, or each part would look for all of them.
      const found = await read(page);
      await rest();
      return JSON.stringify(found);
    };
    sendJson(reply, await expensive.read(request, request.url, readAll));
  };

  const position: Handler = async (request, reply) => {
    const at = parseAtQuery(request.query);
    if (request.method === "HEAD") return sendJson(reply, "");
    sendJson(reply, encodePosition(await journal.position(at, closingOf(request))));
  };

  const audit: Handler = async (request, reply) => {
    if (request.method === "HEAD") return sendJson(reply, "");
    sendJson(reply, encodeAudit(await journal.audit(closingOf(request))));
  };

  return { accounts, position, audit };
}
