import type { FastifyRequest } from "fastify";
import { FxError } from "../../core/errors.ts";
import { type ExchangeOrder, parseTerms } from "../../core/exchange.ts";
import { housePlaceOf } from "../../core/house.ts";
import { parsePesel } from "../../core/pesel.ts";
import { order as orderShape } from "../../wire/orders.ts";
import { parseRequest } from "../../wire/requests.ts";
import { requireRole } from "../access.ts";
import { addRecorded, idempotencyKey, sendAccount } from "../answers.ts";
import type { Handler, HandlerContext } from "../context.ts";
import { parameterOf, type ReadHandlers } from "../reads.ts";

/**
 * The characters of a receipt's id that a viewer or a teller gives at least: its time, and 12 random bits. With fewer, they
 * could go through the entries of all accounts by their times.
 */
const fewestCharacters = 18;

export function exchangeHandlers({ service, today, prefix, metrics }: HandlerContext, reads: ReadHandlers) {
  const exchange: Handler = async (request, reply) => {
    const settlement = await metrics.counted(
      "exchange",
      () => parseOrder(request),
      (order) => service.exchange(order),
    );
    addRecorded(reply, settlement, prefix);
    return sendAccount(reply, settlement.account);
  };

  /** Checks in the documented order: body, PESEL, mismatch, same currency. */
  function parseOrder(request: FastifyRequest): ExchangeOrder {
    const body = parseRequest(orderShape, request.body);
    const key = idempotencyKey(request);
    const pesel = parsePesel(parameterOf(request, "pesel"), today());
    if (body.pesel !== pesel) {
      parsePesel(body.pesel, today());
      throw new FxError("pesel-mismatch", "The PESEL in the body is not the one in the path.");
    }
    const table = request.headers["fx-table"];
    const pinned = typeof table === "string" ? table : undefined;
    return { pesel, table: pinned, key, by: request.caller?.name, ...parseTerms(body) };
  }

  return {
    exchange,
    quote: reads.atOnce("quote", ({ query }) => service.quote(parseTerms(query))),
    receipt: reads.atOnce("receipt", async ({ parameter, caller }) => {
      const id = parameter("id");
      if (id.length < fewestCharacters) {
        requireRole(caller, "operator", `Finding a receipt by fewer than ${fewestCharacters} characters`);
      }
      const found = await service.receipt(id);
      if (housePlaceOf(found.pesel) !== undefined) {
        requireRole(caller, "operator", "A receipt of the house");
      }
      return found;
    }),
    receiptProof: reads.inTurn("receiptProof", ({ parameter }) => service.proof(parameter("id"))),
  };
}
