import type { FastifyRequest } from "fastify";
import type * as z from "zod";
import { parseHolder } from "../../core/account.ts";
import { type Change, parseCash, parseHouseCash, parseReason } from "../../core/change.ts";
import { FxError } from "../../core/errors.ts";
import { parsePesel } from "../../core/pesel.ts";
import * as shapes from "../../wire/accounts.ts";
import { cash, houseCash, reversal } from "../../wire/cash.ts";
import { parseRequest } from "../../wire/requests.ts";
import { addRecorded, idempotencyKey, sendAccount } from "../answers.ts";
import type { Handler, HandlerContext } from "../context.ts";
import { parameterOf } from "../reads.ts";

/** Characters of a UUID. */
const wholeId = 36;

/** The parts of a change besides its body. */
interface Asked {
  readonly key: string | undefined;
  readonly by: string | undefined;
}

/** Each reads a request in the documented order: body, key, PESEL or receipt. */
export function changeHandlers({ service, today, prefix, metrics }: HandlerContext) {
  const change =
    <Body>(
      kind: Change["kind"],
      shape: z.ZodType<Body>,
      read: (body: Body, asked: Asked, request: FastifyRequest) => Change | Promise<Change>,
    ): Handler =>
    async (request, reply) => {
      const settlement = await metrics.counted(
        kind,
        () => {
          const body = parseRequest(shape, request.body);
          return read(body, { key: idempotencyKey(request), by: request.caller?.name }, request);
        },
        async (asked) => service.change(await asked),
      );
      addRecorded(reply, settlement, prefix);
      return sendAccount(reply, settlement.account);
    };

  const customer = (request: FastifyRequest) => parsePesel(parameterOf(request, "pesel"), today());

  const cashOf = (kind: "deposit" | "withdrawal") =>
    change(kind, cash, (body, asked, request) =>
      parseCash({ kind, ...body, ...asked, pesel: parameterOf(request, "pesel") }, today()),
    );
  const houseCashOf = (kind: "deposit" | "withdrawal") =>
    change(kind, houseCash, (body, asked) => parseHouseCash({ kind, ...body, ...asked }));
  const blockOf = (kind: "block" | "unblock") =>
    change(kind, shapes.block, (body, asked, request) => {
      const reason = parseReason(body.reason);
      return { kind, reason, ...asked, pesel: customer(request) };
    });

  return {
    deposit: cashOf("deposit"),
    withdraw: cashOf("withdrawal"),
    houseDeposit: houseCashOf("deposit"),
    houseWithdraw: houseCashOf("withdrawal"),
    blockAccount: blockOf("block"),
    unblockAccount: blockOf("unblock"),
    rename: change("renaming", shapes.renaming, (body, asked, request) => {
      const holder = parseHolder(body);
      return { kind: "renaming", ...holder, ...asked, pesel: customer(request) };
    }),
    closeAccount: change("closing", shapes.closing, (_body, asked, request) => {
      return { kind: "closing", ...asked, pesel: customer(request) };
    }),
    reverse: change("reversal", reversal, async (body, asked, request) => {
      const reason = parseReason(body.reason);
      const given = parameterOf(request, "id");
      if (given.length !== wholeId) {
        throw new FxError("not-found", "There is no receipt with this id. A reversal takes the whole id.");
      }
      const { id: reverses, pesel } = await service.receipt(given);
      return { kind: "reversal", reverses, reason, ...asked, pesel };
    }),
  };
}
