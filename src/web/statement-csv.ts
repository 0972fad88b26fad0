import { csvCell } from "../core/csv.ts";
import { visible } from "../core/visible.ts";
import type { EntryJson, StatementJson } from "../wire/entry-schemas.ts";
import { statementCells, statementHeadings } from "../wire/statement-csv.ts";
import { urlOf } from "./answers.ts";
import type { Api } from "./api.ts";
import { saveFile } from "./save.ts";

export interface StatementPeriod {
  /** "2026-06-01", or "" for no bound. */
  readonly from: string;
  readonly to: string;
}

const most = 1000;

/** The statement of a period with all its entries, newest first. */
export async function wholeStatement(
  api: Api,
  path: string,
  period: StatementPeriod,
  signal: AbortSignal,
): Promise<StatementJson> {
  const read = (cursor?: string) =>
    api.get<StatementJson>(urlOf(path, { limit: most, ...period, cursor }), signal);
  const first = await read();
  const entries: EntryJson[] = [...first.entries];
  for (let { next } = first; next !== null; ) {
    const page = await read(next);
    entries.push(...page.entries);
    next = page.next;
  }
  return { ...first, entries, next: null };
}

/** Saves entries as the file that `fx account history --csv` writes. */
export function saveCsv(entries: readonly EntryJson[]): void {
  const lines = [statementHeadings, ...entries.map(statementCells)].map(
    (cells) => `${cells.map((cell) => csvCell(visible(cell))).join(",")}\r\n`,
  );
  saveFile("statement.csv", "text/csv", lines.join(""));
}
