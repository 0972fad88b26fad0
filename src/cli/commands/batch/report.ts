import type { KeyedLine } from "../../../batch/keys.ts";
import { type Sums, sumsOf } from "../../../batch/moves.ts";
import { type DoneLine, doneText, refusedText } from "../../../batch/result.ts";
import { maskPesels } from "../../../core/mask.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { visibleLines } from "../../../core/visible.ts";
import { restOf, tellWarning } from "../../errors.ts";
import { type Exit, type Signal, signalExits } from "../../exits.ts";
import { accountLine, optional } from "../../terminal/figures.ts";
import {
  amountsText,
  moneyText,
  type Pairs,
  proseText,
  recordText,
  timeText,
  writeJson,
  writeSections,
  writeText,
} from "../../terminal/output.ts";
import { duration, ProgressLine } from "../../terminal/progress.ts";
import { type Screen, type Terminal, write } from "../../terminal/terminal.ts";
import type { Batch } from "./file.ts";
import type { Rejects } from "./rejects.ts";
import type { BatchRunner, FailedLine, LineResult } from "./runner.ts";

/** The summary of a batch, as --json prints it on stderr. */
interface Summary {
  readonly id: string;
  /** Whether the counts are those of a dry run. */
  readonly dryRun: boolean;
  readonly done: number;
  readonly replayed: number;
  readonly refused: number;
  readonly failed: number;
  /** The lines that were sent, and whose outcome is unknown. */
  readonly unknown: number;
  /** The lines in `replayed`: when the first was done and, once the batch is complete, how to do them again. */
  readonly doneBefore: object | null;
  /** The file of the refused lines. */
  readonly rejects: string | null;
  /** Whether every line was sent and decided. */
  readonly complete: boolean;
  readonly hint: string | null;
  readonly exit: Exit;
}

export interface ReportOptions {
  readonly batch: Pick<Batch, "id" | "lineCount">;
  readonly service: ExchangeService;
  readonly rejects: Rejects | undefined;
  readonly dryRun: boolean;
  readonly stopOnError: boolean;
  /** Whether this is the dry run before the question, whose results are not shown. */
  readonly isPreview: boolean;
  readonly json: boolean;
}

/** The exits of lines by priority: the batch exits with the first of these that a line had. */
const exitsByWeight: readonly Exit[] = [8, 1, 10, 7, 6, 2, 12, 141];
/** Lines of the preview before the question: some seconds' worth at a distant server. */
export const previewLines = 10_000;
/** The most failed lines to show on stderr while the results go to a file, which has them all. */
const shownFailures = 10;

/** The first line of a batch that an earlier run has done. */
interface DoneBefore {
  /** The time at which it was done, if its receipt can be read. */
  readonly time: Date | undefined;
  /** How to do such lines again. */
  readonly hint: string;
}

/** Writes the results of a batch as they come, shows progress, and sums up. */
export class Report {
  readonly #terminal: Terminal;
  readonly #options: ReportOptions;
  /** Whether a person follows the results. Failures are then shown among them. */
  readonly #isFollowed: boolean;
  readonly #progress: ProgressLine;
  readonly #start = performance.now();
  readonly #counts = { done: 0, replayed: 0, refused: 0, failed: 0, unknown: 0 };
  readonly #accounts = new Set<string>();
  readonly #sums: Sums = new Map();
  /** Refused lines whose keys were used before. Under a new key they could do again what was done. */
  #reusedKeys = 0;
  /** Lines of unknown outcome that were sent before with another token. Each run is answered so. */
  #ofAnotherToken = 0;
  readonly #exits = new Set<Exit>();
  #doneBefore: DoneBefore | undefined;
  /** Whether a line was done whose key is made of the batch's id. */
  #isIdNeeded = false;
  #isOutputOpen = true;

