import { parseOpening } from "../../core/account.ts";
import { FxError } from "../../core/errors.ts";
import { houseNumber, housePlaces } from "../../core/house.ts";
import { type Pesel, parsePesel } from "../../core/pesel.ts";
import type { StatementRequest } from "../../core/service.ts";
import { atQuery } from "../../wire/account-list.ts";
import { initialOf, opening } from "../../wire/accounts.ts";
import { personalDataParts } from "../../wire/personal-data.ts";
import { parseRequest } from "../../wire/requests.ts";
import { addRecorded, idempotencyKey, sendAccount, sendHead, sendSlow } from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { Handler, HandlerContext } from "../context.ts";
import { parameterOf, type ReadHandlers } from "../reads.ts";

/** Longer pages are read one at a time. */
const shortPage = 100;

export function accountHandlers(context: HandlerContext, reads: ReadHandlers) {
  const { service, today, prefix, metrics, longReads } = context;

  const createAccount: Handler = async (request, reply) => {
    const read = () => {
      const fields = parseRequest(opening, request.body);
      const key = idempotencyKey(request);
      const by = request.caller?.name;
      return parseOpening({ ...fields, initial: initialOf(fields), key, by }, today());
    };
    addRecorded(
      reply,
      await metrics.counted("opening", read, (opening) => service.createAccount(opening)),
      prefix,
    );
    return reply.code(204).send();
  };

  const account: Handler = async (request, reply) => {
    const { at } = parseRequest(atQuery, request.query, "query");
    const pesel = parsePesel(parameterOf(request, "pesel"), today());
    const read = () => service.account(pesel, at);
    const found = at === undefined ? read() : reads.inItsTurn(request, reply, read);
    return sendAccount(reply, await found);
  };

  const personalData: Handler = async (request, reply) => {
    const pesel = parsePesel(parameterOf(request, "pesel"), today());
    if (request.method === "HEAD") return sendHead(reply);
    const read = (signal: AbortSignal) => service.personalData(pesel, signal);
    const parts = personalDataParts(longReads.lists.run(undefined, closingOf(reply), read));
    return sendSlow(request, reply, context, { parts });
  };

  return {
    ...{ createAccount, account, personalData },
    house: reads.atOnce("house", ({ query: { at } }) => service.house(at)),
    statement: reads.inTurn(
      "statement",
      async ({ query, parameter }) => service.statement(parsePesel(parameter("pesel"), today()), query),
      isLong,
    ),
    houseStatement: reads.inTurn(
      "houseStatement",
      async ({ query, parameter }) => service.statement(houseAccountOf(parameter("account")), query),
      isLong,
    ),
  };
}

function isLong({ limit, from, to }: StatementRequest): boolean {
  return limit > shortPage || from !== undefined || to !== undefined;
}

/** @throws FxError not-found */
function houseAccountOf(given: string): Pesel {
  const place = housePlaces.find((name) => name === given);
  if (place !== undefined) return houseNumber(place);
  const accounts = housePlaces.join(" and ");
  throw new FxError("not-found", `The house has no such account. Its accounts are ${accounts}.`);
}
