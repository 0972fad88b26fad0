import { NewFile } from "../../../files/new-file.ts";
import { reasonOf, UsageError } from "../../errors.ts";

/**
 * A file of the refused lines, in the format of the batch, each under a new key. It gets its name when it is complete,
 * because a killed command could leave a line with half a key.
 */
export class Rejects {
  readonly path: string;
  readonly #file: NewFile;
  readonly #header: string | undefined;
  #isEmpty = true;
  #problem: string | undefined;

  /** @throws UsageError if the file exists, or cannot be created */
  constructor(path: string, header: string | undefined) {
    this.path = path;
    this.#header = header;
    try {
      this.#file = new NewFile(path, 0o600);
    } catch (error) {
      throw new UsageError(unwritable(path, error));
    }
  }

  /** The reason why the file cannot be written, if it cannot. */
  get problem(): string | undefined {
    return this.#problem;
  }

  add(line: string): void {
    this.#attempt(() => {
      const head = this.#isEmpty && this.#header !== undefined ? `${this.#header}\n` : "";
      this.#isEmpty = false;
      this.#file.write(`${head}${line}\n`);
    });
  }

  /** Gives the file its name; it is not kept if it is empty or incomplete. */
  close(): void {
    this.#attempt(() => {
      if (!this.#isEmpty) this.#file.keep();
    });
    this.#file.close();
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
  if ((error as NodeJS.ErrnoException).code === "EEXIST") {
    return `${path} exists. Name a new file for the rejects.`;
  }
  return `${path} cannot be written (${reasonOf(error)}).`;
}
