import { FxError } from "../core/errors.ts";
import { nameWords } from "../core/names.ts";

/**
 * Counts the letters of a search that narrow it. "a an ana" has three: the shorter words are beginnings of the longest,
 * so they find the same names.
 */
export function lettersSought(words: readonly string[]): number {
  const longest = words.filter((word) => !words.some((other) => other !== word && other.startsWith(word)));
  return longest.join("").normalize("NFC").match(/\p{L}/gu)?.length ?? 0;
}

const mostWords = 20;

/**
 * Reads what accounts are looked for by: the beginnings of words of their holders' names, in any order.
 * @throws FxError invalid-request
 */
export function parseNameSought(text: string): readonly string[] {
  const words = nameWords(text);
  if (words.length > 0 && words.length <= mostWords) return words;
  const detail =
    words.length === 0 ? "must have a letter or a digit" : `must have at most ${mostWords} words`;
  throw new FxError("invalid-request", `The name ${detail}.`, { fields: [{ pointer: "/name", detail }] });
}
