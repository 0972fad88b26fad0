import type { Holder } from "./account.ts";

/** Letters that Unicode does not decompose into a letter and a mark, with what people type for them. */
const typed: Readonly<Record<string, string>> = {
  æ: "ae",
  ð: "d",
  đ: "d",
  ħ: "h",
  ı: "i",
  ł: "l",
  ŋ: "n",
  ø: "o",
  œ: "oe",
  ß: "ss",
  ŧ: "t",
  þ: "th",
  ς: "σ",
};
const typedLetters = new RegExp(`[${Object.keys(typed).join("")}]`, "g");

/**
 * The words that a name is found by, in lower case and without marks, each once. A hyphen ends a word, as in
 * "Nowak-Kowalska"; apostrophes and other punctuation are left out, as in "O'Brien". Stores keep these words: another
 * rule needs another version of the schema.
 */
export function nameWords(name: string): string[] {
  const folded = name
    .normalize("NFD")
    .toLowerCase()
    .replace(/[\s\p{Pd}]+/gu, " ")
    .replace(/[^ \p{L}\p{N}\p{So}]/gu, "")
    .replace(typedLetters, (letter) => typed[letter] ?? letter);
  return [...new Set(folded.split(" ").filter((word) => word !== ""))];
}

/** The words of both names. */
export function holderWords({ name, surname }: Holder): string[] {
  return nameWords(`${name} ${surname}`);
}
