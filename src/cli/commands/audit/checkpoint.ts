import { createReadStream } from "node:fs";
import { FxError } from "../../../core/errors.ts";
import type { AccountHead } from "../../../core/service.ts";
import type { CheckpointStart } from "../../../wire/audit.ts";
import { headsOf } from "../../../wire/checkpoint.ts";
import { reasonOf, UsageError } from "../../errors.ts";

/**
 * Opens a checkpoint, after a check that it is whole: before the ledger is read.
 * @returns its heads
 * @throws UsageError if it is not whole, or cannot be read
 */
export async function openCheckpoint(path: string): Promise<AsyncIterable<readonly AccountHead[]>> {
  for await (const _ of readHeads(path));
  return readHeads(path);
}

/**
 * The heads of a checkpoint.
 * @throws UsageError, at its end at the latest, if it is not whole, or cannot be read
 */
export async function* readHeads(
  path: string,
  onStart?: (start: CheckpointStart) => void,
): AsyncGenerator<readonly AccountHead[]> {
  try {
    yield* headsOf(createReadStream(path), onStart);
  } catch (error) {
    if (error instanceof FxError) throw new UsageError(`${path}: ${error.message}`);
    throw new UsageError(`The checkpoint ${path} cannot be read (${reasonOf(error)}).`);
  }
}
