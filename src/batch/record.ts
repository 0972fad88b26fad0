import type { Separator } from "../core/csv.ts";

/** Spaces around a cell are no part of it, unless they are in its quotes. */
const space = "[ \\t\\n\\r\\f]*";

/** A cell with what ends it, from its beginning. Of a tab, a separator is made first. */
function cellBefore(separator: Separator): { readonly quoted: RegExp; readonly bare: RegExp } {
  const around = separator === "\t" ? space.replace("\\t", "") : space;
  const end = `(${separator}|$)`;
  return {
    quoted: new RegExp(`${around}"([^"]*(?:""[^"]*)*)"${around}${end}`, "y"),
    bare: new RegExp(`([^"${separator}]*)${end}`, "y"),
  };
}

const cells = { ";": cellBefore(";"), "\t": cellBefore("\t"), ",": cellBefore(",") } as const;
const openCell = /\s*"[^"]*(?:""[^"]*)*$/y;

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
    found.push(inQuotes === null ? trimmed(cell) : cell.replaceAll('""', '"'));
    if (end === "") return found;
    at += whole.length;
  }
}

function trimmed(cell: string): string {
  return cell.replace(/^[ \t\n\r\f]+|[ \t\n\r\f]+$/g, "");
}
