import type { Readable } from "node:stream";
import type { Command } from "commander";
import type { CommandOptions, Context } from "../../context.ts";
import { describeFailure, type Exit, type Failure, Interrupted, UsageError } from "../../errors.ts";
import { command, serviceCommand, wholeArgument } from "../../options.ts";
import { accountText } from "../../terminal/figures.ts";
import { fold, type Pairs, writeRecord, writeText } from "../../terminal/output.ts";
import { duration, ProgressLine } from "../../terminal/progress.ts";
import { clearLine, type Screen, write } from "../../terminal/terminal.ts";
import type { Batch } from "./file.ts";
import type { LineResult } from "./runner.ts";

interface BatchOptions extends CommandOptions {
  readonly id?: string;
  readonly concurrency: number;
  readonly stopOnError?: boolean;
}

/** The summary of a batch, as --json prints it on stderr. */
interface Summary {
  readonly id: string;
  readonly done: number;
  readonly replayed: number;
  readonly refused: number;
  readonly failed: number;
  /** Whether every line was started. */
  readonly complete: boolean;
  readonly exit: Exit;
}

type Signal = Interrupted["signal"];

/** The batch exits with the first of these that any line had. Those that leave open whether money moved come first. */
const tellingExits: readonly Exit[] = [8, 1, 10, 7, 6, 141];
/** How many failed lines are shown on stderr. The results have them all. */
const toldFailures = 10;

export function defineBatch(program: Command, context: Context): void {
  serviceCommand(
    command(
      program,
      "batch",
      "carry out a file of orders or new accounts; in a pipe, one JSON result a line",
      [
        "fx batch orders.csv > results.ndjson",
        "fx batch accounts.ndjson --stop-on-error",
        "zcat orders.csv.gz | fx batch - --id 2026-11-21",
      ],
    ),
    { rates: true },
  )
    .argument(
      "<file>",
      "CSV with a header (pesel,from,to,toBuy,toSell or name,surname,pesel,pln) or a JSON body a line; - is standard input",
    )
    .option(
      "--id <id>",
      "name of the batch: a line of it is never done twice (default: the hash of the file)",
      idArgument,
    )
    .option("--concurrency <number>", "requests under way at once, 1 to 1024", wholeArgument(1, 1024), 64)
    .option("--stop-on-error", "start no line after one that did not go through")
    .action((path: string, options: BatchOptions) => runBatch(context, path, options));
}

async function runBatch(context: Context, path: string, options: BatchOptions): Promise<void> {
  const { openBatch } = await import("./file.ts");
  const { stdin, stderr } = context.terminal;
  const batch = await openBatch(path, stdin as Readable, options.id);
  const service = await context.service(options, { rates: batch.hasOrders, access: "create" });
  const { BatchRunner } = await import("./runner.ts");
  const { concurrency, stopOnError = false } = options;
  const today = await context.today();
  const runner = new BatchRunner({ service, batch, today, concurrency, stopOnError });
  let signal: Signal | undefined;
  context.stopOnSignal((name) => {
    signal = name;
    runner.stop();
    clearLine(stderr);
    writeText(stderr, "Stopping when what is under way is answered. A second signal stops at once.");
  });
  if (batch.isRandomId) tellId(stderr, batch.id, options.json === true);
  const report = new Report(context, batch, options.json === true);
  for await (const result of runner.results()) {
    if (!(await report.take(result))) runner.stop();
  }
  batch.close();
  context.exit = report.tellSummary(signal);
}

/** Takes the results as they come: writes them, shows progress, and counts. */
class Report {
  readonly #stdout: Screen;
  readonly #stderr: Screen;
  readonly #batch: Batch;
  readonly #json: boolean;
  /** Whether the results are for a person to follow, and the failures are shown among them. */
  readonly #isFollowed: boolean;
  readonly #progress: ProgressLine;
  readonly #start = performance.now();
  readonly #counts = { done: 0, replayed: 0, refused: 0, failed: 0, unstarted: 0 };
  readonly #exits = new Set<Exit>();
  #isRead = true;

