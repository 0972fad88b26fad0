import type { Readable } from "node:stream";
import { Option } from "commander";
import { type CalendarDate, warsawDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import type { ExchangeService } from "../../../core/service.ts";
import type { FxCommand } from "../../command.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { Declined, tellWarning, UsageError } from "../../errors.ts";
import type { Signal } from "../../exits.ts";
import { withoutSecrets } from "../../target.ts";
import { writeRecord, writeText } from "../../terminal/output.ts";
import { clearLine, write } from "../../terminal/terminal.ts";
import type { Batch } from "./file.ts";

interface BatchOptions extends CommandOptions {
  readonly id?: string;
  readonly rejects?: string;
  readonly encoding?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly stopOnError?: boolean;
}

export function defineBatch(program: FxCommand, context: Context): void {
  program
    .add("batch", "Carry out a file of orders, new accounts, deposits and withdrawals", [
      "fx batch orders.csv --dry-run",
      "fx batch orders.csv > results.ndjson",
      "fx batch orders.csv --rejects rejects.csv > results.ndjson",
      "fx batch accounts.csv --encoding windows-1250",
      "fx batch accounts.ndjson --stop-on-error",
      "zcat orders.csv.gz | fx batch - --id 2026-11-21",
    ])
    .target({ rates: true, json: false })
    .json("print one JSON object a line, also at a terminal, and the summary as JSON on stderr")
    .argument(
      "<file>",
      "CSV with a header (pesel,from,to,toBuy,toSell; name,surname,pesel,pln; or kind,pesel,amount,currency,note), " +
        "or one JSON object a line; - is standard input",
    )
    .option(
      "--id <id>",
      "batch id: no line is done twice under one id (default: made of what the lines ask for)",
      idArgument,
    )
    .addOption(
      // A line that a dry run refuses can still be done under its key, and would be done again under a new one.
      new Option(
        "--rejects <file>",
        "write refused lines under new keys to this new file, to correct and run; after 30 days, this batch would do them again",
      ).conflicts("dryRun"),
    )
    .option("--encoding <name>", "text encoding of the file, such as windows-1250 (default: UTF-8)")
    .addOption(
      // A dry run at a server is one request: none of its lines can wait for the answer to the one before.
      new Option(
        "--stop-on-error",
        "stop at the first line that fails; slower, because lines go one by one",
      ).conflicts("dryRun"),
    )
    .consent("show what each line would do, and change nothing")
    .action((path: string, options: BatchOptions) => runBatch(context, path, options));
}

async function runBatch(context: Context, path: string, options: BatchOptions): Promise<void> {
  context.beginChange();
  const { openBatch } = await import("./file.ts");
  const { stdin, stderr, errors } = context.terminal;
  const { dryRun = false, yes = false, json = false } = options;
  const isAsked = !dryRun && context.questions.asksFirst(yes);
  if (isAsked && path === "-") {
    throw new UsageError(
      "Standard input has the lines, so it cannot have the answer to the question, too. Write the lines to a file, or give --yes.",
    );
  }
  const batch = await openBatch(path, stdin as Readable, options.id, options.encoding);
  const access = dryRun ? "read" : "create";
  const service = await context.service({ access, usesRates: batch.format.needsRates });
  const today = warsawDate(new Date());
  const { header, holds, unread } = batch.format;
  if (isAsked) {
    writeRecord(stderr, [
      ["file", path],
      ["lines", String(header === undefined ? batch.lineCount : batch.lineCount - 1)],
      ["contents", holds],
      ["target", withoutSecrets(options.url.address)],
    ]);
    write(stderr, "");
  }
  if (unread.length > 0) {
    const columns = unread.join(", ");
    const warning = `These columns are not used. The results have them under "extra": ${columns}.`;
    tellWarning(context.terminal, warning, json);
  }
  if (options.id === undefined) {
    const { findOverlap, tellOverlap } = await import("./overlap.ts");
    const overlap = await findOverlap(batch, service, today);
    if (overlap !== undefined) tellOverlap(errors, overlap, json);
    if (overlap !== undefined && batch.hasUnread && !isAsked && !dryRun) throw unreadLines();
  }
  const table = isAsked && batch.format.needsRates ? await tableInForce(service) : undefined;
  const prepared = { batch, service, today, table };
  if (isAsked) {
    await carryOut(context, { dryRun: true }, { ...prepared, isPreview: true });
    if (context.exit !== 0) return;
    write(stderr, "");
    if (!(await context.questions.confirm("Carry it out?"))) throw new Declined();
  }
  await carryOut(context, options, { ...prepared, isPreview: false });
}

interface Prepared {
  readonly batch: Batch;
  readonly service: ExchangeService;
  readonly today: CalendarDate;
  /** The id of the rate table of the preview. */
  readonly table: string | undefined;
  /** Whether this is the dry run before the question. */
  readonly isPreview: boolean;
}

/**
 * Sets the exit of the command, unless it is for a preview that can be carried out.
 * @throws FxError rate-changed, if the rate table is replaced during the preview
 */
async function carryOut(
  context: Context,
  {
    rejects: rejectsPath,
    stopOnError = false,
    dryRun = false,
    json = false,
  }: Pick<BatchOptions, "rejects" | "stopOnError" | "dryRun" | "json">,
  { batch, service, today, table, isPreview }: Prepared,
): Promise<void> {
  const { BatchRunner } = await import("./runner.ts");
  const { Rejects } = await import("./rejects.ts");
  const { previewLines, Report } = await import("./report.ts");
  const { stderr } = context.terminal;
  const rejects = rejectsPath === undefined ? undefined : new Rejects(rejectsPath, batch.format.header);
  const lines = isPreview ? () => firstOf(batch.lines(), previewLines) : batch.lines;
  const runner = new BatchRunner({
    service,
    batch: { id: batch.id, lines },
    today,
    dryRun,
    stopOnError,
    table,
  });
  let signal: Signal | undefined;
  if (!isPreview) {
    context.signals.stopOnFirst((name) => {
      signal = name;
      runner.stop();
      clearLine(stderr);
      writeText(stderr, "Stopping once the lines under way are answered. A second signal stops at once.");
    });
  }
  if (!dryRun) context.sending.request = { key: batch.id, state: "batch" };
  const options = { batch, service, rejects, dryRun, stopOnError, isPreview, json };
  const report = new Report(context.terminal, options);
  for await (const results of runner.results()) {
    if (!(await report.take(results))) runner.stop();
  }
  const exit = report.finish(runner, signal);
  if (isPreview && runner.isTableReplaced)
    throw new FxError("rate-changed", "The rate table was replaced during the preview. Nothing was done.");
  // Lines that would be refused do not keep the others from being done.
  if (!isPreview || runner.isStopped) context.exit = exit;
}

function* firstOf<T>(items: Iterable<T>, most: number): Generator<T> {
  let count = 0;
  for (const item of items) {
    if (count === most) return;
    count += 1;
    yield item;
  }
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

function unreadLines(): FxError {
  return new FxError(
    "invalid-request",
    "Nothing was done. Some lines cannot be read, and another batch has done most of the others.",
    {
      hint:
        "Correct the lines, or give --id: with the id of that batch, only the other lines are done; with a new id, all " +
        "lines are done again.",
    },
  );
}

function idArgument(text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new UsageError("An id is 1 to 200 visible ASCII characters, without spaces.");
}
