import type { FastifyReply, FastifyRequest } from "fastify";
import { parsePesel } from "../../core/pesel.ts";
import { exportFiles } from "../../wire/export-files.ts";
import { exportQuery } from "../../wire/ledger.ts";
import { parseRequest } from "../../wire/requests.ts";
import { statementFile as partsOf, statementFileQuery, statementFiles } from "../../wire/statement-file.ts";
import { limitAnswers, sendHead, sendSlow } from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { Handler, HandlerContext } from "../context.ts";
import { parameterOf } from "../reads.ts";

/** How long a client may read nothing of an answer: somebody may read an export in a pager. */
const idleMs = 600_000;
/** The maximum number of files of one kind that are sent at once. */
const filesAtOnce = 4;

interface File {
  readonly type: string;
  /** The file name, without personal data: browsers keep names in a history. */
  readonly name: string;
  readonly parts: () => AsyncIterable<string>;
}

export function exportHandlers(context: HandlerContext) {
  const { service, now, today, longReads } = context;
  const begin = {
    exports: limitAnswers(filesAtOnce, "exports"),
    statements: limitAnswers(filesAtOnce, "statements"),
  };

  /** Sends a file as it is made. */
  function sendFile(
    request: FastifyRequest,
    reply: FastifyReply,
    kind: keyof typeof begin,
    { type: bare, name, parts }: File,
  ): FastifyReply | Promise<FastifyReply> {
    const type = `${bare}; charset=utf-8`;
    const headers = { "content-disposition": `attachment; filename="${name}"` };
    if (request.method === "HEAD") return sendHead(reply.headers(headers), type);
    begin[kind](reply);
    reply.raw.setTimeout(idleMs);
    return sendSlow(request, reply, context, { type, headers, filler: "", parts: parts() });
  }

  const exportJournal: Handler = async (request, reply) => {
    const asked = parseRequest(exportQuery, request.query, "query");
    const { type, ending } = exportFiles[asked.format];
    const file = { type, name: `fx-${today()}.${ending}`, parts: () => service.export(asked) };
    return sendFile(request, reply, "exports", file);
  };

  const statementFile: Handler = async (request, reply) => {
    const { format, ...period } = parseRequest(statementFileQuery, request.query, "query");
    const pesel = parsePesel(parameterOf(request, "pesel"), today());
    const { type, ending } = statementFiles[format];
    const account = await service.account(pesel);
    // Others have their turn between two pages.
    const closing = closingOf(reply);
    const read = (page: Parameters<typeof service.statement>[1]) =>
      longReads.lists.run(undefined, closing, () => service.statement(pesel, page));
    const parts = () => partsOf(format, { account, period, now: now(), read });
    return sendFile(request, reply, "statements", { type, name: `fx-statement-${today()}.${ending}`, parts });
  };

  return { exportJournal, statementFile };
}
