import type { KeyedLine } from "../../../batch/keys.ts";
import { doneText, refusedText } from "../../../batch/result.ts";
import { maskPesels } from "../../../core/mask.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { visible, visibleLines } from "../../../core/visible.ts";
import type { Context } from "../../context.ts";
import { describeFailure, type Exit, type Failure, Interrupted, tellWarning } from "../../errors.ts";
import { accountText } from "../../terminal/figures.ts";
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
import { type Screen, write } from "../../terminal/terminal.ts";
import { type DoneBefore, firstDoneBefore } from "./done-before.ts";
import type { Batch } from "./file.ts";
import type { Likeness } from "./likeness.ts";
import type { Rejects } from "./rejects.ts";
import type { BatchRunner, LineResult } from "./runner.ts";

/** The summary of a batch, as --json prints it on stderr. */
interface Summary {
  readonly id: string;
  /** Whether the counts are of what would have been done. */
  readonly dryRun: boolean;
  readonly done: number;
  readonly replayed: number;
  readonly refused: number;
  readonly failed: number;
  /** The lines in `replayed`: when they were done, and how to do them again. */
  readonly doneBefore: object | null;
  /** The file of the refused lines. */
  readonly rejects: string | null;
  /** Whether every line was started. */
  readonly complete: boolean;
  readonly hint: string | null;
  readonly exit: Exit;
}

export type Signal = Interrupted["signal"];

export interface ReportOptions {
  readonly batch: Batch;
  readonly service: ExchangeService;
  readonly rejects: Rejects | undefined;
  /** What was found, and reported, before the batch began. */
  readonly doneBefore: DoneBefore | undefined;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** The batch exits with the first of these that any line had. Those that leave open whether money moved come first. */
const tellingExits: readonly Exit[] = [8, 1, 10, 7, 6, 2, 141];
/** How many failed lines are shown on stderr. The results have them all. */
const toldFailures = 10;
/** From so many on, the summary tells how many lines a second there were. */
const pacedSeconds = 5;

/** Takes the results as they come: writes them, shows progress, and counts. */
export class Report {
  readonly #stdout: Screen;
  readonly #stderr: Screen;
  readonly #options: ReportOptions;
  /** Whether a person follows the results. The failures are then shown among them. */
  readonly #isFollowed: boolean;
  readonly #progress: ProgressLine;
  readonly #start = performance.now();
  readonly #counts = { done: 0, replayed: 0, refused: 0, failed: 0 };
  /** Of the refused lines, those whose keys were used before: a new key could do again what was done. */
  #reused = 0;
  readonly #exits = new Set<Exit>();
  #doneBefore: DoneBefore | undefined;
  /** Whether a line was done whose key is made of the batch's id. */
  #isIdNeeded = false;
  #isRead = true;

  constructor({ terminal }: Context, options: ReportOptions) {
    this.#stdout = terminal.stdout;
    this.#stderr = terminal.stderr;
    this.#options = options;
    this.#isFollowed = terminal.stdout.rich && !options.json;
    this.#progress = new ProgressLine(terminal.stderr);
    this.#doneBefore = options.doneBefore;
  }

  /** Writes results, and resolves when there is room for more: to false if the batch is to end. */
  async take(results: readonly LineResult[]): Promise<boolean> {
    const { batch, service, rejects, dryRun, json } = this.#options;
    let text = "";
    for (const result of results) {
      this.#counts[result.state] += 1;
      if (result.state === "replayed" && this.#doneBefore === undefined) {
        this.#progress.clear();
        this.#doneBefore = await firstDoneBefore(result.line, result.receiptId, service);
        tellDoneBefore(this.#stderr, this.#doneBefore, { json, line: result.line.number });
      }
      if (!("failure" in result)) this.#isIdNeeded ||= !result.line.hasOwnKey;
      else if (this.#isFollowed) {
        // A person reads both in one place, in the order of the lines.
        await this.#write(text);
        text = "";
      }
      if ("failure" in result) this.#tellFailure(result.line, result.failure);
      if ("failure" in result && result.failure.code === "idempotency-key-reused") this.#reused += 1;
      else if (result.state === "refused") rejects?.add(result.line.withNewKey());
      text += this.#isFollowed
        ? this.#row(result)
        : "failure" in result
          ? refusedText(result.line, result.failure, dryRun)
          : doneText(result, dryRun);
    }
    await this.#write(text);
    const last = results.at(-1);
    if (last !== undefined) {
      this.#progress.show({ done: last.line.number, total: batch.lineCount, unit: "lines" });
    }
    return this.#isRead && rejects?.problem === undefined;
  }

  async #write(text: string): Promise<void> {
    if (text === "" || !this.#isRead) return;
    const { stream, live } = this.#stdout;
    if (live) this.#progress.clear();
    const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
      stream.write(visibleLines(text), resolve);
    });
    if (!error) return;
    this.#isRead = false;
    this.#exits.add(error.code === "EPIPE" ? 141 : 1);
  }

