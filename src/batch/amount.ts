import { parseDecimal } from "../core/decimal.ts";
import { exactNumber } from "../core/money.ts";
import { invalidField } from "./line.ts";
import { readWritten } from "./written-amount.ts";

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
