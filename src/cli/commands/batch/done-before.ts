import { type KeyedLine, LineKeys, type LineRequest } from "../../../batch/keys.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError, isOfRequest } from "../../../core/errors.ts";
import type { BulkAnswer, ExchangeService } from "../../../core/service.ts";
import { digestOf } from "./digest.ts";
import type { Batch } from "./file.ts";

/** Lines of a batch that an earlier run has done. */
export interface DoneBefore {
  readonly lines: number;
  /** How many lines were looked at; undefined for all. */
  readonly among: number | undefined;
  /** When the first of them was done, if that is known. */
  readonly first: Date | undefined;
  /** How to do them again. */
  readonly hint: string;
}

/** How many lines are looked at. Every run begins at the top, so these show whether there was one. */
const glance = 1000;

/** A batch's first lines, by which an earlier run is found, and whether these are all. */
export async function firstLines(
  again: () => Promise<Batch>,
  today: CalendarDate,
): Promise<{ readonly lines: readonly KeyedLine[]; readonly isAll: boolean }> {
  const batch = await again();
  const keys = new LineKeys(batch.id, today, digestOf);
  const lines: KeyedLine[] = [];
  let isAll = true;
  for await (const chunk of batch.lines) {
    for (const line of chunk) {
      if (lines.length < glance) lines.push(keys.of(line));
      else isAll = false;
    }
    if (!isAll) break;
  }
  batch.close();
  return { lines, isAll };
}

/** Finds how many of a batch's first lines were done before, and carries out none. */
export async function findDoneBefore(
  service: ExchangeService,
  { lines, isAll }: Awaited<ReturnType<typeof firstLines>>,
): Promise<DoneBefore | undefined> {
  const asked = lines.filter(({ request }) => !(request instanceof Error));
  const answers = await answersTo(
    asked.map(({ request }) => request as LineRequest),
    service,
  );
  const done = asked.flatMap((line, index) => {
    const answer = answers[index];
    // Equal keys within the file are no earlier run.
    const isDone =
      answer !== undefined && "receiptId" in answer && answer.replayed && answer.receiptId !== "";
    return isDone ? [{ line, answer }] : [];
  });
  const [first] = done;
  if (first === undefined) return undefined;
  const found = await firstDoneBefore(first.line, first.answer.receiptId, service);
  return { ...found, lines: done.length, among: isAll ? undefined : glance };
}

/** @throws FxError if the place cannot answer now: then nobody is to be asked whether to go on */
async function answersTo(
  requests: readonly LineRequest[],
  service: ExchangeService,
): Promise<readonly BulkAnswer[]> {
  const answers: BulkAnswer[] = [];
  for await (const some of service.dryRun(once(requests))) answers.push(...some);
  const failed = answers.find(
    (answer) => answer instanceof FxError && !isOfRequest(answer.code) && answer.code !== "rates-unavailable",
  );
  if (failed !== undefined) throw failed;
  return answers;
}

async function* once<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  if (items.length > 0) yield items;
}

/** What is told of the first line that was done before. */
export async function firstDoneBefore(
  { hasOwnKey }: KeyedLine,
  receiptId: string,
  service: ExchangeService,
): Promise<DoneBefore> {
  const hint = hasOwnKey
    ? "To do a line again, give it a new key."
    : "To do the whole batch again, run it with --id NEW (any new name).";
  return { lines: 1, among: undefined, first: await timeOf(receiptId, service), hint };
}

async function timeOf(receiptId: string, service: ExchangeService): Promise<Date | undefined> {
  try {
    return (await service.receipt(receiptId)).time;
  } catch (error) {
    if (error instanceof FxError) return undefined;
    throw error;
  }
}
