import type { Receipt } from "../../core/journal.ts";
import { entriesQuery } from "../../wire/entries.ts";
import { encodeEvents, eventStreamType, quietComment } from "../../wire/event-stream.ts";
import { invalid, parseRequest } from "../../wire/requests.ts";
import { limitAnswers, sendHead, sendSlow } from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { Handler, HandlerContext } from "../context.ts";
import type { ReadHandlers } from "../reads.ts";

/** Each follower asks the store four times a second. */
const followersAtOnce = 32;
/** A comment comes before a proxy gives up waiting, and before the server itself closes a silent connection. */
const commentsEvery = { firstMs: 10_000, nextMs: 15_000 };

export function entryHandlers(context: HandlerContext, reads: ReadHandlers) {
  const { service, lifecycle, slowAnswers = commentsEvery } = context;
  const begin = limitAnswers(followersAtOnce, "streams of entries");
  const page = reads.inTurn("entries", ({ query }) => service.entries(query));

  const follow: Handler = async (request, reply) => {
    const { after: given } = parseRequest(entriesQuery, request.query, "query");
    if ("limit" in Object(request.query)) {
      throw invalid("query", [{ pointer: "/limit", detail: "does not go with a stream, which has no end" }]);
    }
    if (request.method === "HEAD") return sendHead(reply, eventStreamType);
    begin(reply);
    const { "last-event-id": last } = request.headers;
    const after = typeof last === "string" ? last : given;
    const parts = eventsOf(service.follow({ after, signal: closingOf(reply) }));
    const type = `${eventStreamType}; charset=utf-8`;
    return sendSlow(request, reply, { lifecycle, slowAnswers }, { type, filler: quietComment, parts });
  };

  const entries: Handler = (request, reply) => {
    const { accept = "" } = request.headers;
    return accept.toLowerCase().includes(eventStreamType) ? follow(request, reply) : page(request, reply);
  };

  return { entries };
}

async function* eventsOf(chunks: AsyncIterable<readonly Receipt[]>): AsyncGenerator<string> {
  for await (const receipts of chunks) yield encodeEvents(receipts);
}