  /**
   * @param run whether lines were not started, and whether the rates that were shown were replaced
   * @returns how the command ends
   */
  tellSummary(
    { hasLeft, isTableReplaced }: Pick<BatchRunner, "hasLeft" | "isTableReplaced">,
    signal: Signal | undefined,
  ): Exit {
    this.#progress.clear();
    const { batch, rejects, dryRun, json } = this.#options;
    rejects?.close();
    if (rejects?.problem !== undefined) {
      this.#exits.add(1);
      tellWarning(this.#stderr, rejects.problem, json);
    }
    const { done, replayed, refused, failed } = this.#counts;
    // In a batch that was stopped, the lines that were not started are not counted.
    const isStopped = hasLeft || failed > 0 || signal !== undefined || !this.#isRead;
    const complete = !isStopped && rejects?.problem === undefined;
    if (complete && done + replayed + refused === 0)
      tellWarning(this.#stderr, "The file has no lines.", json);
    const hints = this.#hints(complete);
    if (isTableReplaced) hints.unshift("The rates have changed since they were shown.");
    const before = this.#doneBefore && { ...this.#doneBefore, lines: replayed, among: undefined };
    const exit = this.#exit(complete, signal);
    const summary: Summary = {
      id: batch.id,
      dryRun,
      ...this.#counts,
      doneBefore: before === undefined || replayed === 0 ? null : doneBeforeDocument(before),
      rejects: refused > this.#reused && rejects?.problem === undefined ? (rejects?.path ?? null) : null,
      complete,
      hint: hints.join(" ") || null,
      exit,
    };
    if (json) {
      writeJson(this.#stderr, summary);
      return exit;
    }
    writeRecord(this.#stderr, this.#summaryPairs(summary));
    for (const hint of [...(before !== undefined && replayed > 0 ? [before.hint] : []), ...hints]) {
      writeText(this.#stderr, hint);
    }
    return exit;
  }

  #summaryPairs({ id, dryRun, done, replayed, refused, failed, rejects, complete }: Summary): Pairs {
    const seconds = (performance.now() - this.#start) / 1000;
    const pace =
      seconds < pacedSeconds ? "" : `, ${Math.round((done + replayed + refused) / seconds)} lines/s`;
    const first = this.#doneBefore?.first;
    const optional: Pairs = [
      ["done before", String(replayed)],
      [dryRun ? "would be refused" : "refused", String(refused)],
      ["failed", String(failed)],
    ];
    return [
      ["batch", id],
      ...(dryRun ? ([["dry run", "nothing was done"]] as const) : []),
      [dryRun ? "would be done" : "done", String(done)],
      ...optional.filter(([, count]) => count !== "0"),
      ...(first === undefined || replayed === 0
        ? []
        : ([["first done", timeText(this.#stderr, first)]] as const)),
      ...(rejects === null ? [] : ([["rejects", rejects]] as const)),
      ["took", duration(seconds) + pace],
      ...(complete ? [] : ([["stopped", "before the end"]] as const)),
    ];
  }

  /** What to do next. */
  #hints(complete: boolean): string[] {
    const { batch, rejects, dryRun } = this.#options;
    const { refused } = this.#counts;
    if (dryRun)
      return refused === 0 ? [] : ["Correct or remove the lines that would be refused, and try again."];
    const again = `Run it again with --id ${batch.id}`;
    const hints = complete ? [] : [`${again} to do the rest; nothing is done twice.`];
    if (this.#reused > 0) {
      hints.push(
        "fx receipt --pesel PESEL --key KEY shows what was done with a key that was used before. " +
          "Such lines are not among the rejects.",
      );
    }
    if (refused === this.#reused) return hints;
    hints.push(
      rejects !== undefined && rejects.problem === undefined
        ? `The refused lines are in ${rejects.path}, under new keys: correct that file and run it.`
        : `${again} --rejects FILE to write the refused lines to FILE: correct that file and run it.`,
    );
    if (this.#isIdNeeded) {
      hints.push(
        `Or correct the batch itself and run it with --id ${batch.id}: without that id, the other lines would be done twice.`,
      );
    }
    return hints;
  }

  #row(result: LineResult): string {
    if ("failure" in result) return "";
    const { sold, bought, account } = result;
    const before = result.state === "replayed" ? "done before: " : "";
    const exchanged =
      sold && bought
        ? `sold ${moneyText(this.#stdout, sold)}, bought ${moneyText(this.#stdout, bought)}; `
        : "";
    const text = `${placeOf(result.line)}: ${before}${exchanged}${accountText(this.#stdout, account)}`;
    return `${fold(visible(text), this.#stdout.columns).join("\n")}\n`;
  }

  #tellFailure(line: KeyedLine, { message, exit }: Failure): void {
    this.#exits.add(exit);
    const { refused, failed } = this.#counts;
    const isTold = this.#isFollowed || refused + failed <= toldFailures;
    if (this.#options.json || (!isTold && refused + failed > toldFailures + 1)) return;
    this.#progress.clear();
    if (isTold) writeText(this.#stderr, `${placeOf(line)}: ${message}`, this.#stderr.paint.red);
    else write(this.#stderr, "More lines did not go through. The results have them all.");
  }

  #exit(complete: boolean, signal: Signal | undefined): Exit {
    if (signal !== undefined) return describeFailure(new Interrupted(signal, undefined)).exit;
    const telling = tellingExits.find((exit) => this.#exits.has(exit));
    if (telling !== undefined) return telling;
    if (this.#exits.size > 0) return 3;
    return complete ? 0 : 1;
  }
}

/** Reports lines that were done before. `line` is the number of the first, if more may follow. */
export function tellDoneBefore(
  stderr: Screen,
  doneBefore: DoneBefore | undefined,
  { json, line }: { readonly json: boolean; readonly line?: number },
): void {
  if (doneBefore === undefined) return;
  if (json) {
    writeJson(stderr, { doneBefore: doneBeforeDocument(doneBefore) });
    return;
  }
  const { lines, among, first, hint } = doneBefore;
  const of = among === undefined ? "" : ` of the first ${among}`;
  const time = first === undefined ? "" : timeText(stderr, first);
  const text =
    line !== undefined
      ? `Line ${line} was done before${time && `, at ${time}`}, and is not done again.`
      : lines === 1
        ? `1 line${of} was done before${time && `, at ${time}`}, and is not done again.`
        : `${lines} lines${of} were done before${time && `, the first at ${time}`}, and are not done again.`;
  writeText(stderr, `${text} ${hint}`);
}

/** Warns, before anything is sent, that most lines look like those of an earlier batch. */
export function tellLikeness(stderr: Screen, likeness: Likeness | undefined, json: boolean): void {
  if (likeness === undefined) return;
  const { lines, among, last } = likeness;
  if (json) {
    writeJson(stderr, { likeEarlierBatch: { lines, among, last: last.toISOString() } });
    return;
  }
  writeText(
    stderr,
    `${lines} of ${among} lines that were looked at ask for what another batch has done, at ${timeText(stderr, last)} at the latest, and would be done once ` +
      "more. If this is a corrected or a longer version of that file, run it with --id and the id of that batch, which " +
      "its summary told: then only what is new is done.",
    stderr.paint.yellow,
  );
}

function doneBeforeDocument({ lines, among, first, hint }: DoneBefore): object {
  return { lines, ...(among !== undefined && { among }), first: first?.toISOString() ?? null, hint };
}

/** Where a line is and whose it is, for people. */
function placeOf({ number, pesel }: KeyedLine): string {
  return pesel !== null && /^\d{11}$/.test(pesel) ? `line ${number}, ${maskPesels(pesel)}` : `line ${number}`;
}
