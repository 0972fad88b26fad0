import { unfitForNames } from "./account.ts";

const hidden = new RegExp(`[${unfitForNames}]`, "gu");
const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Escapes control, invisible and direction-changing characters of text from elsewhere, as in \u001b. In JSON the escapes
 * mean the same characters.
 */
export function visible(text: string): string {
  return text.replace(hidden, escaped);
}

/** Escapes text of several lines: tabs and line ends stay. */
export function visibleLines(text: string): string {
  return text.replace(hidden, (found) => (short[found] === undefined ? escaped(found) : found));
}

function escaped(text: string): string {
  const units = text.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return short[text] ?? units.join("");
}
