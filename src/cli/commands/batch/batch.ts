import type { Readable } from "node:stream";
import type { Command } from "commander";
import type { CommandOptions, Context } from "../../context.ts";
import { Declined, tellWarning, UsageError } from "../../errors.ts";
import { command, serviceCommand, wholeArgument } from "../../options.ts";
import { writeText } from "../../terminal/output.ts";
import { ProgressLine } from "../../terminal/progress.ts";
import { clearLine, type Screen, write } from "../../terminal/terminal.ts";
import type { Signal } from "./report.ts";

interface BatchOptions extends CommandOptions {
  readonly id?: string;
  readonly rejects?: string;
  readonly encoding?: string;
  readonly yes?: boolean;
  readonly concurrency: number;
  readonly stopOnError?: boolean;
}

export function defineBatch(program: Command, context: Context): void {
  serviceCommand(
    command(
      program,
      "batch",
      "carry out a file of orders or new accounts; in a pipe, one JSON result a line",
      [
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
      "CSV with a header (pesel,from,to,toBuy,toSell or name,surname,pesel,pln) or a JSON body a line; - is standard input",
    )
    .option(
      "--id <id>",
      "name of the batch: a line of it is never done twice (default: the hash of the file)",
      idArgument,
    )
    .option("--rejects <file>", "write the refused lines to a new file, to correct and run")
    .option("--encoding <name>", "how the file's text is stored, such as windows-1250 (default: UTF-8)")
    .option("-y, --yes", "do not ask if lines were done before")
    .option("--concurrency <number>", "requests under way at once, 1 to 1024", wholeArgument(1, 1024), 64)
    .option("--stop-on-error", "start no line after one that did not go through")
    .action((path: string, options: BatchOptions) => runBatch(context, path, options));
}

async function runBatch(context: Context, path: string, options: BatchOptions): Promise<void> {
  const { openBatch } = await import("./file.ts");
  const { stdin, stderr } = context.terminal;
  const { concurrency, stopOnError = false, json = false } = options;
  const batch = await openBatch(path, stdin as Readable, options.id, options.encoding);
  const { format } = batch;
  const service = await context.service(options, { rates: format.hasOrders, access: "create" });
  const { BatchRunner } = await import("./runner.ts");
  const { findDoneBefore } = await import("./done-before.ts");
  const { Report, tellDoneBefore } = await import("./report.ts");
  const { Rejects } = await import("./rejects.ts");
  const run = { service, today: await context.today(), concurrency };
  const progress = new ProgressLine(stderr);
  const doneBefore =
    batch.again &&
    (await findDoneBefore(run, batch.again, (found) => progress.show({ ...found, unit: "lines" })));
  progress.clear();
  tellDoneBefore(stderr, doneBefore, json);
  const isAsked = doneBefore !== undefined && context.terminal.interactive && !options.yes;
  if (isAsked && !(await context.confirm("Go on?"))) throw new Declined();
  if (format.unread.length > 0) {
    tellWarning(
      stderr,
      `These columns are not read, and come back as extra: ${format.unread.join(", ")}.`,
      json,
    );
  }
  const rejects = options.rejects === undefined ? undefined : new Rejects(options.rejects, format.header);
  const runner = new BatchRunner({ ...run, batch, stopOnError });
  let signal: Signal | undefined;
  context.stopOnSignal((name) => {
    signal = name;
    runner.stop();
    clearLine(stderr);
    writeText(stderr, "Stopping once the requests under way are answered. A second signal stops at once.");
  });
  if (batch.isRandomId) tellId(stderr, batch.id, json);
  const report = new Report(context, { batch, service, rejects, doneBefore, json });
  for await (const result of runner.results()) {
    if (!(await report.take(result))) runner.stop();
  }
  batch.close();
  context.exit = report.tellSummary(signal);
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
