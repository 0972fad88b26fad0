import { closeSync, existsSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { UsageError } from "../../errors.ts";
import { reasonOf } from "../../reason.ts";

/**
 * The refused lines, in the format of the batch, each under a new key. The file gets its name when it is complete: a
 * killed command could leave a line with half a key.
 */
export class Rejects {
  readonly path: string;
  readonly #part: string;
  readonly #file: number;
  readonly #header: string | undefined;
  #isEmpty = true;
  #problem: string | undefined;

  /** @throws UsageError if the file exists, or cannot be created */
  constructor(path: string, header: string | undefined) {
    if (existsSync(path)) {
      throw new UsageError(
        `${path} exists. Remove it, or name another file: a line that is refused again gets the same new key.`,
      );
    }
    this.path = path;
    this.#part = `${path}.part`;
    this.#header = header;
    try {
      this.#file = openSync(this.#part, "w");
    } catch (error) {
      throw new UsageError(unwritable(path, error));
    }
  }

  /** Why the file cannot be written, if it cannot. */
  get problem(): string | undefined {
    return this.#problem;
  }

  add(line: string): void {
    this.#attempt(() => {
      const head = this.#isEmpty && this.#header !== undefined ? `${this.#header}\n` : "";
      this.#isEmpty = false;
      writeFileSync(this.#file, `${head}${line}\n`);
    });
  }

  /** Gives the file its name; it is not kept if it is empty or incomplete. */
  close(): void {
    this.#attempt(() => {
      closeSync(this.#file);
      if (!this.#isEmpty) renameSync(this.#part, this.path);
    });
    rmSync(this.#part, { force: true });
  }

  #attempt(write: () => void): void {
    if (this.#problem !== undefined) return;
    try {
      write();
    } catch (error) {
      this.#problem = unwritable(this.path, error);
    }
  }
}

function unwritable(path: string, error: unknown): string {
  return `${path} cannot be written (${reasonOf(error)}).`;
}
