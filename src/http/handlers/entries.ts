import type { FastifyRequest } from "fastify";
import type { Receipt } from "../../core/journal.ts";
import { entriesPage, entriesQuery } from "../../wire/entries.ts";
import { encodeEvents, eventStreamType, quietComment } from "../../wire/event-stream.ts";
import { invalid, parseRequest } from "../../wire/requests.ts";
import { type Handler, type HandlerContext, limitAnswers, sendHead, sendJson, sendSlow } from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { Lifecycle } from "../lifecycle.ts";
import type { LongReads } from "../long-reads.ts";

/** Each follower asks the store four times a second. */
const followersAtOnce = 32;
/** A comment comes before a proxy gives up waiting, and before the server itself closes a silent connection. */
const commentsEvery = { firstMs: 10_000, nextMs: 15_000 };

export function entryHandlers(
  { service, slowAnswers = commentsEvery }: Pick<HandlerContext, "service" | "slowAnswers">,
  lists: LongReads,
  lifecycle: Lifecycle,
) {
  const begin = limitAnswers(followersAtOnce, "streams of entries");

  const entries: Handler = async (request, reply) => {
    const { after, limit } = parseRequest(entriesQuery, request.query, "query");
    if (wantsStream(request)) return follow(request, reply, after);
    const read = async () => JSON.stringify(entriesPage.encode(await service.entries({ after, limit })));
    return sendJson(reply, await lists.run(request.url, closingOf(reply), read));
  };

  async function follow(request: FastifyRequest, reply: Parameters<Handler>[1], given: string | undefined) {
    if ("limit" in Object(request.query)) {
      throw invalid("query", [{ pointer: "/limit", detail: "does not go with a stream, which has no end" }]);
    }
    if (request.method === "HEAD") return sendHead(reply, eventStreamType);
    begin(reply);
    const { "last-event-id": last } = request.headers;
    const after = typeof last === "string" ? last : given;
    const parts = eventsOf(service.follow({ after, signal: closingOf(reply) }));
    const type = `${eventStreamType}; charset=utf-8`;
    return sendSlow(request, reply, { lifecycle, type, slowAnswers, filler: quietComment, parts });
  }

  return { entries };
}

function wantsStream({ headers: { accept = "" } }: FastifyRequest): boolean {
  return accept.toLowerCase().includes(eventStreamType);
}

async function* eventsOf(chunks: AsyncIterable<readonly Receipt[]>): AsyncGenerator<string> {
  for await (const receipts of chunks) yield encodeEvents(receipts);
}
