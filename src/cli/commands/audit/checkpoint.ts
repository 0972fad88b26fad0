import { createReadStream } from "node:fs";
import { FxError } from "../../../core/errors.ts";
import type { AccountHead, AuditReport, AuditStart } from "../../../core/service.ts";
import { NewFile } from "../../../ledger/new-file.ts";
import {
  type CheckpointStart,
  checkpointEnd,
  checkpointHeads,
  checkpointStart,
  headsOf,
} from "../../../wire/audit.ts";
import { UsageError } from "../../errors.ts";
import { reasonOf } from "../../reason.ts";

/** A checkpoint that is being written. It gets its name when it is whole and on disk; only its owner can read it. */
export class CheckpointFile {
  readonly #path: string;
  readonly #about: { readonly fx: string; readonly source: string };
  readonly #file: NewFile;

  /**
   * @param about further things to say in the first line
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

  /** Leaves nothing of a checkpoint that was not kept. */
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
        throw new UsageError(`${this.#path} exists. Name a new file: a checkpoint replaces nothing.`);
      }
      const message = `${this.#path} cannot be written (${reasonOf(error)}).`;
      throw new FxError("storage-unavailable", message, { cause: error });
    }
  }
}

/** A whole checkpoint in a file. */
export interface Checkpoint {
  readonly start: CheckpointStart;
  heads(): AsyncIterable<readonly AccountHead[]>;
}

/**
 * Reads a checkpoint once, to see that it is whole before the ledger is read.
 * @throws UsageError if it is not, or cannot be read
 */
export async function openCheckpoint(path: string): Promise<Checkpoint> {
  let start: CheckpointStart | undefined;
  try {
    const whole = headsOf(createReadStream(path), (line) => {
      start = line;
    });
    for await (const _ of whole);
    return { start: start as CheckpointStart, heads: () => headsOf(createReadStream(path)) };
  } catch (error) {
    if (error instanceof FxError) throw new UsageError(`${path} cannot be compared with. ${error.message}`);
    throw new UsageError(`${path} cannot be read (${reasonOf(error)}).`);
  }
}
