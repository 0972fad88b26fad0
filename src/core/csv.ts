/** Separators of the cells of CSV: a comma, or in Excel the list separator of its locale, or a tab. */
export const separators = [";", "\t", ","] as const;
export type Separator = (typeof separators)[number];

/** Characters that begin a formula in a spreadsheet, also in the width of Chinese characters. */
const signs = "=+\\-@\\uff1d\\uff0b\\uff0d\\uff20";

/**
 * Finds where a spreadsheet that splits at any separator would find a formula in a cell. It heeds the quotes around the
 * cell only if it splits at the file's own.
 */
function formulas(own: Separator, mark: string): RegExp {
  const others = separators.filter((separator) => separator !== own).join("");
  return new RegExp(`^${mark}(?='*[${signs}\\t\\r\\n])|(?<=[${others}\\r\\n])${mark}(?='*[${signs}])`, "g");
}

const formulasBy = new Map(separators.map((own) => [own, formulas(own, "")]));
const marksBy = new Map(separators.map((own) => [own, formulas(own, "'")]));

/** Such as -12.50: a spreadsheet runs nothing, and with an apostrophe could not add it up. */
const figure = /^-\d+([.,]\d+)?$/;

/** A cell as RFC 4180 has it. An apostrophe stands before what a spreadsheet would run. */
export function csvCell(text: string, separator: Separator = ","): string {
  const harmless = figure.test(text) ? text : text.replace(formulasBy.get(separator) as RegExp, "'");
  const isSpecial = harmless.includes(separator) || /["\r\n]|^\s|\s$/.test(harmless);
  return isSpecial ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** The text from which `csvCell` made a cell. The cell is given without its quotes. */
export function textOfCell(cell: string, separator: Separator): string {
  return cell.includes("'") ? cell.replace(marksBy.get(separator) as RegExp, "") : cell;
}
