import { parseDecimal } from "../core/decimal.ts";
import { exactNumber } from "../core/money.ts";
import { invalidField } from "./line.ts";

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

/**
 * Reads the amount in a cell, as people write it.
 * @param isPointed whether a point before three digits is surely a decimal one
 * @returns the JSON number that says exactly what is written
 * @throws FxError invalid-request, also if there is no such number
 */
export function readAmount(field: string, cell: string, isPointed: boolean): number {
  const text = readWritten(cell, isPointed);
  if (text === undefined) throw invalidField(field, whatIsWrong(cell));
  if (text === "ambiguous") {
    throw invalidField(
      field,
      "may be in thousands or have three decimals; write 1234 or 1,23 instead of 1,234 or 1.234",
    );
  }
  // A double holds any 15 digits.
  if (text.length <= 15) return Number(text);
  const amount = parseDecimal(text);
  if (amount === undefined) throw invalidField(field, "must be a number");
  return exactNumber(amount);
}

function whatIsWrong(cell: string): string {
  if (/^[+-]?[\d.,]+e[+-]?\d+$/i.test(cell)) {
    return "was shortened by a spreadsheet; format its column as a number with 2 decimals and save the file again";
  }
  if (/\d/.test(cell) && /\p{L}|\p{Sc}/u.test(cell)) return "must be a number alone, without a currency";
  if (/^[\d.,\s]+$/.test(cell)) return "must be written like 1234.50, 1234,50 or 1 234,50";
  return "must be a number";
}
