import type { Separator } from "../core/csv.ts";
import { blank, cleanCell } from "./cell.ts";

/** A cell and its terminator, matched from the cell's beginning. A tab that separates cells is no space. */
function cellBefore(separator: Separator): { readonly quoted: RegExp; readonly bare: RegExp } {
  const around = `(?:(?!${separator})${blank})*`;
  const end = `(${separator}|$)`;
  return {
    quoted: new RegExp(`${around}"([^"]*(?:""[^"]*)*)"${around}${end}`, "uy"),
    bare: new RegExp(`([^"${separator}]*)${end}`, "uy"),
  };
}

const cells = { ";": cellBefore(";"), "\t": cellBefore("\t"), ",": cellBefore(",") } as const;
const openCell = new RegExp(`${blank}*"[^"]*(?:""[^"]*)*$`, "uy");

/**
 * The cells of one record of CSV, as RFC 4180 has it: "open" if it ends in a quoted cell, "stray" if a quote stands
 * where none may.
 */
export function recordIn(text: string, separator: Separator): readonly string[] | "open" | "stray" {
  const { quoted, bare } = cells[separator];
  const found: string[] = [];
  for (let at = 0; ; ) {
    quoted.lastIndex = at;
    const inQuotes = quoted.exec(text);
    bare.lastIndex = at;
    const match = inQuotes ?? bare.exec(text);
    if (match === null) {
      openCell.lastIndex = at;
      return openCell.test(text) ? "open" : "stray";
    }
    const [whole, cell = "", end] = match;
    found.push(inQuotes === null ? cleanCell(cell) : cell.replaceAll('""', '"'));
    if (end === "") return found;
    at += whole.length;
  }
}
