/** Digits, or groups of three with spaces between them, as Polish people write them; then a comma or a point. */
const form = /^([+-]?(?:\d{1,400}|\d{1,3}(?:[ \u00a0\u202f]\d{3})+))(?:([.,])(\d{1,400}))?$/;

/**
 * Reads an amount as people write it: `1234.50`, `1234,50` or `1 234,50`. Nothing that could be another number is read.
 * @param isPointed whether a point before three digits is surely a decimal one
 * @returns the number as JSON has it, such as `1234.50`; "ambiguous" for `1,234` or `1.234`; undefined if it is none
 */
export function readWritten(text: string, isPointed = false): string | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, whole = "", mark, fraction = ""] = match;
  const mayGroup = mark === "," || (mark === "." && !isPointed);
  if (mayGroup && fraction.length === 3 && /^[+-]?[1-9]\d{0,2}$/.test(whole)) return "ambiguous";
  const digits = whole.replace(/[ \u00a0\u202f]/g, "");
  return fraction === "" ? digits : `${digits}.${fraction}`;
}
