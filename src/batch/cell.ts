/** Spaces of any script, byte-order marks, and characters that have no width. */
export const blank = "[\\s\\u0085\\p{Cf}]";

const around = new RegExp(`^${blank}+|${blank}+$`, "gu");

/** A cell, or another value that people wrote, without what cannot be seen at its ends: in quotes or not. */
export function cleanCell(text: string): string {
  return isVisible(text.charCodeAt(0)) && isVisible(text.charCodeAt(text.length - 1))
    ? text
    : text.replace(around, "");
}

/** Whether the character is a visible one of ASCII, as nearly all are at the ends of cells. */
function isVisible(code: number): boolean {
  return code > 0x20 && code < 0x7f;
}
