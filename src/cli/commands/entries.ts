import { housePlaceOf } from "../../core/house.ts";
import type { Receipt } from "../../core/journal.ts";
import { maskPesels } from "../../core/mask.ts";
import type { PageRequest } from "../../core/service.ts";
import { visibleLines } from "../../core/visible.ts";
import { type FxCommand, receiptArgument, receiptDescription } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { entryColumns } from "../terminal/figures.ts";
import { tableText } from "../terminal/output.ts";
import { readPages, writeEach } from "../terminal/pages.ts";
import { write } from "../terminal/terminal.ts";

interface EntriesOptions extends CommandOptions {
  readonly after?: string;
  readonly follow?: boolean;
  readonly limit?: number;
}

export function defineEntries(program: FxCommand, context: Context): void {
  program
    .add("entries", "List all entries in commit order", [
      "fx entries --limit 20",
      "fx entries --follow",
      "fx entries --after 019e9a70-3c5e-7000-8000-5d1f0c2b7a11 --follow --json",
    ])
    .target({ json: false })
    .json("print newline-delimited JSON: one entry a line")
    .option("--after <id>", `only entries after this one: ${receiptDescription}`, receiptArgument)
    .option("--follow", "go on with each new entry as it comes, until Ctrl-C")
    .limit("entries")
    .action(async ({ follow = false, limit, json, ...options }: EntriesOptions) => {
      const { stdout, stderr } = context.terminal;
      // Opened to read, SQLite takes a file without a log as immutable: a follower would miss later entries.
      const service = await context.service({ access: follow ? "write" : "read" });
      const after = options.after === undefined ? undefined : (await service.receipt(options.after)).id;
      const read = async ({ limit, cursor = after }: PageRequest) => {
        const { items, next } = await service.entries({ after: cursor, limit });
        // A page that is not full may end before a damaged entry.
        return { items, next: items.length === 0 ? undefined : next };
      };
      const chunks = follow ? atMost(limit, service.follow({ after })) : readPages(read, limit);
      const { entry } = await import("../../wire/entries.ts");
      let count = 0;
      async function* texts() {
        for await (const receipts of chunks) {
          const lines = receipts.map((receipt) => `${JSON.stringify(entry.encode(receipt))}\n`);
          const isFirst = count === 0;
          // Nothing after the last yield runs if the output's reader stops.
          count += receipts.length;
          yield json ? visibleLines(lines.join("")) : tableText(stdout, columns, receipts, isFirst);
        }
      }
      await writeEach(stdout, texts());
      if (count === 0 && !json)
        write(stderr, after === undefined ? "There are no entries." : "There are no later entries.");
    });
}

async function* atMost(
  limit = Number.POSITIVE_INFINITY,
  chunks: AsyncIterable<readonly Receipt[]>,
): AsyncGenerator<readonly Receipt[]> {
  let left = limit;
  for await (const receipts of chunks) {
    yield receipts.slice(0, left);
    left -= receipts.length;
    if (left <= 0) return;
  }
}

/** Least widths of the columns, so that later rows fit below: enough for most entries. */
const leastWidths = [11, 2, 19, 10, 14, 14];
const columns = [{ title: "Account", cell: accountOf }, ...entryColumns].map((column, index) => ({
  ...column,
  least: leastWidths[index] ?? 0,
}));

function accountOf({ pesel }: Receipt): string {
  const place = housePlaceOf(pesel);
  return place === undefined ? maskPesels(pesel) : `house ${place}`;
}
