import { createHash } from "node:crypto";
import { headText, isClean, parseHead } from "../core/checkpoint.ts";
import { FxError } from "../core/errors.ts";
import type { AccountHead, AuditReport } from "../core/service.ts";
import { type AuditJson, audit, type CheckpointStart, checkpointHead } from "./audit.ts";
import { type Line, readLines } from "./lines.ts";

/** The first line of a checkpoint, with its line feed. */
export function checkpointStart(start: Omit<CheckpointStart, "checkpoint">): string {
  return `${JSON.stringify({ checkpoint: 1, ...start })}\n`;
}

/** The lines of accounts, each with its line feed. */
export function checkpointHeads(heads: readonly AccountHead[]): string {
  return heads.map((head) => `${headText(head)}\n`).join("");
}

/** The last line of a checkpoint, with its line feed. */
export function checkpointEnd(report: AuditReport): string {
  return `${JSON.stringify(audit.encode(report))}\n`;
}

/** A whole checkpoint of these heads, to be compared with. */
export async function* checkpointText(chunks: AsyncIterable<readonly AccountHead[]>): AsyncGenerator<string> {
  const digest = createHash("sha256");
  const counts = { accounts: 0, entries: 0 };
  yield checkpointStart({ time: new Date().toISOString(), fx: "", schemaVersion: 0, entries: 0 });
  for await (const heads of chunks) {
    const text = checkpointHeads(heads);
    digest.update(text);
    counts.accounts += heads.length;
    for (const { entries } of heads) counts.entries += entries;
    yield text;
  }
  yield checkpointEnd({ ...counts, findings: [], findingsTotal: 0, digest: digest.digest("hex") });
}

/**
 * The heads of a checkpoint, to be compared with.
 * @throws FxError invalid-request, at its end at the latest, if it is not a whole one or was made with findings
 */
export async function* headsOf(
  bytes: AsyncIterable<Buffer>,
  onStart?: (start: CheckpointStart) => void,
): AsyncGenerator<readonly AccountHead[]> {
  const report = yield* readCheckpoint(bytes, onStart);
  if (!isClean(report)) throw noCheckpoint("the audit that made it had findings");
}

/** A server that is still reading sends a blank line every few seconds. */
const mostBlanks = 10_000;

/**
 * Reads a checkpoint, in flat memory.
 * @param longest in bytes: how long a line may be. Only an audit with findings, at the end, is longer than by default
 * @throws FxError invalid-request, at its end at the latest, if it is not a whole one
 */
export async function* readCheckpoint(
  bytes: AsyncIterable<Buffer>,
  onStart: (start: CheckpointStart) => void = () => {},
  longest = 16_384,
): AsyncGenerator<readonly AccountHead[], AuditReport> {
  const digest = createHash("sha256");
  const counts = { accounts: 0, entries: 0 };
  let start: CheckpointStart | undefined;
  let report: AuditReport | undefined;
  let blanks = 0;
  for await (const lines of readLines(bytes, { longest })) {
    const heads: AccountHead[] = [];
    for (const line of lines) {
      const text = line.bytes.toString();
      if (text === "" && blanks < mostBlanks) {
        blanks += 1;
        continue;
      }
      if (start === undefined) {
        start = parseStart(text);
        onStart(start);
        continue;
      }
      const head = report === undefined ? parseHead(text) : undefined;
      if (head === undefined) {
        if (report !== undefined) throw noCheckpoint(`line ${line.number} comes after the end`);
        report = parseEnd(line);
        continue;
      }
      digest.update(`${text}\n`);
      counts.accounts += 1;
      counts.entries += head.entries;
      heads.push(head);
    }
    if (heads.length > 0) yield heads;
  }
  if (start === undefined) throw noCheckpoint("it is empty");
  if (report === undefined) throw noCheckpoint("its end is missing, so it was cut off");
  if (report.digest !== digest.digest("hex")) {
    throw noCheckpoint("its digest is not that of its lines, so it was edited or damaged");
  }
  const isCounted = report.accounts === counts.accounts && report.entries === counts.entries;
  // A damaged ledger may have rows without a head.
  if (isClean(report) && !isCounted) {
    throw noCheckpoint("its numbers of accounts and entries are not those of its lines, so it was edited");
  }
  return report;
}

function parseStart(text: string): CheckpointStart {
  const start = checkpointHead.safeParse(parsed(text)).data;
  if (start === undefined) throw noCheckpoint("its first line is not a checkpoint header");
  if (start.checkpoint === 1) return start;
  throw noCheckpoint(`a newer fx (${start.fx}) wrote it, in version ${start.checkpoint} of the format`);
}

function parseEnd({ number, bytes }: Line): AuditReport {
  const body = parsed(bytes.toString());
  // The last line may be cut off, too.
  if (body === undefined) throw noCheckpoint(`line ${number} is cut off or damaged`);
  const report = audit.safeParse(body).data;
  const isOk = (body as Partial<AuditJson>).ok === true;
  if (report === undefined || (isClean(report) && !isOk)) throw noCheckpoint(`line ${number} is damaged`);
  return report;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function noCheckpoint(why: string): FxError {
  return new FxError("invalid-request", `This is not a whole checkpoint: ${why}.`);
}