  constructor(terminal: Terminal, options: ReportOptions) {
    this.#terminal = terminal;
    this.#options = options;
    this.#isFollowed = terminal.stdout.rich && !options.json && !options.isPreview;
    this.#progress = new ProgressLine(terminal.stderr);
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
    sumsOf(results, this.#sums);
    const last = results.at(-1);
    if (last !== undefined) {
      this.#progress.show({ done: last.line.number, total: batch.lineCount, unit: "lines" });
    }
    return this.#isOutputOpen && rejects?.problem === undefined;
  }

  /** Writes the summary, which --quiet leaves out if all lines were done now. Returns the exit of the command. */
  finish(
    { isStopped, isTableReplaced }: Pick<BatchRunner, "isStopped" | "isTableReplaced">,
    signal?: Signal,
  ): Exit {
    this.#progress.clear();
    const { batch, rejects, dryRun, json } = this.#options;
    rejects?.close();
    const problem = rejects?.problem;
    if (problem !== undefined) {
      this.#exits.add(12);
      tellWarning(this.#terminal, problem, json);
    }
    const { done, replayed, refused, failed, unknown } = this.#counts;
    // The lines that were not sent are not counted.
    const isCut = isStopped || !this.#isOutputOpen || problem !== undefined;
    const complete = !isCut && failed + unknown === this.#ofAnotherToken;
    if (complete && done + replayed + refused + unknown === 0)
      tellWarning(this.#terminal, "The file has no lines.", json);
    const hints = this.#hints(complete, isTableReplaced);
    const before = replayed === 0 ? undefined : this.#doneBefore;
    const first = before?.time?.toISOString() ?? null;
    // Under a new id, an incomplete batch would do twice what was done.
    const again = complete && this.#ofAnotherToken === 0 ? (before?.hint ?? null) : null;
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
    const screen = summary.exit === 0 && replayed === 0 ? this.#terminal.stderr : this.#terminal.errors;
    if (json) writeJson(screen, summary);
    else {
      const shownHints = again === null ? hints : [again, ...hints];
      const text = [
        recordText(screen, this.#summaryPairs(summary, before?.time, isCut)),
        ...shownHints.map((hint) => proseText(screen, hint)),
      ].join("");
      writeSections(screen, text, dryRun ? this.#sumsText(screen) : "");
    }
    return summary.exit;
  }

  async #write(text: string): Promise<void> {
    if (text === "" || !this.#isOutputOpen || this.#options.isPreview) return;
    const { stream, live } = this.#terminal.stdout;
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
    if (result.state === "done") this.#accounts.add(result.account.pesel);
    // In a dry run, the second of two equal lines repeats one that has no receipt.
    else if (result.receiptId !== "") this.#doneBefore ??= await this.#findDoneBefore(result);
  }

  async #findDoneBefore({ line, receiptId }: DoneLine): Promise<DoneBefore> {
    const hint = line.hasOwnKey
      ? "To do a line again, give it a new key."
      : "To do the whole batch again, run it with --id NEW (any new name).";
    // The line is done even if its receipt cannot be read now.
    const receipt = await this.#options.service.receipt(receiptId).catch(() => undefined);
    return { time: receipt?.time, hint };
  }

  #takeFailure({ line, state, failure: { code, message, exit } }: FailedLine): void {
    const { rejects, json } = this.#options;
    const { stderr } = this.#terminal;
    this.#exits.add(exit);
    if (code === "idempotency-key-reused") {
      if (state === "unknown") this.#ofAnotherToken += 1;
      else this.#reusedKeys += 1;
    } else if (state === "refused") rejects?.add(line.forRejects(code));
    const { refused, failed, unknown } = this.#counts;
    const failures = refused + failed + unknown;
    if (json || (!this.#isFollowed && failures > shownFailures + 1)) return;
    this.#progress.clear();
    if (this.#isFollowed || failures <= shownFailures) {
      writeText(stderr, `${lineName(line)}: ${message}`, stderr.paint.red);
    } else write(stderr, "Further lines failed or were refused.");
  }

  #row({ line, state, sold, bought, account }: DoneLine): string {
    const { stdout } = this.#terminal;
    const before = state === "replayed" ? "done before: " : "";
    const exchanged =
      sold && bought ? `sold ${moneyText(stdout, sold)}, bought ${moneyText(stdout, bought)}; ` : "";
    return proseText(stdout, `${lineName(line)}: ${before}${exchanged}${accountLine(stdout, account)}`);
  }

  #summaryPairs(
    { id, dryRun, done, replayed, refused, failed, unknown, rejects }: Summary,
    first: Date | undefined,
    isCut: boolean,
  ): Pairs {
    const seconds = (performance.now() - this.#start) / 1000;
    const lines = done + replayed + refused + failed + unknown;
    const isPart = this.#options.isPreview && lines === previewLines;
    const counted = (name: string, count: number) => optional(name, count > 0 ? String(count) : undefined);
    return [
      ["batch", id],
      ...optional("dry run", dryRun ? "nothing was done" : undefined),
      ...optional("preview of", isPart ? `the first ${previewLines} lines` : undefined),
      [dryRun ? "would be done" : "done", String(done)],
      ...counted("done before", replayed),
      ...counted(dryRun ? "would be refused" : "refused", refused),
      ...counted("failed", failed),
      ...counted("outcome unknown", unknown),
      ...optional("accounts", dryRun ? String(this.#accounts.size) : undefined),
      ...optional("first done", first && timeText(this.#terminal.stderr, first)),
      ...optional("rejects", rejects ?? undefined),
      ["took", duration(seconds)],
      ...optional("stopped", isCut ? "before the end" : undefined),
    ];
  }

  #sumsText(screen: Screen): string {
    const rows = [...this.#sums].map(([currency, { out, into }]) => {
      return [currency, out || undefined, into || undefined] as const;
    });
    return amountsText(screen, ["", "Out", "In"], rows);
  }

  #hints(complete: boolean, isTableReplaced: boolean): string[] {
    const { batch, rejects, dryRun, stopOnError } = this.#options;
    const { refused } = this.#counts;
    const again = `run it again with --id ${batch.id}`;
    const hints: string[] = [];
    if (this.#ofAnotherToken > 0) {
      hints.push(
        `Lines were sent before with another token. To see which were done, ${again} and that token, ` +
          "or look each up with fx receipt --pesel PESEL --key KEY.",
      );
    }
    if (dryRun && refused > 0)
      hints.push("Correct or remove the lines that would be refused, and try again.");
    if (dryRun) return hints;
    if (isTableReplaced) hints.push("The rates have changed since the preview.");
    if (!complete) hints.push(restOf(batch.id));
    if (!complete && stopOnError) {
      hints.push("If it stops at the same line again, correct that line, or leave --stop-on-error out.");
    }
    if (refused === this.#reusedKeys) return hints;
    hints.push(
      rejects !== undefined && rejects.problem === undefined
        ? `The refused lines are in ${rejects.path}, under new keys. Correct that file and run it. ` +
            "Do not run this batch again after 30 days: it would do these lines a second time."
        : `To get the refused lines as a file to correct, ${again} --rejects FILE.`,
    );
    if (this.#isIdNeeded) {
      hints.push(
        `Or correct the batch itself and ${again}. Without that id, its other lines would be done twice.`,
      );
    }
    return hints;
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
function lineName({ number, pesel }: KeyedLine): string {
  return pesel !== null && /^\d{11}$/.test(pesel) ? `line ${number}, ${maskPesels(pesel)}` : `line ${number}`;
}
