import type { FastifyReply, FastifyRequest } from "fastify";
import type { Operation } from "../wire/operation.ts";
import { type AnswerTo, operations, type QueryOf, type ReadId } from "../wire/operations.ts";
import { parseRequest } from "../wire/requests.ts";
import type { Caller } from "../wire/role.ts";
import { openAccess, refusedSince } from "./access.ts";
import { onePart, sendHead, sendJson, sendSlow } from "./answers.ts";
import { closingOf } from "./connections.ts";
import type { Handler, HandlerContext } from "./context.ts";

interface Asked<Id extends ReadId> {
  readonly query: QueryOf<Id>;
  /** A parameter of the path, decoded. */
  parameter(name: string): string;
  readonly caller: Caller | undefined;
}

type Read<Id extends ReadId> = (asked: Asked<Id>, signal: AbortSignal) => Promise<AnswerTo<Id>>;

export type ReadHandlers = ReturnType<typeof openReads>;

/** Makes the handlers of operations that answer a query with one JSON value, as src/wire/operations.ts describes them. */
export function openReads(context: HandlerContext) {
  const { lists, journal } = context.longReads;
  const access = openAccess(context);
  const requireAccess = (request: FastifyRequest) => {
    const refused = refusedSince(access, request);
    if (refused !== undefined) throw refused;
  };
  /** Makes a long answer in its turn, and only under a token that is valid when it begins and when it is made. */
  const inItsTurn = <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    make: (signal: AbortSignal) => Promise<T>,
  ) =>
    lists.run(keyOf(request), closingOf(reply), async (signal) => {
      requireAccess(request);
      const made = await make(signal);
      requireAccess(request);
      return made;
    });
  return {
    inItsTurn,
    atOnce<Id extends ReadId>(id: Id, read: (asked: Asked<Id>) => Promise<AnswerTo<Id>>): Handler {
      return async (request, reply) => sendJson(reply, textOf(id, await read(askedOf(id, request))));
    },
    /**
     * One at a time: for lists, histories and tills. Requests for the same URL with the same token share a read that has
     * not begun.
     * @param isLong whether this one waits for its turn
     */
    inTurn<Id extends ReadId>(
      id: Id,
      read: Read<Id>,
      isLong: (query: QueryOf<Id>) => boolean = () => true,
    ): Handler {
      return async (request, reply) => {
        const asked = askedOf(id, request);
        const made = async (signal: AbortSignal) => textOf(id, await read(asked, signal));
        const text = isLong(asked.query) ? inItsTurn(request, reply, made) : made(closingOf(reply));
        return sendJson(reply, await text);
      };
    },
    /** One at a time, each for minutes: for answers that are read from the whole journal. */
    slowly<Id extends ReadId>(id: Id, read: Read<Id>): Handler {
      return async (request, reply) => {
        const asked = askedOf(id, request);
        if (request.method === "HEAD") return sendHead(reply);
        const made = async (signal: AbortSignal) => textOf(id, await read(asked, signal));
        const text = journal.run(keyOf(request), closingOf(reply), made);
        return sendSlow(request, reply, context, { parts: onePart(text) });
      };
    },
  };
}

function askedOf<Id extends ReadId>(id: Id, request: FastifyRequest): Asked<Id> {
  const { query: shape }: Operation = operations[id];
  return {
    query: (shape && parseRequest(shape, request.query, "query")) as QueryOf<Id>,
    parameter: (name) => parameterOf(request, name),
    // As it is now: the token may have another role than when the read began to wait.
    get caller() {
      return request.caller;
    },
  };
}

/** A parameter of the path, decoded. */
export function parameterOf({ params }: FastifyRequest, name: string): string {
  return (params as Record<string, string>)[name] ?? "";
}

/** The key of a shared read: the URL with the token, because some answers depend on it, and it may be revoked. */
function keyOf({ url, headers }: FastifyRequest): string {
  return `${url} ${headers.authorization}`;
}

function textOf<Id extends ReadId>(id: Id, value: AnswerTo<Id>): string {
  const { answer }: Operation = operations[id];
  return JSON.stringify(answer?.encode(value));
}
