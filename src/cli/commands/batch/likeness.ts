import type { KeyedLine, LineRequest } from "../../../batch/keys.ts";
import { requestText, requestTextOf } from "../../../core/change.ts";
import { FxError } from "../../../core/errors.ts";
import type { ExchangeService } from "../../../core/service.ts";

/** Lines whose like was done before, under the keys of one other batch. */
export interface Likeness {
  readonly lines: number;
  /** How many lines were looked at. */
  readonly among: number;
  /** When the newest of them was done. */
  readonly last: Date;
}

/** Lines that are looked at, one statement each. */
const sampleSize = 100;
/** Entries of an account that are looked at, from its newest. */
const newest = 200;
/** Asked at once. */
const atOnce = 8;
/** A key that a batch made; its beginning is that of all keys of the batch. */
const madeKey = /^(b[\w-]{3})[\w-]{16}(?::\d+)?$/;

/**
 * Finds out whether most of the lines are like those of an earlier batch: the file may be a corrected or a longer one,
 * and all of it would be done once more.
 */
export async function findLikeness(
  lines: readonly KeyedLine[],
  service: Pick<ExchangeService, "statement">,
): Promise<Likeness | undefined> {
  const asked = lines.filter(({ request, hasOwnKey }) => !(request instanceof Error) && !hasOwnKey);
  const step = Math.max(1, asked.length / sampleSize);
  const sample = Array.from(
    { length: Math.min(asked.length, sampleSize) },
    (_, nth) => asked[Math.floor(nth * step)]?.request as LineRequest,
  );
  const batches = new Map<string, Likeness>();
  const left = sample[Symbol.iterator]();
  const look = async () => {
    for (const request of left) {
      for (const [batch, time] of await likesOf(request, service)) {
        const { lines = 0, last = time } = batches.get(batch) ?? {};
        batches.set(batch, { lines: lines + 1, among: sample.length, last: last > time ? last : time });
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, look));
  const [most] = [...batches.values()].sort((a, b) => b.lines - a.lines);
  return most !== undefined && most.lines * 2 > sample.length ? most : undefined;
}

/** When each other batch did what the request asks for, by the beginning of the batch's keys. */
async function likesOf(
  request: LineRequest,
  service: Pick<ExchangeService, "statement">,
): Promise<ReadonlyMap<string, Date>> {
  const text = requestText(request);
  const [, own] = madeKey.exec(request.key) ?? [];
  const found = new Map<string, Date>();
  for (const entry of await entriesOf(request, service)) {
    const [, batch] = madeKey.exec(entry.key ?? "") ?? [];
    if (batch === undefined || batch === own || found.has(batch)) continue;
    if (requestTextOf(entry) === text) found.set(batch, entry.time);
  }
  return found;
}

async function entriesOf({ pesel }: LineRequest, service: Pick<ExchangeService, "statement">) {
  try {
    return (await service.statement(pesel, { limit: newest })).items;
  } catch (error) {
    if (error instanceof FxError && error.code === "account-not-found") return [];
    throw error;
  }
}
