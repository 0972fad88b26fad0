import type { KeyedLine } from "../../../batch/keys.ts";
import { type DoneLine, doneText, refusedText } from "../../../batch/result.ts";
import { maskPesels } from "../../../core/mask.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { visible, visibleLines } from "../../../core/visible.ts";
import { restOf, tellWarning } from "../../errors.ts";
import { type Exit, type Signal, signalExits } from "../../exits.ts";
import { accountLine } from "../../terminal/figures.ts";
import {
  fold,
  moneyText,
  type Pairs,
  timeText,
  writeJson,
  writeRecord,
  writeText,
} from "../../terminal/output.ts";
import { duration, ProgressLine } from "../../terminal/progress.ts";
import { type Screen, type Terminal, write } from "../../terminal/terminal.ts";
import type { Batch } from "./file.ts";
import type { Rejects } from "./rejects.ts";
import type { BatchRunner, FailedLine, LineResult } from "./runner.ts";

/** The first line of a batch that an earlier run has done. */
export interface DoneBefore {
  /** The time at which it was done, if its receipt can be read. */
  readonly time: Date | undefined;
  /** How to do such lines again. */
  readonly hint: string;
}

export async function findDoneBefore(
  { line, receiptId }: Pick<DoneLine, "line" | "receiptId">,
  service: ExchangeService,
): Promise<DoneBefore> {
  const hint = line.hasOwnKey
    ? "To do a line again, give it a new key."
    : "To do the whole batch again, run it with --id NEW (any new name).";
  // The line is done even if its receipt cannot be read now.
  const receipt = await service.receipt(receiptId).catch(() => undefined);
  return { time: receipt?.time, hint };
}

/** The summary of a batch, as --json prints it on stderr. */
interface Summary {
  readonly id: string;
  /** Whether the counts are those of a dry run. */
  readonly dryRun: boolean;
  readonly done: number;
  readonly replayed: number;
  readonly refused: number;
  readonly failed: number;
  /** The lines in `replayed`: when the first was done and, once the batch is complete, how to do them again. */
  readonly doneBefore: object | null;
  /** The file of the refused lines. */
  readonly rejects: string | null;
  /** Whether every line was sent. */
  readonly complete: boolean;
  readonly hint: string | null;
  readonly exit: Exit;
}

export interface ReportOptions {
  readonly batch: Pick<Batch, "id" | "lineCount">;
  readonly service: ExchangeService;
  readonly rejects: Rejects | undefined;
  /** The first line that was done before, if the preview has shown it. */
  readonly doneBefore: DoneBefore | undefined;
  readonly dryRun: boolean;
  readonly stopOnError: boolean;
  readonly json: boolean;
}

/** The batch exits with the first of these that any line had: an unknown outcome counts most. */
const exitsByWeight: readonly Exit[] = [8, 1, 10, 7, 6, 2, 12, 141];
/** The most failed lines to show on stderr while the results go to a file, which has them all. */
const shownFailures = 10;
/** In seconds: the summary of a batch that took longer has its lines per second. */
const longSeconds = 5;

/** Writes the results of a batch as they come, shows progress, and sums up. */
export class Report {
  readonly #stdout: Screen;
  readonly #stderr: Screen;
  readonly #errors: Screen;
  readonly #options: ReportOptions;
  /** Whether a person follows the results. Failures are then shown among them. */
  readonly #isFollowed: boolean;
  readonly #progress: ProgressLine;
  readonly #start = performance.now();
  readonly #counts = { done: 0, replayed: 0, refused: 0, failed: 0 };
  /** Refused lines whose keys were used before. Under a new key they could do again what was done. */
  #reusedKeys = 0;
  readonly #exits = new Set<Exit>();
  #doneBefore: DoneBefore | undefined;
  /** Whether a line was done whose key is made of the batch's id. */
  #isIdNeeded = false;
  #isOutputOpen = true;

