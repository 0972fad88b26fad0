import { csvCell } from "../core/csv.ts";
import { longestPage } from "../core/service.ts";
import { visible } from "../core/visible.ts";
import type { EntryJson, StatementJson } from "../wire/entries.ts";
import { statementCells, statementHeadings } from "../wire/statement-csv.ts";
import { type Server, urlOf } from "./answers.ts";
import type { TypedPeriod } from "./period.ts";
import serverPl from "./texts/server-pl.json" with { type: "json" };
import { type Language, textsOf } from "./texts.ts";

/** The statement of a period with all its entries, newest first. */
export async function wholeStatement(
  api: Server,
  path: string,
  period: TypedPeriod,
  signal: AbortSignal,
): Promise<StatementJson> {
  const read = (cursor?: string) =>
    api.get<StatementJson>(urlOf(path, { limit: longestPage, ...period, cursor }), signal);
  const first = await read();
  const entries: EntryJson[] = [...first.entries];
  for (let { next } = first; next !== null; ) {
    const page = await read(next);
    entries.push(...page.entries);
    next = page.next;
  }
  return { ...first, entries, next: null };
}

const headingsPl: Readonly<Record<string, string>> = serverPl.csvHeadings;
/** The columns of amounts and rates. */
const decimals = ["Out", "Out balance", "In", "In balance", "Bid", "Ask"];

/**
 * The statement as a spreadsheet in this language opens it: in English the bytes of `fx account history --format csv`; in
 * Polish with Polish headings, semicolons, decimal commas and a byte-order mark, as Excel in Poland has it.
 */
export function statementCsv(entries: readonly EntryJson[], language: Language): string {
  const isPolish = language === "pl";
  const separator = isPolish ? ";" : ",";
  const line = (cells: readonly string[]) =>
    `${cells.map((cell) => csvCell(visible(cell), separator)).join(separator)}\r\n`;
  if (!isPolish) return [statementHeadings, ...entries.map(statementCells)].map(line).join("");
  const rows = entries.map((entry) =>
    statementCells(entry).map((cell, column) => {
      const heading = statementHeadings[column] ?? "";
      if (heading === "Kind") return textsOf.pl.kind[entry.kind];
      return decimals.includes(heading) ? cell.replace(".", ",") : cell;
    }),
  );
  const headings = statementHeadings.map((heading) => headingsPl[heading] ?? heading);
  return `\ufeff${[headings, ...rows].map(line).join("")}`;
}