  constructor({ terminal }: Context, batch: Batch, json: boolean) {
    this.#stdout = terminal.stdout;
    this.#stderr = terminal.stderr;
    this.#batch = batch;
    this.#json = json;
    this.#isFollowed = terminal.stdout.rich && !json;
    this.#progress = new ProgressLine(terminal.stderr);
  }

  /** Writes a result, and resolves when there is room for the next: to false if nobody reads them any more. */
  async take(result: LineResult): Promise<boolean> {
    this.#counts[result.state] += 1;
    if (result.state === "unstarted") return this.#isRead;
    if (this.#stdout.live) this.#progress.clear();
    if ("failure" in result) this.#tellFailure(result.line, result.failure);
    const text = this.#isFollowed ? this.#row(result) : documentOf(result);
    if (text !== undefined && this.#isRead) await this.#write(`${text}\n`);
    this.#progress.show({ done: result.line, total: this.#batch.lineCount, unit: "lines" });
    return this.#isRead;
  }

  async #write(text: string): Promise<void> {
    const { stream } = this.#stdout;
    const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
      stream.write(text, resolve);
    });
    if (!error) return;
    this.#isRead = false;
    this.#exits.add(error.code === "EPIPE" ? 141 : 1);
  }

  /** @returns how the command ends */
  tellSummary(signal: Signal | undefined): Exit {
    this.#progress.clear();
    const { done, replayed, refused, failed, unstarted } = this.#counts;
    // In a batch that was stopped, the lines that were not read are not counted.
    const complete = unstarted === 0 && failed === 0 && signal === undefined && this.#isRead;
    const { id } = this.#batch;
    const exit = this.#exit(complete, signal);
    const summary: Summary = { id, done, replayed, refused, failed, complete, exit };
    if (this.#json) write(this.#stderr, JSON.stringify(summary));
    else {
      writeRecord(this.#stderr, summaryPairs(summary, (performance.now() - this.#start) / 1000));
      if (!complete) writeText(this.#stderr, "The same batch again does the rest, and nothing twice.");
    }
    return exit;
  }

  #row(result: LineResult): string | undefined {
    if (!("account" in result)) return undefined;
    const account = accountText(this.#stdout, result.account);
    const before = result.state === "replayed" ? "done before: " : "";
    return fold(`line ${result.line}: ${before}${account}`, this.#stdout.columns).join("\n");
  }

  #tellFailure(line: number, { message, exit }: Failure): void {
    this.#exits.add(exit);
    const { refused, failed } = this.#counts;
    const isTold = this.#isFollowed || refused + failed <= toldFailures;
    if (this.#json || (!isTold && refused + failed > toldFailures + 1)) return;
    this.#progress.clear();
    if (isTold) writeText(this.#stderr, `line ${line}: ${message}`, this.#stderr.paint.red);
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

/** One JSON document, on one line. */
function documentOf(result: Exclude<LineResult, { state: "unstarted" }>): string {
  const { line } = result;
  return JSON.stringify(
    "failure" in result ? { line, ok: false, ...result.failure } : { line, ok: true, ...result.answer },
  );
}

function summaryPairs({ id, done, replayed, refused, failed, complete }: Summary, seconds: number): Pairs {
  const optional: Pairs = [
    ["done before", String(replayed)],
    ["refused", String(refused)],
    ["failed", String(failed)],
  ];
  return [
    ["batch", id],
    ["done", String(done)],
    ...optional.filter(([, count]) => count !== "0"),
    ["took", duration(seconds)],
    ...(complete ? [] : ([["stopped", "before the end"]] as const)),
  ];
}

function tellId(stderr: Screen, id: string, json: boolean): void {
  write(
    stderr,
    json ? JSON.stringify({ id }) : `Batch ${id}. After an interruption, --id ${id} does the rest.`,
  );
}

function idArgument(text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new UsageError("An id is 1 to 200 visible ASCII characters, without spaces.");
}
