import type { FastifyReply, FastifyRequest } from "fastify";
import { warsawDate } from "../../core/date.ts";
import { accountsQuery, accounts as accountsShape, atQuery } from "../../wire/accounts.ts";
import { audit as auditShape } from "../../wire/audit.ts";
import { position as positionShape, tillQuery, till as tillShape } from "../../wire/ledger.ts";
import { lettersSought } from "../../wire/name-sought.ts";
import { parseRequest } from "../../wire/requests.ts";
import { includes } from "../../wire/role.ts";
import { tooLittle } from "../access.ts";
import { type Handler, type HandlerContext, jsonOf, sendHead, sendJson, sendSlow } from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { Lifecycle } from "../lifecycle.ts";
import type { LongReads } from "../long-reads.ts";

/** With fewer, a teller would see most of the list. */
const fewestLetters = 3;

export function ledgerHandlers(
  { service, now, slowAnswers }: Pick<HandlerContext, "service" | "now" | "slowAnswers">,
  longReads: { readonly lists: LongReads; readonly journal: LongReads },
  lifecycle: Lifecycle,
) {
  const accounts: Handler = async (request, reply) => {
    const page = parseRequest(accountsQuery, request.query, "query");
    const { caller } = request;
    const isFree = caller === undefined || includes(caller.role, "operator");
    if (!isFree && lettersSought(page.name ?? []) < fewestLetters) {
      throw tooLittle(caller, "A list without a name of three letters or more takes the role operator");
    }
    const read = async () => JSON.stringify(accountsShape.encode(await service.accounts(page)));
    return sendJson(reply, await longReads.lists.run(request.url, closingOf(reply), read));
  };

  const position: Handler = async (request, reply) => {
    const { at } = parseRequest(atQuery, request.query, "query");
    return sendRead(request, reply, `position ${at?.getTime()}`, async (signal) =>
      positionShape.encode(await service.position(at, signal)),
    );
  };

  const till: Handler = async (request, reply) => {
    const { caller } = request;
    const { date = warsawDate(now()), by = caller?.name } = parseRequest(tillQuery, request.query, "query");
    if (caller !== undefined && by !== caller.name && !includes(caller.role, "operator")) {
      throw tooLittle(caller, "The till of another token takes the role operator");
    }
    return sendRead(request, reply, JSON.stringify(["till", date, by]), async (signal) =>
      tillShape.encode(await service.till({ date, by }, signal)),
    );
  };

  const audit: Handler = async (request, reply) =>
    sendRead(request, reply, "audit", async (signal) => auditShape.encode(await service.audit({ signal })));

  /** Answers with what a read of the whole journal finds. Requests with the same key share a read. */
  async function sendRead(
    request: FastifyRequest,
    reply: FastifyReply,
    key: string,
    read: (signal: AbortSignal) => Promise<object>,
  ): Promise<FastifyReply> {
    if (request.method === "HEAD") return sendHead(reply);
    const parts = jsonOf(longReads.journal.run(key, closingOf(reply), read));
    return sendSlow(request, reply, { lifecycle, slowAnswers, parts });
  }

  return { accounts, position, till, audit };
}
