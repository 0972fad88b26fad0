import { unfitForNames } from "./account.ts";

const hidden = new RegExp(`[${unfitForNames}]`, "gu");
const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Text from elsewhere for a reader: what would move a cursor, colour a terminal, turn the direction of text or be
 * invisible stands there as an escape, such as \u001b. In JSON the escapes mean the same characters.
 * @param kept characters that stay as they are
 */
export function visible(text: string, kept = ""): string {
  return text.replace(hidden, (found) => (kept.includes(found) ? found : (short[found] ?? escaped(found))));
}

function escaped(text: string): string {
  return text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
