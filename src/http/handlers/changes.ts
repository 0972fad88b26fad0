import type { FastifyRequest } from "fastify";
import type * as z from "zod";
import {
  type Change,
  type GivenChange,
  parseChange,
  parseHouseCash,
  parseReason,
} from "../../core/change.ts";
import { FxError } from "../../core/errors.ts";
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

  /** A change of the account in the path. The shape of its body is that of its kind. */
  const customers = (kind: Change["kind"], shape: z.ZodType<object>) =>
    change(kind, shape, (body, asked, request) => {
      const given = { kind, ...body, ...asked, pesel: parameterOf(request, "pesel") } as GivenChange;
      return parseChange(given, today());
    });
  const houses = (kind: "deposit" | "withdrawal") =>
    change(kind, houseCash, (body, asked) => parseHouseCash({ kind, ...body, ...asked }));

  return {
    deposit: customers("deposit", cash),
    withdraw: customers("withdrawal", cash),
    houseDeposit: houses("deposit"),
    houseWithdraw: houses("withdrawal"),
    blockAccount: customers("block", shapes.block),
    unblockAccount: customers("unblock", shapes.block),
    rename: customers("renaming", shapes.renaming),
    closeAccount: customers("closing", shapes.closing),
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
