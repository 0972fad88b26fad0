import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { FxError } from "../../core/errors.ts";
import type { AccountHead, AuditStart } from "../../core/service.ts";
import { checkpointEnd, checkpointHeads, checkpointStart, encodeAudit, headsOf } from "../../wire/audit.ts";
import { bulkType } from "../../wire/bulk.ts";
import { closingOf } from "../admission.ts";
import { beginAnswer, type Handler, type HandlerContext, sendJson, sendText } from "../answers.ts";
import { logFailure, toFxError } from "../errors.ts";
import type { JournalReads } from "../journal-reads.ts";
import type { Lifecycle, Probes } from "./server.ts";

const checkpointType = `${bulkType}; charset=utf-8`;
/** How long a client may take or send nothing. */
const idleMs = 30_000;

export function checkpointHandlers(
  { now, probes }: Pick<HandlerContext, "now"> & { readonly probes: Probes },
  journal: JournalReads,
  lifecycle: Lifecycle,
) {
  const checkpoint: Handler = async (request, reply) => {
    if (request.method === "HEAD") return sendText(reply, "", 200, { "content-type": checkpointType });
    const { raw: response } = reply;
    let first = "";
    const onStart = (start: AuditStart) => {
      first = checkpointStart({ time: now().toISOString(), fx: probes.version, ...start });
    };
    // Until its turn comes, it may still be refused.
    const begin = () => {
      if (response.headersSent) return;
      beginAnswer(reply, 200, { "content-type": checkpointType });
      response.write(first);
    };
    const onHeads = (heads: readonly AccountHead[]) => {
      begin();
      return writeTo(response, checkpointHeads(heads));
    };
    try {
      const report = await journal.checkpoint({ onStart, onHeads }, closingOf(request));
      begin();
      response.end(checkpointEnd(report));
    } catch (error) {
      if (!response.headersSent) throw error;
      // The missing last line tells.
      if (!response.destroyed) logFailure(request, toFxError(error), error);
      response.destroy();
    }
  };

  const compareCheckpoint: Handler = async (request, reply) => {
    if (request.body === undefined) {
      throw new FxError("invalid-request", `The body must be sent as Content-Type: ${bulkType}.`);
    }
    // Not the request itself: destroying that would close the connection before the answer.
    const body = new PassThrough();
    const { raw } = request;
    const breakOff = () => body.destroy(new FxError("invalid-request", "The body broke off."));
    const stream = { request, socket: raw.socket, end: (reason: FxError) => body.destroy(reason) };
    // Whoever reads the body hears of its errors.
    body.on("error", () => {});
    body.once("close", () => {
      lifecycle.streams.delete(stream);
      raw.setTimeout(0);
      raw.resume();
    });
    raw.once("error", breakOff);
    // What waits for its turn, and not for the client, takes nothing.
    raw.setTimeout(idleMs, () => (body.writableNeedDrain ? raw.setTimeout(idleMs) : breakOff()));
    raw.pipe(body);
    lifecycle.streams.add(stream);
    try {
      // Before its turn, because the client may take long to send it.
      const chunks: (readonly AccountHead[])[] = [];
      for await (const chunk of headsOf(body)) chunks.push(chunk);
      const report = await journal.checkpoint({ against: takenFrom(chunks) }, closingOf(request));
      sendJson(reply, encodeAudit(report));
    } finally {
      body.destroy();
    }
  };

  return { checkpoint, compareCheckpoint };
}

/** Gives chunks, which are then held by whoever takes them alone. */
async function* takenFrom<T>(chunks: T[]): AsyncGenerator<T> {
  for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk;
}

/** Resolves when there is room for more. */
async function writeTo(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed) throw new FxError("unreachable", "The client has gone.");
  if (response.write(text)) return;
  const waited = new AbortController();
  const { signal } = waited;
  const idle = setTimeout(() => response.destroy(), idleMs);
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  clearTimeout(idle);
  waited.abort();
}
