import { type Command, Option } from "commander";
import { parseOpening, planOpening } from "../../core/account.ts";
import type { CalendarDate } from "../../core/date.ts";
import type { Decimal } from "../../core/decimal.ts";
import { accountAfter } from "../../core/journal.ts";
import type { Money } from "../../core/money.ts";
import type { Statement } from "../../core/service.ts";
import { parseNameSought } from "../../wire/name-sought.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import {
  amountArgument,
  command,
  dateArgument,
  peselArgument,
  replayNote,
  serviceCommand,
  wholeArgument,
  withAtOption,
  withKeyOption,
} from "../options.ts";
import {
  accountCells,
  accountColumns,
  accountPairs,
  balancesText,
  entryCells,
  entryColumns,
} from "../terminal/figures.ts";
import { writeRecord, writeText } from "../terminal/output.ts";
import { readPages, writeCsv, writePages } from "../terminal/pages.ts";
import { type Screen, write } from "../terminal/terminal.ts";
import { defineAccountChanges } from "./account/change.ts";

interface CreateOptions extends CommandOptions {
  readonly name: string;
  readonly surname: string;
  readonly pln: Decimal;
  readonly key?: string;
}

interface ShowOptions extends CommandOptions {
  readonly at?: Date;
}

interface ListOptions extends ShowOptions {
  readonly limit?: number;
}

interface AccountsOptions extends ListOptions {
  readonly name?: string;
}

interface HistoryOptions extends CommandOptions {
  readonly limit?: number;
  readonly from?: CalendarDate;
  readonly to?: CalendarDate;
  readonly csv?: boolean;
}

export function defineAccount(program: Command, context: Context): void {
  const account = program
    .command("account")
    .description("open accounts, look at them and change them")
    .addHelpText("after", "\nExamples:\n  $ fx account show 44051401359");
  const needs = { rates: false, access: "read" } as const;
  const { stdout, stderr } = context.terminal;

  withKeyOption(
    serviceCommand(
      command(account, "create", "open an account with an initial balance in PLN", [
        "fx account create 44051401359 --name Jan --surname Kowalski --pln 1000",
        "fx account create - --name Jan --surname Kowalski --pln 1000 < pesel.txt",
      ]),
      needs,
    )
      .addArgument(peselArgument())
      .requiredOption("--name <name>", "first name of the holder")
      .requiredOption("--surname <surname>", "surname of the holder")
      .requiredOption("--pln <amount>", "initial balance", amountArgument),
  ).action(async (argument: string, { key = crypto.randomUUID(), ...options }: CreateOptions) => {
    context.prepare(key);
    const { name, surname, pln: initial } = options;
    const pesel = await context.pesel(argument);
    const opening = parseOpening({ pesel, name, surname, initial, key }, await context.today());
    const service = await context.service(options, { ...needs, access: "create" });
    const { receiptId, replayed } = await context.send(key, () => service.createAccount(opening));
    // One that is opened again has the currencies from before. It is open even if its receipt cannot be read now.
    const entry = await service.receipt(receiptId).catch(() => undefined);
    const opened = entry === undefined ? planOpening(undefined, opening) : accountAfter(entry, opening);
    if (options.json) {
      const { encodeAccount } = await import("../../wire/codecs.ts");
      return context.document({ ...encodeAccount(opened), key, replayed });
    }
    if (replayed) writeText(stderr, replayNote);
    else if (entry !== undefined && entry.sequence > 1) {
      writeText(stderr, "This account was closed. It is open again, with its history.");
    }
    writeRecord(stdout, accountPairs(stdout, opened));
  });

  withAtOption(
    serviceCommand(
      command(account, "show", "show an account's balances", [
        "fx account show 44051401359",
        "fx account show 44051401359 --at 2026-06-30T23:59:59+02:00",
        "fx account show - < pesel.txt",
      ]),
      needs,
    ),
  )
    .addArgument(peselArgument())
    .action(async (argument: string, { at, ...options }: ShowOptions) => {
      const pesel = await context.pesel(argument);
      const service = await context.service(options, needs);
      const shown = await service.account(pesel, at);
      if (!options.json) return writeRecord(stdout, accountPairs(stdout, shown));
      const { encodeListedAccount } = await import("../../wire/codecs.ts");
      context.document(encodeListedAccount(shown));
    });

  listing(
    withAtOption(
      serviceCommand(
        command(account, "list", "list accounts, by PESEL", [
          "fx account list",
          "fx account list --name kowal",
          "fx account list --json | jq length",
        ]),
        needs,
      ).option(
        "--name <name>",
        "only those of this name: the first letters of surname or first name, or of both; ł is found by l",
      ),
    ),
    "accounts",
  ).action(async ({ at, ...options }: AccountsOptions) => {
    const name = options.name === undefined ? undefined : parseNameSought(options.name);
    const service = await context.service(options, needs);
    const { encodeListedAccount } = await import("../../wire/codecs.ts");
    const pages = readPages((page) => service.accounts({ ...page, name, at }), options.limit);
    const shape = { columns: accountColumns, row: accountCells, encode: encodeListedAccount };
    const count = await writePages(stdout, pages, shape, options.json === true);
    if (count === 0) {
      write(stderr, name === undefined ? "There are no accounts." : "There are no accounts of this name.");
    }
  });

  listing(
    serviceCommand(
      command(account, "history", "show an account's statement, newest first", [
        "fx account history 44051401359 --limit 20",
        "fx account history 44051401359 --from 2026-06-01 --to 2026-06-30 --csv > june.csv",
      ]),
      needs,
    ).addArgument(peselArgument()),
    "entries",
  )
    .option("--from <date>", "from the beginning of this day, in Poland", dateArgument)
    .option("--to <date>", "to the end of this day, in Poland", dateArgument)
    .addOption(new Option("--csv", "print CSV with headings, for a spreadsheet").conflicts("json"))
    .action(async (argument: string, { from, to, csv, ...options }: HistoryOptions) => {
      const isPeriod = from !== undefined || to !== undefined;
      if (isPeriod && (from ?? "") > (to ?? "~")) throw new UsageError("--to must not be before --from.");
      const pesel = await context.pesel(argument);
      const service = await context.service(options, needs);
      const ends = isPeriod && stdout.rich && !csv && !options.json;
      const pages = readPages(async (page) => {
        const statement = await service.statement(pesel, { ...page, from, to });
        if (ends) writePeriod(stdout, statement);
        return statement;
      }, options.limit);
      const { encodeEntry } = await import("../../wire/codecs.ts");
      if (csv) {
        const { statementCells, statementHeadings } = await import("../../wire/statement-csv.ts");
        return writeCsv(stdout, pages, statementHeadings, (entry) => statementCells(encodeEntry(entry)));
      }
      const shape = { columns: entryColumns, row: entryCells, encode: encodeEntry };
      const count = await writePages(stdout, pages, shape, options.json === true);
      if (count === 0) write(stderr, "There are no entries in that time.");
    });

  defineAccountChanges(account, context);
}

/** What was there before and after a period, above its entries. */
function writePeriod(screen: Screen, { opening, closing }: Statement): void {
  if (opening === undefined || closing === undefined) return;
  const text = (balances: readonly Money[]) => balancesText(screen, { balances, closed: false }) || "nothing";
  writeRecord(screen, [
    ["opening balance", text(opening)],
    ["closing balance", text(closing)],
  ]);
  write(screen, "");
}

function listing(command: Command, items: string): Command {
  return command.option(
    "--limit <number>",
    `the most ${items} to list (default: all)`,
    wholeArgument(1, 999_999_999),
  );
}
