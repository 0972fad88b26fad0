import type { FastifyRequest } from "fastify";
import { parseHolder } from "../../core/account.ts";
import {
  type Block,
  type Cash,
  type Change,
  parseCash,
  parseHouseCash,
  parseReason,
} from "../../core/change.ts";
import { warsawDate } from "../../core/date.ts";
import { FxError } from "../../core/errors.ts";
import { parsePesel } from "../../core/pesel.ts";
import { block as blockShape, closing, encodeAccount, renaming } from "../../wire/accounts.ts";
import { cash as cashShape, reversal } from "../../wire/cash.ts";
import { houseCash as houseCashShape } from "../../wire/house.ts";
import { parseRequest } from "../../wire/requests.ts";
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
      return sendJson(reply, encodeAccount(settlement.account), 200, headers);
    };

  const cash = (kind: Cash["kind"]): Handler =>
    change(kind, (request) => {
      const fields = parseRequest(cashShape, request.body);
      const asked = keyAndToken(request);
      return parseCash({ kind, ...fields, ...asked, pesel: pathParameter(request, "pesel") }, today());
    });

  const houseCash = (kind: Cash["kind"]): Handler =>
    change(kind, (request) => {
      const fields = parseRequest(houseCashShape, request.body);
      return parseHouseCash({ kind, ...fields, ...keyAndToken(request) });
    });

  const rename = change("renaming", (request) => {
    const holder = parseHolder(parseRequest(renaming, request.body));
    return { kind: "renaming", ...holder, ...keyAndToken(request), pesel: peselOf(request) };
  });

  const closeAccount = change("closing", (request) => {
    if (request.body !== undefined) parseRequest(closing, request.body);
    return { kind: "closing", ...keyAndToken(request), pesel: peselOf(request) };
  });

  const block = (kind: Block["kind"]): Handler =>
    change(kind, (request) => {
      const reason = parseReason(parseRequest(blockShape, request.body).reason);
      return { kind, reason, ...keyAndToken(request), pesel: peselOf(request) };
    });

  const reverse = change("reversal", async (request) => {
    const reason = parseReason(parseRequest(reversal, request.body).reason);
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

  return {
    ...{ deposit: cash("deposit"), withdraw: cash("withdrawal") },
    ...{ houseDeposit: houseCash("deposit"), houseWithdraw: houseCash("withdrawal") },
    ...{ rename, closeAccount, blockAccount: block("block"), unblockAccount: block("unblock"), reverse },
  };
}
