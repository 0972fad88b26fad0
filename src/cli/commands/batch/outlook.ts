import { type Sums, sumsOf } from "../../../batch/moves.ts";
import { amountText, writeRecord, writeTable } from "../../terminal/output.ts";
import { type Screen, write } from "../../terminal/terminal.ts";
import type { Batch } from "./file.ts";
import { type BatchRun, BatchRunner } from "./runner.ts";

/** Lines that are tried before the question: some seconds' worth at a server far away. */
const mostTried = 10_000;

/**
 * Tells, before the question, what a batch would do: how many lines and accounts, and what leaves and what comes.
 * @returns whether it was told: not if `table` is in force no more
 */
export async function tellOutlook(
  screen: Screen,
  run: Omit<BatchRun, "batch" | "concurrency"> & { readonly batch: Batch },
): Promise<boolean> {
  const runner = new BatchRunner({ ...run, concurrency: 512 });
  const counts = { done: 0, replayed: 0, refused: 0, failed: 0 };
  const accounts = new Set<string>();
  const sums: Sums = new Map();
  let tried = 0;
  for await (const results of runner.results()) {
    for (const { state, line } of results) {
      counts[state] += 1;
      if (state === "done" && line.pesel !== null) accounts.add(line.pesel);
    }
    sumsOf(results, sums);
    tried += results.length;
    if (tried >= mostTried) runner.stop();
  }
  run.batch.close();
  if (runner.isTableReplaced) return false;
  writeRecord(screen, [
    ...(runner.hasLeft ? ([["tried", `the first ${tried} lines`]] as const) : []),
    ["would be done", String(counts.done)],
    ...(counts.refused > 0 ? ([["would be refused", String(counts.refused)]] as const) : []),
    ["accounts", String(accounts.size)],
  ]);
  if (sums.size === 0) return true;
  write(screen, "");
  const columns = [{ title: "" }, { title: "Out", align: "right" }, { title: "In", align: "right" }] as const;
  const rows = [...sums].map(([currency, { out, into }]) => [
    currency,
    ...[out, into].map((minor) => (minor === 0n ? "" : amountText(screen, { currency, minor }))),
  ]);
  await writeTable(screen, columns, rows);
  write(screen, "");
  return true;
}
