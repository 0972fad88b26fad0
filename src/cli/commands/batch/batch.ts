import type { Readable } from "node:stream";
import type { Command } from "commander";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import type { ExchangeService } from "../../../core/service.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { Declined, tellWarning, UsageError } from "../../errors.ts";
import { command, serviceCommand, wholeArgument } from "../../options.ts";
import { withoutSecrets } from "../../target.ts";
import { writeJson, writeRecord, writeText } from "../../terminal/output.ts";
import { clearLine, type Screen, write } from "../../terminal/terminal.ts";
import type { Batch } from "./file.ts";
import type { Signal } from "./report.ts";

interface BatchOptions extends CommandOptions {
  readonly id?: string;
  readonly rejects?: string;
  readonly encoding?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly concurrency?: number;
  readonly stopOnError?: boolean;
}

const unreadText =
  "Nothing was done: some lines cannot be read, and another batch has done most of the others. Correct the file, or name " +
  "the batch with --id: its earlier id does the rest, a new one does all lines again.";

const linesAtOnce = { default: 8192, toStop: 64 };

export function defineBatch(program: Command, context: Context): void {
  serviceCommand(
    command(
      program,
      "batch",
      "carry out a file of orders, new accounts, deposits and withdrawals; in a pipe, one JSON result a line",
      [
        "fx batch orders.csv --dry-run",
        "fx batch orders.csv > results.ndjson",
        "fx batch orders.csv --rejects rejects.csv > results.ndjson",
        "fx batch accounts.csv --encoding windows-1250",
        "fx batch accounts.ndjson --stop-on-error",
        "zcat orders.csv.gz | fx batch - --id 2026-11-21",
      ],
    ),
    { rates: true },
  )
    .argument(
      "<file>",
      "CSV with a header (pesel,from,to,toBuy,toSell; name,surname,pesel,pln; or kind,pesel,amount,currency,note) or JSON, an object a line; - is standard input",
    )
    .option(
      "--id <id>",
      "name of the batch: a line of it is never done twice (default: made of what its lines ask for)",
      idArgument,
    )
    .option("--rejects <file>", "write the refused lines to a new file, to correct and run")
    .option("--encoding <name>", "how the file's text is stored, such as windows-1250 (default: UTF-8)")
    .option("--dry-run", "only tell what each line would do now, move nothing")
    .option("-y, --yes", "do not ask; required at a terminal if stdin or stderr is redirected")
    .option(
      "--concurrency <number>",
      `lines under way at once, 1 to 16384 (default: ${linesAtOnce.default}, with --stop-on-error ${linesAtOnce.toStop})`,
      wholeArgument(1, 16_384),
    )
    .option("--stop-on-error", "start no line after one that did not go through, but finish those under way")
    .action((path: string, options: BatchOptions) => runBatch(context, path, options));
}

async function runBatch(context: Context, path: string, options: BatchOptions): Promise<void> {
  const { openBatch } = await import("./file.ts");
  const { stdin, stderr } = context.terminal;
  const { stopOnError = false, dryRun = false, yes = false, json = false } = options;
  const isAsked = !dryRun && context.asksFirst(yes);
  const batch = await openBatch(path, stdin as Readable, options.id, options.encoding);
  if (isAsked && batch.again === undefined) {
    batch.close();
    throw new UsageError(
      "A pipe can be read once only, so the sums cannot be shown before the question. Write it to a file, or give --yes.",
    );
  }
  const { format } = batch;
  const needs = { rates: format.needsRates, access: dryRun ? "read" : "create" } as const;
  const service = await context.service(options, needs);
  const { BatchRunner } = await import("./runner.ts");
  const { findDoneBefore, firstLines } = await import("./done-before.ts");
  const { Report, tellDoneBefore, tellLikeness } = await import("./report.ts");
  const { Rejects } = await import("./rejects.ts");
  const today = await context.today();
  const first = batch.again && (await firstLines(batch.again, today));
  const doneBefore = first === undefined || dryRun ? undefined : await findDoneBefore(service, first);
  if (isAsked) tellPlan(context, path, batch, options);
  tellDoneBefore(stderr, doneBefore, { json });
  if (first !== undefined && doneBefore === undefined) {
    const { findLikeness } = await import("./likeness.ts");
    const likeness = await findLikeness(first.lines, service);
    tellLikeness(stderr, likeness, json);
    if (likeness !== undefined && batch.hasUnread && !isAsked && !dryRun)
      throw new FxError("invalid-request", unreadText);
  }
  const table = isAsked ? await showOutlook(context, service, batch, today) : undefined;
  if (isAsked && !(await context.confirm("Carry it out?"))) throw new Declined();
  if (format.unread.length > 0) {
    tellWarning(
      stderr,
      `These columns are not read, and come back as extra: ${format.unread.join(", ")}.`,
      json,
    );
  }
  const rejects = options.rejects === undefined ? undefined : new Rejects(options.rejects, format.header);
  const runner = new BatchRunner({
    service: dryRun ? { bulk: service.dryRun.bind(service) } : service,
    batch,
    today,
    concurrency: options.concurrency ?? (stopOnError ? linesAtOnce.toStop : linesAtOnce.default),
    stopOnError,
    table,
  });
  let signal: Signal | undefined;
  context.stopOnSignal((name) => {
    signal = name;
    runner.stop();
    clearLine(stderr);
    writeText(stderr, "Stopping once the lines under way are answered. A second signal stops at once.");
  });
  if (batch.isRandomId && !dryRun) tellId(stderr, batch.id, json);
  const report = new Report(context, { batch, service, rejects, doneBefore, dryRun, json });
  for await (const results of runner.results()) {
    if (!(await report.take(results))) runner.stop();
  }
  batch.close();
  context.exit = report.tellSummary(runner, signal);
}

/**
 * Shows what a dry run comes to.
 * @returns the id of the rate table that it rests on
 */
async function showOutlook(
  { terminal }: Context,
  service: ExchangeService,
  batch: Batch,
  today: CalendarDate,
): Promise<string | undefined> {
  if (batch.again === undefined) return undefined;
  const { tellOutlook } = await import("./outlook.ts");
  const trial = { bulk: service.dryRun.bind(service) };
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const table = batch.format.needsRates ? await tableInForce(service) : undefined;
    const run = { service: trial, batch: await batch.again(), today, table };
    if (await tellOutlook(terminal.stderr, run)) return table;
  }
  throw new FxError("rate-changed", "The rate table changes while the lines are tried. Nothing was done.");
}

/** The id of the rate table that orders settle at, or a name that no table has: none may come after the question. */
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

/** Tells what is about to be carried out, and where. */
function tellPlan(
  context: Context,
  path: string,
  { id, lineCount, format }: Batch,
  options: BatchOptions,
): void {
  const { stderr } = context.terminal;
  const { address } = context.config(options).settings.url;
  const lines = lineCount === undefined ? undefined : lineCount - (format.header === undefined ? 0 : 1);
  writeRecord(stderr, [
    ["batch", id],
    ["file", path === "-" ? "standard input" : path],
    ...(lines === undefined ? [] : ([["lines", String(lines)]] as const)),
    ["of", format.holds],
    ["place", withoutSecrets(address)],
  ]);
}

function tellId(stderr: Screen, id: string, json: boolean): void {
  if (json) writeJson(stderr, { id });
  else write(stderr, `Batch ${id}. After an interruption, --id ${id} does the rest.`);
}

function idArgument(text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new UsageError("An id is 1 to 200 visible ASCII characters, without spaces.");
}
