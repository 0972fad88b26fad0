import type { Language } from "./format.ts";

type InBoth<T> = Readonly<Record<Language, T>>;

/** Puts its arguments in the places of the `{}` of a text. */
type Fill = (...parts: readonly (string | number)[]) => string;

/** A text of the page in both languages; one with `{}` is a function. */
export function text<const T extends string>(
  en: T,
  pl: string,
): InBoth<T extends `${string}{}${string}` ? Fill : string>;
export function text<T>(en: T, pl: NoInfer<T>): InBoth<T>;
export function text(en: unknown, pl: unknown): InBoth<unknown> {
  return { en: filled(en), pl: filled(pl) };
}

function filled(text: unknown): unknown {
  if (typeof text !== "string" || !text.includes("{}")) return text;
  const [start, ...rest] = text.split("{}");
  const fill: Fill = (...parts) => start + rest.map((each, nth) => `${parts[nth]}${each}`).join("");
  return fill;
}
