import type { Language } from "./format.ts";

/** A text of the page in both languages. */
export function text<T>(en: T, pl: NoInfer<T>): Readonly<Record<Language, T>> {
  return { en, pl };
}
