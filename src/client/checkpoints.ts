import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Request as GotStream, PlainResponse, RequestError } from "got";
import { FxError } from "../core/errors.ts";
import type { AccountHead, AuditOptions, AuditReport } from "../core/service.ts";
import { type CheckpointStart, checkpointText, decodeAudit, readCheckpoint } from "../wire/audit.ts";
import { bulkType } from "../wire/bulk.ts";
import { notAnAnswer } from "../wire/codecs.ts";
import { answerOf, longestAnswer, type Transport, textOf } from "./transport.ts";
import { unfit } from "./unfit.ts";

/** In bytes: what an answer says of an account that lacks what a checkpoint saw. */
const longestLostHead = 200;

/** Has the server audit, and takes the heads as they come. */
export async function takeCheckpoint(
  transport: Transport,
  { onStart, onHeads, onProgress }: AuditOptions,
): Promise<AuditReport> {
  let totalEntries = 0;
  const chunks = answer(transport, (start) => {
    totalEntries = start.entries;
    onStart?.(start);
  });
  const done = { accounts: 0, entries: 0 };
  for (;;) {
    const { value, done: isWhole } = await chunks.next();
    if (isWhole) return value;
    done.accounts += value.length;
    for (const { entries } of value) done.entries += entries;
    await onHeads?.(value);
    onProgress?.({ ...done, totalEntries });
  }
}

async function* answer(
  transport: Transport,
  onStart: (start: CheckpointStart) => void,
): AsyncGenerator<readonly AccountHead[], AuditReport> {
  const request = await transport.stream(
    { method: "GET", path: "/api/audit/checkpoint", headers: { accept: bulkType } },
    { readsJournal: true },
  );
  try {
    await answered(request, transport);
    return yield* readCheckpoint(transport.chunks(request), onStart, longestAnswer);
  } catch (error) {
    throw error instanceof FxError && error.code === "invalid-request"
      ? notAnAnswer(error.message)
      : failureOf(transport, error);
  } finally {
    request.destroy();
  }
}

/** Sends the server an earlier checkpoint, and has it audit the ledger against that. */
export async function compareCheckpoint(
  transport: Transport,
  against: AsyncIterable<readonly AccountHead[]>,
): Promise<AuditReport> {
  const headers = { accept: "application/json", "content-type": bulkType };
  const request = await transport.stream(
    { method: "POST", path: "/api/audit/comparison", headers },
    { readsJournal: true },
  );
  let longest = longestAnswer;
  const counted = async function* () {
    for await (const heads of against) {
      longest += heads.length * longestLostHead;
      yield heads;
    }
  };
  const sent = pipeline(Readable.from(checkpointText(counted())), request).catch((error: Error) => error);
  try {
    await answered(request, transport);
    return decodeAudit(
      JSON.parse(await textOf(transport.chunks(request), { most: longest, withinMs: Infinity })),
    );
  } catch (error) {
    request.destroy();
    // What cannot be read is the reason why it was not sent.
    const fault = await sent;
    throw fault instanceof FxError ? fault : failureOf(transport, error);
  }
}

/** Waits for the head of an answer that is as it should be. */
async function answered(request: GotStream, transport: Transport): Promise<void> {
  // Whoever waits hears of an error.
  request.on("error", () => {});
  const [response] = (await once(request, "response")) as [PlainResponse];
  if (response.statusCode === 200) return;
  throw unfit(answerOf(response, await textOf(transport.chunks(request))), transport).failure;
}

function failureOf(transport: Transport, error: unknown): Error {
  if (error instanceof FxError) return error;
  if (error instanceof SyntaxError) return notAnAnswer(error.message);
  return transport.failureOf("GET", error as RequestError).failure;
}
