import { csvCell } from "../core/csv.ts";
import { visible } from "../core/visible.ts";
import type { EntryJson, StatementJson } from "../wire/entry-schemas.ts";
import { statementCells, statementHeadings } from "../wire/statement-csv.ts";
import type { Api } from "./api.ts";
import { saveFile } from "./save.ts";

export interface Period {
  /** "2026-06-01", or "" for no bound. */
  readonly from: string;
  readonly to: string;
}

const most = 1000;

/** All entries of a period, newest first. */
export async function allEntries(api: Api, pesel: string, period: Period): Promise<EntryJson[]> {
  const entries: EntryJson[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: most, ...period, cursor };
    const page: StatementJson = await api.get(`api/user/${pesel}/history`, query);
    entries.push(...page.entries);
    cursor = page.next;
  }
  return entries;
}

/** Saves the entries of a period as the file that `fx account history --csv` writes. */
export async function saveCsv(api: Api, pesel: string, period: Period): Promise<void> {
  const entries = await allEntries(api, pesel, period);
  const lines = [statementHeadings, ...entries.map(statementCells)].map(
    (cells) => `${cells.map((cell) => csvCell(visible(cell))).join(",")}\r\n`,
  );
  saveFile("statement.csv", "text/csv", lines.join(""));
}
