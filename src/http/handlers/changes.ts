import type { FastifyReply, FastifyRequest } from "fastify";
import { parseHolder } from "../../core/account.ts";
import { type Cash, type Change, parseCash, parseReason } from "../../core/change.ts";
import { warsawDate } from "../../core/date.ts";
import { FxError } from "../../core/errors.ts";
import { parsePesel } from "../../core/pesel.ts";
import { accountText } from "../../wire/codecs.ts";
import {
  parseCashBody,
  parseClosingBody,
  parseRenamingBody,
  parseReversalBody,
} from "../../wire/requests.ts";
import {
  accountHeaders,
  type Handler,
  type HandlerContext,
  idempotencyKey,
  pathParameter,
  recordedHeaders,
  sendJson,
} from "../answers.ts";

export function changeHandlers({ service, now, prefix }: HandlerContext) {
  const cash =
    (kind: Cash["kind"]): Handler =>
    async (request, reply) => {
      const fields = parseCashBody(request.body);
      return answer(
        reply,
        parseCash(kind, { ...fields, pesel: peselOf(request), key: idempotencyKey(request) }),
      );
    };

  const rename: Handler = async (request, reply) => {
    const holder = parseHolder(parseRenamingBody(request.body));
    return answer(reply, {
      kind: "renaming",
      ...holder,
      pesel: peselOf(request),
      key: idempotencyKey(request),
    });
  };

  const closeAccount: Handler = async (request, reply) => {
    parseClosingBody(request.body);
    return answer(reply, { kind: "closing", pesel: peselOf(request), key: idempotencyKey(request) });
  };

  const reverse: Handler = async (request, reply) => {
    const reason = parseReason(parseReversalBody(request.body).reason);
    const key = idempotencyKey(request);
    const given = pathParameter(request, "id");
    const { id: reverses, pesel } = await service.receipt(given);
    if (given.toLowerCase() !== reverses) {
      throw new FxError("not-found", "A reversal takes the receipt's whole id, and this is its beginning.");
    }
    return answer(reply, { kind: "reversal", reverses, reason, pesel, key });
  };

  function peselOf(request: FastifyRequest) {
    return parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
  }

  async function answer(reply: FastifyReply, change: Change): Promise<void> {
    const settlement = await service.change(change);
    const headers = { ...recordedHeaders(settlement, prefix), ...accountHeaders(settlement.account) };
    sendJson(reply, accountText(settlement.account), 200, headers);
  }

  return { deposit: cash("deposit"), withdraw: cash("withdrawal"), rename, closeAccount, reverse };
}
