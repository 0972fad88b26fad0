import { pipeline } from "node:stream/promises";
import type { FastifyRequest } from "fastify";
import { warsawDate } from "../../core/date.ts";
import { exportFiles } from "../../wire/export.ts";
import { parseExportQuery } from "../../wire/queries.ts";
import { beginAnswer, type Handler, type HandlerContext, sendText } from "../answers.ts";
import { logFailure, toFxError } from "../errors.ts";
import type { JournalReads } from "../journal-reads.ts";
import type { Lifecycle } from "./server.ts";

/** Whoever reads an export in a pager may take a while. */
const idleMs = 600_000;

export function exportHandlers(
  { now }: Pick<HandlerContext, "now">,
  journal: JournalReads,
  lifecycle: Lifecycle,
) {
  const exportJournal: Handler = async (request, reply) => {
    const asked = parseExportQuery(request.query);
    const { type, ending } = exportFiles[asked.format];
    const headers = {
      "content-type": `${type}; charset=utf-8`,
      "content-disposition": `attachment; filename="fx-${warsawDate(now())}.${ending}"`,
    };
    if (request.method === "HEAD") return sendText(reply, "", 200, headers);
    const parts = journal.export(asked)[Symbol.asyncIterator]();
    // What fails at once is answered as a problem; later, all that can be done is to break off.
    const first = await parts.next();
    const response = beginAnswer(reply, 200, headers);
    const { socket } = request.raw;
    const stream = { request, socket, end: () => socket.destroy() };
    lifecycle.streams.add(stream);
    response.setTimeout(idleMs, stream.end);
    await pipeline(rest(request, first, parts), response).catch(stream.end);
    lifecycle.streams.delete(stream);
  };

  return { exportJournal };
}

async function* rest(
  request: FastifyRequest,
  first: IteratorResult<string>,
  parts: AsyncIterator<string>,
): AsyncGenerator<string> {
  try {
    for (let part = first; !part.done; part = await parts.next()) yield part.value;
  } catch (error) {
    logFailure(request, toFxError(error), error);
    throw error;
  } finally {
    await parts.return?.();
  }
}
