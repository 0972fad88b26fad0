import { FxError } from "../../../core/errors.ts";
import type { Pesel } from "../../../core/pesel.ts";
import type { ExchangeService } from "../../../core/service.ts";
import type { Batch } from "./file.ts";
import type { BatchLine } from "./line.ts";
import { type BatchRun, BatchRunner, findEntry, type LineResult } from "./runner.ts";

/** Lines of a batch that an earlier run has done. */
export interface DoneBefore {
  readonly lines: number;
  /** When the first of them was done, if that is known. */
  readonly first: Date | undefined;
  /** How to do them again. */
  readonly hint: string;
}

/** How many lines are checked first. Every run begins at the top, so these show whether there was one. */
const glance = 64;

/**
 * Finds how many lines of a batch were done before, and carries out none. If there is none among the first lines, the
 * rest is not looked at.
 */
export async function findDoneBefore(
  run: Omit<BatchRun, "batch">,
  again: () => Promise<Batch>,
  onProgress: (found: { readonly done: number; readonly total: number | undefined }) => void,
): Promise<DoneBefore | undefined> {
  const find = async (limit: number): Promise<DoneBefore | undefined> => {
    const batch = await again();
    const lines = limit === Number.POSITIVE_INFINITY ? batch.lines : firstOf(batch.lines, limit);
    let found: DoneBefore | undefined;
    for await (const result of new BatchRunner({
      ...run,
      batch: { ...batch, lines },
      onlyFind: true,
    }).results()) {
      found = await countedWith(found, result, run.service);
      if (limit > glance) onProgress({ done: result.number, total: batch.lineCount });
    }
    batch.close();
    return found;
  };
  return (await find(glance)) && find(Number.POSITIVE_INFINITY);
}

/** Counts a line in, if it was done before. */
export async function countedWith(
  counted: DoneBefore | undefined,
  line: LineResult,
  service: ExchangeService,
): Promise<DoneBefore | undefined> {
  if (line.state !== "replayed") return counted;
  if (counted !== undefined) return { ...counted, lines: counted.lines + 1 };
  const hint = line.hasOwnKey
    ? "To do a line again, give it a new key."
    : "To do the whole batch again, run it with --id NEW (any new name).";
  return { lines: 1, first: await timeOf(line, service), hint };
}

async function timeOf({ pesel, key }: LineResult, service: ExchangeService): Promise<Date | undefined> {
  try {
    return (await findEntry(service, pesel as Pesel, key))?.time;
  } catch (error) {
    if (error instanceof FxError) return undefined;
    throw error;
  }
}

async function* firstOf(chunks: AsyncIterable<readonly BatchLine[]>, limit: number) {
  let left = limit;
  for await (const lines of chunks) {
    yield lines.slice(0, left);
    left -= lines.length;
    if (left <= 0) return;
  }
}
