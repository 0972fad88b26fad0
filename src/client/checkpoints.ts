import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Request as GotStream, PlainResponse, RequestError } from "got";
import { FxError } from "../core/errors.ts";
import type { AccountHead, AuditOptions, AuditReport } from "../core/service.ts";
import { type CheckpointStart, checkpointText, decodeAudit, readCheckpoint } from "../wire/audit.ts";
import { bulkType } from "../wire/bulk.ts";
import { notAnAnswer } from "../wire/codecs.ts";
import { answerOf, type Transport, textOf } from "./transport.ts";
import { unfit } from "./unfit.ts";

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
    { waits: true },
  );
  try {
    await answered(request, transport);
    return yield* readCheckpoint(request, onStart);
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
    { waits: true },
  );
  const sent = pipeline(Readable.from(checkpointText(against)), request).catch((error: Error) => error);
  try {
    await answered(request, transport);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return decodeAudit(JSON.parse(Buffer.concat(chunks).toString()));
  } catch (error) {
    request.destroy();
    // What cannot be read is the reason why it was not sent.
    const fault = await sent;
    throw fault instanceof FxError ? fault : failureOf(transport, error);
  }
}

/** Waits for the head of an answer that is as it should be. */
async function answered(request: GotStream, { place }: Transport): Promise<void> {
  // Whoever waits hears of an error.
  request.on("error", () => {});
  const [response] = (await once(request, "response")) as [PlainResponse];
  if (response.statusCode === 200) return;
  throw unfit(answerOf(response, await textOf(request)), place).failure;
}

function failureOf(transport: Transport, error: unknown): Error {
  if (error instanceof FxError) return error;
  if (error instanceof SyntaxError) return notAnAnswer(error.message);
  return transport.failureOf("GET", error as RequestError).failure;
}
