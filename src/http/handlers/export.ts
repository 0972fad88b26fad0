import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { warsawDate } from "../../core/date.ts";
import { parsePesel } from "../../core/pesel.ts";
import { exportFiles } from "../../wire/export-files.ts";
import { exportQuery } from "../../wire/ledger.ts";
import { parseRequest } from "../../wire/requests.ts";
import { statementFile as partsOf, statementFileQuery, statementFiles } from "../../wire/statement-file.ts";
import { type Handler, type HandlerContext, limitAnswers, pathParameter, sendHead } from "../answers.ts";
import { closingOf } from "../connections.ts";
import { logFailure, toFxError } from "../errors.ts";
import { breakOff, type Lifecycle } from "../lifecycle.ts";
import type { LongReads } from "../long-reads.ts";

/** How long a client may take nothing: one may read an export in a pager. */
const idleMs = 600_000;

/** Files of one kind that are sent at once, at most. */
const filesAtOnce = 4;

export function exportHandlers(
  { service, now }: Pick<HandlerContext, "service" | "now">,
  longReads: LongReads,
  lifecycle: Lifecycle,
) {
  const sendExport = fileSender("exports", lifecycle);
  const sendStatement = fileSender("statements", lifecycle);

  const exportJournal: Handler = async (request, reply) => {
    const asked = parseRequest(exportQuery, request.query, "query");
    const { type, ending } = exportFiles[asked.format];
    const file = { type, name: `fx-${warsawDate(now())}.${ending}` };
    return sendExport(request, reply, { ...file, parts: () => service.export(asked) });
  };

  const statementFile: Handler = async (request, reply) => {
    const { format, ...period } = parseRequest(statementFileQuery, request.query, "query");
    const pesel = parsePesel(pathParameter(request, "pesel"), warsawDate(now()));
    const { type, ending } = statementFiles[format];
    const file = { type, name: `fx-statement-${warsawDate(now())}.${ending}` };
    const account = await service.account(pesel);
    // Others have their turn between two pages.
    const closing = closingOf(reply);
    const read = (page: Parameters<typeof service.statement>[1]) =>
      longReads.run(undefined, closing, () => service.statement(pesel, page));
    const parts = () => partsOf(format, { account, period, now: now(), read });
    return sendStatement(request, reply, { ...file, parts });
  };

  return { exportJournal, statementFile };
}

interface File {
  readonly type: string;
  /** Without personal data: browsers keep names of files in a history. */
  readonly name: string;
  readonly parts: () => AsyncIterable<string>;
}

/** Sends files of one kind as they are made, a few at once. */
function fileSender(plural: string, lifecycle: Lifecycle) {
  const begin = limitAnswers(filesAtOnce, plural);
  /** @throws FxError overloaded, and the failure of what is sent, where it comes before the first part */
  return async (request: FastifyRequest, reply: FastifyReply, { type, name, parts }: File) => {
    const contentType = `${type}; charset=utf-8`;
    const headers = { "content-disposition": `attachment; filename="${name}"` };
    if (request.method === "HEAD") return sendHead(reply, contentType, headers);
    begin(reply);
    lifecycle.add({ request, end: (reason) => breakOff(request, reason) }, reply);
    const iterator = parts()[Symbol.asyncIterator]();
    // A failure before the first part is answered as a problem. Later, the answer can only break off.
    const first = await iterator.next();
    reply.raw.setTimeout(idleMs);
    return reply
      .headers(headers)
      .type(contentType)
      .send(Readable.from(rest(request, first, iterator)));
  };
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