  constructor(
    { stdout, stderr, errors }: Pick<Terminal, "stdout" | "stderr" | "errors">,
    options: ReportOptions,
  ) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#errors = errors;
    this.#options = options;
    this.#isFollowed = stdout.rich && !options.json;
    this.#progress = new ProgressLine(stderr);
    this.#doneBefore = options.doneBefore;
  }

  /** Writes results. Resolves when there is room for more, with false if they cannot be written any more. */
  async take(results: readonly LineResult[]): Promise<boolean> {
    const { batch, rejects, dryRun } = this.#options;
    let text = "";
    for (const result of results) {
      this.#counts[result.state] += 1;
      if ("failure" in result) {
        if (this.#isFollowed) {
          // At a terminal, failures on stderr stay in the order of the lines.
          await this.#write(text);
          text = "";
        } else text += refusedText(result.line, result.failure, dryRun);
        this.#takeFailure(result);
      } else {
        await this.#takeDone(result);
        text += this.#isFollowed ? this.#row(result) : doneText(result, dryRun);
      }
    }
    await this.#write(text);
    const last = results.at(-1);
    if (last !== undefined) {
      this.#progress.show({ done: last.line.number, total: batch.lineCount, unit: "lines" });
    }
    return this.#isOutputOpen && rejects?.problem === undefined;
  }

  /** Writes the summary, which --quiet leaves out if all lines were done now. Returns the exit of the command. */
  finish(
    { hasLeft, isTableReplaced }: Pick<BatchRunner, "hasLeft" | "isTableReplaced">,
    signal?: Signal,
  ): Exit {
    this.#progress.clear();
    const { batch, rejects, dryRun, json } = this.#options;
    rejects?.close();
    const problem = rejects?.problem;
    if (problem !== undefined) {
      this.#exits.add(12);
      tellWarning({ errors: this.#errors }, problem, json);
    }
    const { done, replayed, refused, failed } = this.#counts;
    // The lines that were not sent are not counted.
    const isStopped = hasLeft || failed > 0 || signal !== undefined || !this.#isOutputOpen;
    const complete = !isStopped && problem === undefined;
    if (complete && done + replayed + refused === 0)
      tellWarning({ errors: this.#errors }, "The file has no lines.", json);
    const hints = this.#hints(complete, isTableReplaced);
    const before = replayed === 0 ? undefined : this.#doneBefore;
    const first = before?.time?.toISOString() ?? null;
    // Under a new id, an incomplete batch would do twice what was done.
    const again = complete ? (before?.hint ?? null) : null;
    const summary: Summary = {
      id: batch.id,
      dryRun,
      ...this.#counts,
      doneBefore: before === undefined ? null : { lines: replayed, first, hint: again },
      rejects: refused > this.#reusedKeys && problem === undefined ? (rejects?.path ?? null) : null,
      complete,
      hint: hints.join(" ") || null,
      exit: this.#exit(complete, signal),
    };
    const screen = summary.exit === 0 && replayed === 0 ? this.#stderr : this.#errors;
    if (json) writeJson(screen, summary);
    else {
      writeRecord(screen, this.#summaryPairs(summary, before?.time));
      for (const hint of again === null ? hints : [again, ...hints]) writeText(screen, hint);
    }
    return summary.exit;
  }

  async #write(text: string): Promise<void> {
    if (text === "" || !this.#isOutputOpen) return;
    const { stream, live } = this.#stdout;
    if (live) this.#progress.clear();
    const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
      stream.write(visibleLines(text), resolve);
    });
    if (!error) return;
    this.#isOutputOpen = false;
    this.#exits.add(error.code === "EPIPE" ? 141 : 12);
  }

  async #takeDone(result: DoneLine): Promise<void> {
    this.#isIdNeeded ||= !result.line.hasOwnKey;
    if (result.state === "replayed") this.#doneBefore ??= await findDoneBefore(result, this.#options.service);
  }

  #takeFailure({ line, state, failure: { code, message, exit } }: FailedLine): void {
    const { rejects, json } = this.#options;
    this.#exits.add(exit);
    if (code === "idempotency-key-reused") this.#reusedKeys += 1;
    else if (state === "refused") rejects?.add(line.forRejects(code));
    const failures = this.#counts.refused + this.#counts.failed;
    if (json || (!this.#isFollowed && failures > shownFailures + 1)) return;
    this.#progress.clear();
    if (this.#isFollowed || failures <= shownFailures) {
      writeText(this.#stderr, `${lineName(line)}: ${message}`, this.#stderr.paint.red);
    } else write(this.#stderr, "More lines did not go through. The results have them all.");
  }

  #row({ line, state, sold, bought, account }: DoneLine): string {
    const before = state === "replayed" ? "done before: " : "";
    const exchanged =
      sold && bought
        ? `sold ${moneyText(this.#stdout, sold)}, bought ${moneyText(this.#stdout, bought)}; `
        : "";
    const text = `${lineName(line)}: ${before}${exchanged}${accountLine(this.#stdout, account)}`;
    return `${fold(visible(text), this.#stdout.columns).join("\n")}\n`;
  }

  #summaryPairs(
    { id, dryRun, done, replayed, refused, failed, rejects, complete }: Summary,
    first: Date | undefined,
  ): Pairs {
    const seconds = (performance.now() - this.#start) / 1000;
    const lines = done + replayed + refused;
    const pace = seconds < longSeconds ? "" : `, ${Math.round(lines / seconds)} lines/s`;
    const counts: Pairs = [
      ["done before", String(replayed)],
      [dryRun ? "would be refused" : "refused", String(refused)],
      ["failed", String(failed)],
    ];
    return [
      ["batch", id],
      ...(dryRun ? ([["dry run", "nothing was done"]] as const) : []),
      [dryRun ? "would be done" : "done", String(done)],
      ...counts.filter(([, count]) => count !== "0"),
      ...(first === undefined ? [] : ([["first done", timeText(this.#stderr, first)]] as const)),
      ...(rejects === null ? [] : ([["rejects", rejects]] as const)),
      ["took", duration(seconds) + pace],
      ...(complete ? [] : ([["stopped", "before the end"]] as const)),
    ];
  }

  #hints(complete: boolean, isTableReplaced: boolean): string[] {
    const { batch, rejects, dryRun, stopOnError } = this.#options;
    const { refused } = this.#counts;
    if (dryRun)
      return refused === 0 ? [] : ["Correct or remove the lines that would be refused, and try again."];
    const again = `run it again with --id ${batch.id}`;
    return [
      ...(isTableReplaced ? ["The rates have changed since the preview."] : []),
      ...(complete
        ? []
        : [restOf(batch.id, stopOnError && refused > 0 ? " and without --stop-on-error" : "")]),
      ...(this.#reusedKeys === 0
        ? []
        : [
            "fx receipt --pesel PESEL --key KEY shows what was done with a key that was used before. " +
              "The file of rejects leaves such lines out.",
          ]),
      ...(refused === this.#reusedKeys
        ? []
        : [
            rejects !== undefined && rejects.problem === undefined
              ? `The refused lines are in ${rejects.path}, under new keys. Correct that file and run it. ` +
                "Do not run this batch again after 30 days: it would do these lines a second time."
              : `To get the refused lines as a file to correct, ${again} --rejects FILE.`,
            ...(this.#isIdNeeded
              ? [
                  `Or correct the batch itself and ${again}. Without that id, its other lines would be done twice.`,
                ]
              : []),
          ]),
    ];
  }

  #exit(complete: boolean, signal: Signal | undefined): Exit {
    if (signal !== undefined) return signalExits[signal];
    const weightiest = exitsByWeight.find((exit) => this.#exits.has(exit));
    if (weightiest !== undefined) return weightiest;
    if (this.#exits.size > 0) return 3;
    return complete ? 0 : 1;
  }
}

/** A line's number and, masked, its PESEL. */
export function lineName({ number, pesel }: KeyedLine): string {
  return pesel !== null && /^\d{11}$/.test(pesel) ? `line ${number}, ${maskPesels(pesel)}` : `line ${number}`;
}
