import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RequestError } from "got";
import { FxError } from "../core/errors.ts";
import type { AccountHead, AuditOptions, AuditReport } from "../core/service.ts";
import { decodeAnswer, mostItems, notAnAnswer } from "../wire/answers.ts";
import { audit, type CheckpointStart } from "../wire/audit.ts";
import { bulkType } from "../wire/bulk.ts";
import { checkpointText, readCheckpoint } from "../wire/checkpoint.ts";
import { longestAnswer, textOf } from "./answer.ts";
import { answered } from "./failures.ts";
import type { Transport } from "./transport.ts";

/** Bytes; longer than the part of an answer about one account that lacks entries of a checkpoint. */
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
  const request = await transport.stream({
    ...{ method: "GET", path: "/api/audit/checkpoint", readsJournal: true },
    headers: { accept: bulkType },
  });
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
  const post = { method: "POST", path: "/api/audit/comparison", headers, readsJournal: true } as const;
  const request = await transport.stream(post);
  let sentHeads = 0;
  const counted = async function* () {
    for await (const heads of against) {
      sentHeads += heads.length;
      yield heads;
    }
  };
  const sent = pipeline(Readable.from(checkpointText(counted())), request).catch((error: Error) => error);
  try {
    await answered(request, transport);
    const most = longestAnswer + sentHeads * longestLostHead;
    const text = await textOf(transport.chunks(request), { most, withinMs: Infinity });
    return decodeAnswer(audit, JSON.parse(text), sentHeads + mostItems);
  } catch (error) {
    request.destroy();
    // If the checkpoint itself could not be read, that is the reason.
    const fault = await sent;
    throw fault instanceof FxError ? fault : failureOf(transport, error);
  }
}

function failureOf(transport: Transport, error: unknown): Error {
  if (error instanceof FxError) return error;
  if (error instanceof SyntaxError) return notAnAnswer(error.message);
  return transport.failureOf("GET", error as RequestError).failure;
}
