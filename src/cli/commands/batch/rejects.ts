import { describeFailure } from "../../errors.ts";
import { ResultFile } from "../../result-file.ts";

/** A file of the refused lines, in the format of the batch, each under a new key. */
export class Rejects {
  readonly path: string;
  /** Why the file cannot be written, if it cannot: the batch then stops. */
  problem: string | undefined;
  readonly #file: ResultFile;
  readonly #header: string | undefined;
  #isEmpty = true;

  /** @throws UsageError if the file exists, or none can be made there; FxError storage-unavailable, as on a full disk */
  constructor(path: string, header: string | undefined) {
    this.path = path;
    this.#header = header;
    this.#file = new ResultFile(path);
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
    if (!this.#isEmpty) this.#attempt(() => this.#file.keep());
    this.#file.close();
  }

  #attempt(write: () => void): void {
    if (this.problem !== undefined) return;
    try {
      write();
    } catch (error) {
      this.problem = describeFailure(error).message;
    }
  }
}
