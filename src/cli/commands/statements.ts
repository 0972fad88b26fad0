import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Option } from "commander";
import type { ListedAccount } from "../../core/account.ts";
import { addDays, type CalendarDate, isDate, warsawDate } from "../../core/date.ts";
import {
  type ExchangeService,
  longestPage,
  type StatementFormat,
  type StatementRequest,
  statementFormats,
} from "../../core/service.ts";
import type { FxCommand } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { notWritten, ResultFile } from "../result-file.ts";
import { writeRecord, writeText } from "../terminal/output.ts";
import { readPages } from "../terminal/pages.ts";
import { ProgressLine } from "../terminal/progress.ts";

interface Month {
  readonly from: CalendarDate;
  readonly to: CalendarDate;
}

interface StatementsOptions extends CommandOptions {
  readonly month: Month;
  readonly out: string;
  readonly format: StatementFormat;
}

export function defineStatements(program: FxCommand, context: Context): void {
  program
    .add("statements", "Write each customer's statement for a month to a file", [
      "fx statements --month 2026-10 --out october",
      "fx statements --month 2026-10 --out october-camt --format camt.053",
    ])
    .requiredOption("--month <month>", "month, in Warsaw, such as 2026-10", monthArgument)
    .requiredOption("--out <folder>", "folder for the files: a new one, or an empty one")
    .addOption(new Option("--format <format>", "file format").choices(statementFormats).default("csv"))
    .target()
    .action(async ({ month, out, format, json }: StatementsOptions) => {
      const { stdout, stderr } = context.terminal;
      const service = await context.service();
      openFolder(out);
      const isOver = month.to < warsawDate(new Date());
      if (!isOver) writeText(stderr, "This month has not ended: the statements show it up to now.");
      const progress = new ProgressLine(stderr);
      const onDone = (done: number) => progress.show({ done, total: undefined, unit: "accounts" });
      const counts = await writeStatements(service, { month, out, format, onDone }).finally(() =>
        progress.clear(),
      );
      if (json) return context.document({ folder: out, ...month, format, ...counts });
      writeRecord(stdout, [
        ["folder", out],
        ["statements", String(counts.statements)],
        ["without statement", String(counts.withoutStatement)],
        ["list of the files", join(out, listName)],
      ]);
    });
}

/** @throws UsageError unless it is a month that has begun */
function monthArgument(text: string): Month {
  const from = `${text}-01`;
  if (!isDate(from) || from > warsawDate(new Date())) {
    throw new UsageError(`"${text}" is not a month that has begun. Write one like 2026-01.`);
  }
  return { from, to: addDays(`${addDays(from, 31).slice(0, 7)}-01`, -1) };
}

/** @throws UsageError if there are files in it, or it cannot be made there; FxError storage-unavailable, as on a full disk */
function openFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (readdirSync(path).length === 0) return;
  } catch (error) {
    throw notWritten(path, error);
  }
  throw new UsageError(`${path} has files in it. Name a new folder: statements replace nothing.`);
}

/** Written last, so that a folder without it is of a run that failed. */
const listName = "list.csv";

interface Wanted extends Pick<StatementsOptions, "month" | "out" | "format"> {
  readonly onDone: (accounts: number) => void;
}

interface Counts {
  readonly statements: number;
  readonly withoutStatement: number;
}

/** Names of files have no personal data: they are numbers, and a list tells whose each file is. */
async function writeStatements(service: ExchangeService, wanted: Wanted): Promise<Counts> {
  const { out, format, month, onDone } = wanted;
  const { statementFiles } = await import("../../wire/statement-file.ts");
  const { csvLine } = await import("../../wire/statement-csv.ts");
  const list = [csvLine(["File", "PESEL", "Name", "Surname"])];
  let done = 0;
  for await (const accounts of readPages((page) => service.accounts(page))) {
    for (const account of accounts) {
      const parts = await statementOf(service, account, wanted);
      done += 1;
      onDone(done);
      if (parts === undefined) continue;
      const number = String(list.length).padStart(6, "0");
      const name = `${month.from.slice(0, 7)}-${number}.${statementFiles[format].ending}`;
      await writeFile(join(out, name), parts);
      list.push(csvLine([name, account.pesel, account.name, account.surname]));
    }
  }
  await writeFile(join(out, listName), list);
  const statements = list.length - 1;
  return { statements, withoutStatement: done - statements };
}

/** The parts of a statement; none of an account that had neither an entry nor money in the month. */
async function statementOf(
  service: ExchangeService,
  account: ListedAccount,
  { month, format }: Wanted,
): Promise<AsyncIterable<string> | undefined> {
  const { statementFile } = await import("../../wire/statement-file.ts");
  const first = await service.statement(account.pesel, { limit: longestPage, ...month });
  const isEmpty = first.items.length === 0 && !first.closing?.some(({ minor }) => minor > 0n);
  if (isEmpty) return undefined;
  const read = async (page: StatementRequest) =>
    page.cursor === undefined ? first : service.statement(account.pesel, page);
  return statementFile(format, { account, period: month, now: new Date(), read });
}

async function writeFile(path: string, parts: AsyncIterable<string> | Iterable<string>): Promise<void> {
  const file = new ResultFile(path);
  try {
    for await (const part of parts) file.write(part);
    file.keep();
  } finally {
    file.close();
  }
}
