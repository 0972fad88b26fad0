import { createReadStream } from "node:fs";
import { FxError } from "../../../core/errors.ts";
import type { AccountHead, AuditReport, AuditStart } from "../../../core/service.ts";
import { NewFile } from "../../../files/new-file.ts";
import type { CheckpointStart } from "../../../wire/audit.ts";
import { checkpointEnd, checkpointHeads, checkpointStart, headsOf } from "../../../wire/checkpoint.ts";
import { UsageError } from "../../errors.ts";
import { reasonOf } from "../../reason.ts";

/** A checkpoint while it is written. The file gets its name when it is whole and on disk. Only its owner can read it. */
export class CheckpointFile {
  readonly #path: string;
  readonly #about: { readonly fx: string; readonly source: string };
  readonly #file: NewFile;

  /**
   * @param about further fields of the first line
   * @throws UsageError if there is such a file; FxError storage-unavailable if none can be created
   */
  constructor(path: string, about: { readonly fx: string; readonly source: string }) {
    this.#path = path;
    this.#about = about;
    this.#file = this.#attempt(() => new NewFile(path, 0o600));
  }

  start(ledger: AuditStart): void {
    this.#write(checkpointStart({ time: new Date().toISOString(), ...this.#about, ...ledger }));
  }

  add(heads: readonly AccountHead[]): void {
    this.#write(checkpointHeads(heads));
  }

  keep(report: AuditReport): void {
    this.#write(checkpointEnd(report));
    this.#attempt(() => this.#file.keep());
  }

  /** Removes a checkpoint that was not kept. */
  close(): void {
    this.#file.close();
  }

  #write(text: string): void {
    this.#attempt(() => this.#file.write(text));
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") {
        throw new UsageError(`${this.#path} exists. Name a new file.`);
      }
      const message = `${this.#path} cannot be written (${reasonOf(error)}).`;
      throw new FxError("storage-unavailable", message, { cause: error });
    }
  }
}

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
