import { PassThrough } from "node:stream";
import { FxError } from "../../core/errors.ts";
import type { AccountHead, AuditStart } from "../../core/service.ts";
import { audit as auditShape } from "../../wire/audit.ts";
import { bulkType } from "../../wire/bulk.ts";
import { checkpointEnd, checkpointHeads, checkpointStart, headsOf } from "../../wire/checkpoint.ts";
import { onePart, sendHead, sendSlow, writeTo } from "../answers.ts";
import { closingOf } from "../connections.ts";
import type { Handler, HandlerContext } from "../context.ts";
import { bodyOf } from "../lifecycle.ts";

const checkpointType = `${bulkType}; charset=utf-8`;
/** How long a client may send nothing. */
const idleMs = 30_000;

export function checkpointHandlers(context: HandlerContext) {
  const { service, now, probes, lifecycle } = context;
  const { journal } = context.longReads;

  const checkpoint: Handler = async (request, reply) => {
    if (request.method === "HEAD") return sendHead(reply, checkpointType);
    const parts = new PassThrough({ encoding: "utf8" });
    // Kept back until the first heads are there, because until then the audit may still be refused.
    let head = "";
    const onStart = (start: AuditStart) => {
      head = checkpointStart({ time: now().toISOString(), fx: probes.version, ...start });
    };
    const write = (text: string) => {
      const lines = head + text;
      head = "";
      return writeTo(parts, lines);
    };
    const onHeads = (heads: readonly AccountHead[]) => write(checkpointHeads(heads));
    const read = (signal: AbortSignal) => service.audit({ onStart, onHeads, signal });
    journal
      .run(undefined, closingOf(reply), read)
      .then((report) => write(checkpointEnd(report)))
      .then(
        () => parts.end(),
        (error) => parts.destroy(error),
      );
    return sendSlow(request, reply, context, { type: checkpointType, parts });
  };

  const compareCheckpoint: Handler = async (request, reply) => {
    const body = bodyOf(request, reply);
    const stream = { request, end: (reason: FxError) => void body.destroy(reason) };
    request.raw.setTimeout(idleMs, () => body.destroy(new FxError("invalid-request", "The body broke off.")));
    lifecycle.streams.add(stream);
    // The checkpoint is read before the audit's turn, because the client may take long to send it.
    const chunks: (readonly AccountHead[])[] = [];
    try {
      for await (const chunk of headsOf(body)) chunks.push(chunk);
    } finally {
      lifecycle.streams.delete(stream);
    }
    const read = (signal: AbortSignal) => service.audit({ against: takenFrom(chunks), signal });
    const made = journal.run(undefined, closingOf(reply), read);
    const text = made.then((report) => JSON.stringify(auditShape.encode(report)));
    return sendSlow(request, reply, context, { parts: onePart(text) });
  };

  return { checkpoint, compareCheckpoint };
}

/** Yields the chunks and lets go of each, so that a long checkpoint is not held in memory twice. */
async function* takenFrom<T>(chunks: T[]): AsyncGenerator<T> {
  for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk;
}
