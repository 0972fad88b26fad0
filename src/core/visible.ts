import { unfitForNames } from "./account.ts";

const hidden = new RegExp(`[${unfitForNames}]`, "gu");
const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Text from elsewhere for a reader: what would move a cursor, colour a terminal, turn the direction of text or be
 * invisible stands there as an escape, such as \u001b. In JSON the escapes mean the same characters.
 */
export function visible(text: string): string {
  return text.replace(hidden, escaped);
}

/** The same for text of several lines: tabs and the ends of lines stay. */
export function visibleLines(text: string): string {
  return text.replace(hidden, (found) => (short[found] === undefined ? escaped(found) : found));
}

function escaped(text: string): string {
  const units = text.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return short[text] ?? units.join("");
}
