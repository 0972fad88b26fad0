import { csvCell } from "../core/csv.ts";
import type { EntryJson, StatementJson } from "../wire/entry-schemas.ts";
import type { Api } from "./api.ts";
import { movedBy } from "./receipt.tsx";

/** Saves the entries of a period as a file, as `fx account history --csv` writes it. */
export async function saveCsv(
  api: Api,
  pesel: string,
  period: { readonly from: string; readonly to: string },
): Promise<void> {
  const lines = ["time,kind,out,out_currency,in,in_currency,receipt"];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: 1000, ...period, cursor };
    const page: StatementJson = await api.get(`api/user/${pesel}/history`, query);
    lines.push(...page.entries.map(line));
    cursor = page.next;
  }
  const file = new Blob([`\ufeff${lines.join("\r\n")}\r\n`], { type: "text/csv" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  // Not the PESEL: names of files are kept in histories.
  link.download = "statement.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

function line(entry: EntryJson): string {
  const { out, in: into } = movedBy(entry);
  const cells = [entry.time, entry.kind, out?.amount, out?.symbol, into?.amount, into?.symbol, entry.id];
  return cells.map((cell) => csvCell(String(cell ?? ""))).join(",");
}
