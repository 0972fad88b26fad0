import { type Sums, sumsOf } from "../../../batch/moves.ts";
import type { DoneLine } from "../../../batch/result.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { optional } from "../../terminal/figures.ts";
import { amountsText, recordText, timeText, writeSections, writeText } from "../../terminal/output.ts";
import { type Screen, write } from "../../terminal/terminal.ts";
import type { Batch } from "./file.ts";
import { type DoneBefore, findDoneBefore, lineName } from "./report.ts";
import { BatchRunner, type FailedLine } from "./runner.ts";

/** Lines of a preview: some seconds' worth at a distant server. */
const mostLines = 10_000;
/** Lines that would not go through are shown up to this number. */
const shownFailures = 10;

/** The dry run that is shown before the question. */
export interface Preview {
  /** The id of the rate table at which it was made; undefined if the batch needs none. */
  readonly table: string | undefined;
  /** The first line that an earlier run has done. */
  readonly doneBefore: DoneBefore | undefined;
}

/**
 * Shows what a batch would do: how many lines and accounts, and the sums that leave accounts and come to them.
 * @throws FxError rate-changed, if the rate table is replaced meanwhile
 */
export async function showPreview(
  stderr: Screen,
  service: ExchangeService,
  batch: Batch,
  today: CalendarDate,
): Promise<Preview> {
  const table = batch.format.needsRates ? await tableInForce(service) : undefined;
  const trial = await tryLines(service, batch, today, table);
  const { first } = trial;
  const doneBefore = first === undefined ? undefined : await findDoneBefore(first, service);
  writeTrial(stderr, trial, doneBefore?.time);
  return { table, doneBefore };
}

interface Trial {
  readonly counts: Readonly<Record<"done" | "replayed" | "refused" | "failed", number>>;
  readonly lines: number;
  /** Whether the batch has more lines. */
  readonly hasMore: boolean;
  readonly accounts: number;
  readonly sums: Sums;
  /** The first line that was done before. */
  readonly first: DoneLine | undefined;
  /** The first lines that would not go through. */
  readonly failures: readonly FailedLine[];
}

async function tryLines(
  service: ExchangeService,
  batch: Batch,
  today: CalendarDate,
  table: string | undefined,
): Promise<Trial> {
  const runner = new BatchRunner({ service, batch, today, dryRun: true, table });
  const counts = { done: 0, replayed: 0, refused: 0, failed: 0 };
  const accounts = new Set<string>();
  const sums: Sums = new Map();
  const failures: FailedLine[] = [];
  let lines = 0;
  let first: DoneLine | undefined;
  for await (const results of runner.results()) {
    for (const result of results) {
      const { state, line } = result;
      counts[state] += 1;
      if (state === "done" && line.pesel !== null) accounts.add(line.pesel);
      if ("failure" in result && failures.length < shownFailures) failures.push(result);
      // A line that equals an earlier one of the file, with the same key, has no receipt yet.
      if (result.state === "replayed" && result.receiptId !== "") first ??= result;
    }
    sumsOf(results, sums);
    lines += results.length;
    if (lines >= mostLines) runner.stop();
  }
  if (runner.isTableReplaced) {
    throw new FxError("rate-changed", "The rate table was replaced during the preview. Nothing was done.");
  }
  return { counts, lines, hasMore: runner.hasLeft, accounts: accounts.size, sums, first, failures };
}

function writeTrial(
  screen: Screen,
  { counts, lines, hasMore, accounts, sums, failures }: Trial,
  firstDone: Date | undefined,
): void {
  for (const { line, failure } of failures) {
    writeText(screen, `${lineName(line)}: ${failure.message}`, screen.paint.red);
  }
  const counted = (name: string, count: number) => optional(name, count > 0 ? String(count) : undefined);
  const rows = [...sums].map(([currency, { out, into }]) => {
    return [currency, out || undefined, into || undefined] as const;
  });
  writeSections(
    screen,
    recordText(screen, [
      ...optional("preview of", hasMore ? `the first ${lines} lines` : undefined),
      ["would be done", String(counts.done)],
      ...counted("done before", counts.replayed),
      ...optional("first done", firstDone && timeText(screen, firstDone)),
      ...counted("would be refused", counts.refused),
      ["accounts", String(accounts)],
    ]),
    amountsText(screen, ["", "Out", "In"], rows),
  );
  if (rows.length > 0) write(screen, "");
}

/** The id of the table in force, or a name that no table has: then none may come into force after the question. */
async function tableInForce(service: ExchangeService): Promise<string> {
  const none = "none";
  try {
    const { table, notTraded } = await service.rates();
    return notTraded === undefined ? table.id : none;
  } catch (error) {
    if (error instanceof FxError && error.code === "rates-unavailable") return none;
    throw error;
  }
}
