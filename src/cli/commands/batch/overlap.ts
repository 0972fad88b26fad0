import { LineKeys, type LineRequest } from "../../../batch/keys.ts";
import { requestBehind, requestText } from "../../../core/change.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError, undecided } from "../../../core/errors.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { timeText, writeJson, writeText } from "../../terminal/output.ts";
import type { Screen } from "../../terminal/terminal.ts";
import { type Batch, digestOf } from "./file.ts";

/** Lines that ask for what one other batch has done. */
export interface Overlap {
  readonly lines: number;
  readonly among: number;
  readonly last: Date;
}

/** The sample is taken from this many lines at the top of the file. */
const topLines = 1000;
const sampleSize = 100;
/** Entries of an account that are compared with a line, from its newest. */
const newestEntries = 200;
/** Statements that are requested at the same time. */
const concurrency = 10;
/** A key that a batch made. All keys of one batch have the same beginning. */
const madeKey = /^(b[\w-]{3})[\w-]{16}(?::\d+)?$/;

/**
 * Finds out whether most lines of a file were done by one other batch: the file may be a corrected or a longer version
 * of that one, and most of it would be done a second time. Lines of an account that cannot be read, as one that is damaged,
 * are not compared.
 * @throws FxError if no account can be read
 */
export async function findOverlap(
  batch: Batch,
  service: Pick<ExchangeService, "statement">,
  today: CalendarDate,
): Promise<Overlap | undefined> {
  const sample = sampleOf(topRequests(batch, today));
  const overlaps = new Map<string, Omit<Overlap, "among">>();
  const failures: FxError[] = [];
  for (let start = 0; start < sample.length; start += concurrency) {
    const group = sample.slice(start, start + concurrency);
    const found = await Promise.all(group.map((request) => batchesThatDid(request, service, failures)));
    for (const [batch, time] of found.flatMap((times) => [...times])) {
      const { lines = 0, last = time } = overlaps.get(batch) ?? {};
      overlaps.set(batch, { lines: lines + 1, last: last > time ? last : time });
    }
  }
  const among = sample.length - failures.length;
  if (among === 0 && failures.length > 0) throw failures[0];
  const [most] = [...overlaps.values()].sort((a, b) => b.lines - a.lines);
  return most !== undefined && most.lines * 2 > among ? { ...most, among } : undefined;
}

/** Warns, before anything is sent, that most lines would be done a second time. */
export function tellOverlap(errors: Screen, { lines, among, last }: Overlap, json: boolean): void {
  if (json) {
    writeJson(errors, { overlap: { lines, among, last: last.toISOString() } });
    return;
  }
  const text =
    `Another batch has done ${lines} of ${among} lines that were compared, the last at ${timeText(errors, last)}. ` +
    "They would be done a second time. If this file is a corrected or a longer version of that batch, run it with " +
    "--id ID, the id in the summary of that batch: then only what is new is done.";
  writeText(errors, text, errors.paint.yellow);
}

/** The requests of the first lines, without those that cannot be read or that name their key. */
function topRequests({ id, lines }: Batch, today: CalendarDate): LineRequest[] {
  const keys = new LineKeys(id, today, digestOf);
  const requests: LineRequest[] = [];
  let read = 0;
  for (const line of lines()) {
    const { request, hasOwnKey } = keys.of(line);
    if (!(request instanceof Error) && !hasOwnKey) requests.push(request);
    read += 1;
    if (read >= topLines) break;
  }
  return requests;
}

/** Up to `sampleSize` items at even distances. */
function sampleOf<T>(items: readonly T[]): T[] {
  const step = Math.max(1, items.length / sampleSize);
  return items.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

/**
 * The other batches that have done what the request asks for, by the beginning of their keys, and when. None, if this
 * batch has done it: then it is not done again.
 */
async function batchesThatDid(
  request: LineRequest,
  service: Pick<ExchangeService, "statement">,
  failures: FxError[],
): Promise<ReadonlyMap<string, Date>> {
  const text = requestText(request);
  const found = new Map<string, Date>();
  for (const entry of await newestOf(request, service, failures)) {
    if (entry.key === request.key) return new Map();
    const [, batch] = madeKey.exec(entry.key ?? "") ?? [];
    if (batch === undefined || found.has(batch) || request.key.startsWith(batch)) continue;
    if (requestText(requestBehind(entry)) === text) found.set(batch, entry.time);
  }
  return found;
}

async function newestOf(
  { pesel }: LineRequest,
  service: Pick<ExchangeService, "statement">,
  failures: FxError[],
) {
  try {
    return (await service.statement(pesel, { limit: newestEntries })).items;
  } catch (error) {
    if (!(error instanceof FxError)) throw error;
    if (undecided.includes(error.code)) failures.push(error);
    else if (error.code !== "account-not-found") throw error;
    return [];
  }
}
