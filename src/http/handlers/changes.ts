import type { FastifyRequest } from "fastify";
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
import type { Metrics } from "../metrics.ts";

/** Characters of a UUID. */
const wholeId = 36;

/** Each reads a request in the documented order: body, key, PESEL or receipt. */
export function changeHandlers({ service, now, prefix }: HandlerContext, metrics: Metrics) {
  const change =
    (kind: Change["kind"], read: (request: FastifyRequest) => Change | Promise<Change>): Handler =>
    async (request, reply) => {
      const settlement = await metrics.counted(
        kind,
        () => read(request),
        async (asked) => service.change(await asked),
      );
      const headers = { ...recordedHeaders(settlement, prefix), ...accountHeaders(settlement.account) };
      sendJson(reply, accountText(settlement.account), 200, headers);
    };

  const cash = (kind: Cash["kind"]): Handler =>
    change(kind, (request) => {
      const fields = parseCashBody(request.body);
      const asked = keyAndToken(request);
      return parseCash({ kind, ...fields, ...asked, pesel: pathParameter(request, "pesel") }, today());
    });

  const rename = change("renaming", (request) => {
    const holder = parseHolder(parseRenamingBody(request.body));
    return { kind: "renaming", ...holder, ...keyAndToken(request), pesel: peselOf(request) };
  });

  const closeAccount = change("closing", (request) => {
    parseClosingBody(request.body);
    return { kind: "closing", ...keyAndToken(request), pesel: peselOf(request) };
  });

  const reverse = change("reversal", async (request) => {
    const reason = parseReason(parseReversalBody(request.body).reason);
    const asked = keyAndToken(request);
    const given = pathParameter(request, "id");
    if (given.length !== wholeId) {
      throw new FxError("not-found", "There is no receipt with this id. A reversal takes the whole id.");
    }
    const { id: reverses, pesel } = await service.receipt(given);
    return { kind: "reversal", reverses, reason, ...asked, pesel };
  });

  function keyAndToken(request: FastifyRequest) {
    return { key: idempotencyKey(request), by: request.caller?.name };
  }

  function peselOf(request: FastifyRequest) {
    return parsePesel(pathParameter(request, "pesel"), today());
  }

  function today() {
    return warsawDate(now());
  }

  return { deposit: cash("deposit"), withdraw: cash("withdrawal"), rename, closeAccount, reverse };
}
