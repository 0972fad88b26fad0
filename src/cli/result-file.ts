import { FxError } from "../core/errors.ts";
import { NewFile } from "../files/new-file.ts";
import { reasonOf, UsageError } from "./errors.ts";

/** A result file: written as a draft, named once it is complete and fsynced, readable by its owner only. */
export class ResultFile {
  readonly #path: string;
  readonly #file: NewFile;

  /** @throws UsageError if the file exists or the path is wrong; FxError storage-unavailable if, say, the disk is full */
  constructor(path: string) {
    this.#path = path;
    this.#file = this.#attempt(() => new NewFile(path));
  }

  /** The path that it gets, without symbolic links, and the one that it has until then. */
  get paths(): Pick<NewFile, "path" | "draft"> {
    return this.#file;
  }

  write(text: string): void {
    this.#attempt(() => this.#file.write(text));
  }

  keep(): void {
    this.#attempt(() => this.#file.keep());
  }

  /** Removes a file that was not kept. */
  close(): void {
    this.#file.close();
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw notWritten(this.#path, error);
      throw new UsageError(`${this.#path} exists. Name a new file.`);
    }
  }
}

/** Error codes that mean a wrong path; undefined is a check of fx. */
const wrongPath: readonly (string | undefined)[] = [
  ...[undefined, "EACCES", "EEXIST", "EISDIR", "ELOOP", "ENAMETOOLONG"],
  ...["ENOENT", "ENOTDIR", "EPERM", "EROFS"],
];

/** A UsageError if the path is wrong: a script that retries on storage-unavailable would loop. */
export function notWritten(path: string, error: unknown): UsageError | FxError {
  const message = `${path} cannot be written (${reasonOf(error)}).`;
  if (wrongPath.includes((error as NodeJS.ErrnoException).code)) return new UsageError(message);
  return new FxError("storage-unavailable", message, { cause: error });
}
