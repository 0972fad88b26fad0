import { getSystemErrorMap } from "node:util";

/** Why the system did not do something, in its words: "no such file or directory". */
export function reasonOf(error: unknown): string {
  const { errno = 0, code, message } = error as NodeJS.ErrnoException;
  const [, words] = getSystemErrorMap().get(errno) ?? [];
  return words ?? code ?? message;
}
