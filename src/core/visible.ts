import { unfitForNames } from "./account.ts";

const hidden = new RegExp(`[${unfitForNames}]`, "gu");
const beyondControls = "\\x7f-\\x9f\\xad\\u0300-\\uffff";
/** They find text in which something may be hidden, several times as fast: Latin letters hide nothing. */
const hintInLine = new RegExp(`[\\x00-\\x1f${beyondControls}]`);
const hintInLines = new RegExp(`[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f${beyondControls}]`);
const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Text from elsewhere for a reader: what would move a cursor, colour a terminal, turn the direction of text or be
 * invisible stands there as an escape, such as \u001b. In JSON the escapes mean the same characters.
 */
export function visible(text: string): string {
  return hintInLine.test(text) ? text.replace(hidden, escaped) : text;
}

/** The same for text of several lines: tabs and the ends of lines stay. */
export function visibleLines(text: string): string {
  if (!hintInLines.test(text)) return text;
  return text.replace(hidden, (found) => (short[found] === undefined ? escaped(found) : found));
}

function escaped(text: string): string {
  const units = text.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return short[text] ?? units.join("");
}
