import type { Request as GotStream, RequestError } from "got";
import { FxError } from "../core/errors.ts";
import type { Receipt } from "../core/journal.ts";
import type { FollowRequest } from "../core/service.ts";
import { decodeEventLine, eventStreamType } from "../wire/event-stream.ts";
import { readLines } from "../wire/lines.ts";
import { answered } from "./failures.ts";
import type { Fault } from "./retries.ts";
import type { Transport } from "./transport.ts";

/** Bytes; longer than any entry. */
const longestLine = 65_536;

/**
 * Follows the entries of a server. Resumes after a lost connection, so that each entry is yielded once.
 * @throws FxError the server's refusal; unreachable, storage-unavailable, overloaded or rate-limited after about a minute
 * of failures
 */
export async function* followEntries(
  transport: Transport,
  { after, signal }: FollowRequest,
): AsyncGenerator<readonly Receipt[]> {
  const retries = transport.retries("GET", { isPatient: true });
  let last = after;
  for (let chunks = 0; !signal?.aborted; ) {
    const stream = await transport.stream({
      ...{ method: "GET", path: "/api/entries", query: { after: last } },
      headers: { accept: `${eventStreamType}, application/problem+json` },
    });
    const stop = () => stream.destroy();
    signal?.addEventListener("abort", stop);
    let fault: Fault;
    try {
      await answered(stream, transport, { type: eventStreamType, signal });
      let isNew = true;
      for await (const receipts of receiptsOf(stream, transport)) {
        if (receipts.length > 0 || !isNew) retries.progress();
        isNew = false;
        last = receipts.at(-1)?.id ?? last;
        if (receipts.length > 0 || chunks === 0) yield receipts;
        chunks += 1;
      }
      fault = transport.noAnswer("GET", "connection lost");
    } catch (error) {
      fault = faultOf(error, transport);
    } finally {
      signal?.removeEventListener("abort", stop);
      stream.destroy();
    }
    const failure = signal?.aborted ? undefined : await retries.after(fault, true);
    if (failure !== undefined) throw failure;
  }
}

/** Yields the receipts of each read. A chunk is empty for the opening of the stream and for comment lines. */
async function* receiptsOf(stream: GotStream, transport: Transport): AsyncGenerator<readonly Receipt[]> {
  for await (const lines of readLines(stream, { longest: longestLine })) {
    try {
      yield lines.flatMap(({ bytes }) => decodeEventLine(bytes.toString()) ?? []);
    } catch {
      throw transport.notFx("GET", "malformed event").failure;
    }
  }
}

/** @throws FxError with which the server refuses to go on */
function faultOf(error: unknown, transport: Transport): Fault {
  if (!(error instanceof FxError)) return transport.failureOf("GET", error as RequestError);
  if (!["storage-unavailable", "overloaded", "rate-limited", "unreachable"].includes(error.code)) throw error;
  return { failure: error, outcomeUnknown: false, retryAfterSeconds: error.retryAfterSeconds };
}
