import { type Command, Option } from "commander";
import { type Account, parseOpening, planOpening } from "../../core/account.ts";
import { type CalendarDate, warsawDate } from "../../core/date.ts";
import type { Decimal } from "../../core/decimal.ts";
import { accountAfter } from "../../core/journal.ts";
import type { Money } from "../../core/money.ts";
import type { Pesel } from "../../core/pesel.ts";
import {
  type ExchangeService,
  type PageRequest,
  type Statement,
  type StatementFormat,
  type StatementRequest,
  statementFormats,
} from "../../core/service.ts";
import { parseNameSought } from "../../wire/name-sought.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import {
  amountArgument,
  command,
  peselArgument,
  replayNote,
  serviceCommand,
  wholeArgument,
  withAtOption,
  withKeyOption,
  withPeriodOptions,
} from "../options.ts";
import { settingOption } from "../settings.ts";
import {
  accountCells,
  accountColumns,
  accountPairs,
  balancesText,
  blockPairs,
  entryCells,
  entryColumns,
} from "../terminal/figures.ts";
import { writeRecord, writeText } from "../terminal/output.ts";
import { readPages, writePages, writeParts } from "../terminal/pages.ts";
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

export interface HistoryOptions extends CommandOptions {
  readonly limit?: number;
  readonly from?: CalendarDate;
  readonly to?: CalendarDate;
  readonly format?: StatementFormat;
}

const needs = { rates: false, access: "read" } as const;

export function defineAccount(program: Command, context: Context): void {
  const account = command(program, "account", "Open, show and change accounts", [
    "fx account show 44051401359",
  ]);
  defineCreate(account, context);
  defineShow(account, context);
  defineList(account, context);
  defineHistory(account, context);
  definePersonalData(account, context);
  defineAccountChanges(account, context);
}

function defineCreate(account: Command, context: Context): void {
  withKeyOption(
    serviceCommand(
      command(account, "create", "Open an account with an initial balance in PLN", [
        "fx account create 44051401359 --name Jan --surname Kowalski --pln 1000",
        "fx account create - --name Jan --surname Kowalski --pln 1000 < pesel.txt",
      ]),
      needs,
    )
      .addArgument(peselArgument())
      .requiredOption("--name <name>", "first name of the holder")
      .requiredOption("--surname <surname>", "surname of the holder")
      .requiredOption("--pln <amount>", "initial balance in PLN", amountArgument),
  ).action(async (argument: string, { key = crypto.randomUUID(), ...options }: CreateOptions) => {
    const { stdout, stderr } = context.terminal;
    context.sending.prepare(key);
    const { name, surname, pln: initial } = options;
    const pesel = await context.questions.pesel(argument);
    const opening = parseOpening({ pesel, name, surname, initial, key }, warsawDate(new Date()));
    const service = await context.service(options, { ...needs, access: "create" });
    const recorded = await context.sending.send(key, () => service.createAccount(opening));
    const { receiptId: receipt, replayed } = recorded;
    // The account is open even if its receipt cannot be read now. One that was reopened has its earlier currencies.
    const entry = await service.receipt(receipt).catch(() => undefined);
    const opened = entry === undefined ? planOpening(undefined, opening) : accountAfter(entry);
    if (options.json) {
      const { encodeAccount } = await import("../../wire/accounts.ts");
      return context.document({ ...encodeAccount(opened), receipt, key, replayed });
    }
    if (replayed) writeText(stderr, replayNote);
    else if (entry !== undefined && entry.sequence > 1) {
      writeText(stderr, "This account was closed. It is open again, with its history.");
    }
    writeRecord(stdout, accountPairs(stdout, opened));
  });
}

function defineShow(account: Command, context: Context): void {
  withAtOption(
    serviceCommand(
      command(account, "show", "Show an account's balances", [
        "fx account show 44051401359",
        "fx account show 44051401359 --at 2026-06-30",
        "fx account show - < pesel.txt",
      ]),
      needs,
    ),
  )
    .addArgument(peselArgument())
    .action(async (argument: string, { at, ...options }: ShowOptions) => {
      const { stdout } = context.terminal;
      const pesel = await context.questions.pesel(argument);
      const service = await context.service(options, needs);
      const shown = await service.account(pesel, at);
      if (!options.json) {
        const block = shown.blocked ? await blockOf(service, pesel, at) : undefined;
        return writeRecord(stdout, [...accountPairs(stdout, shown), ...blockPairs(stdout, block)]);
      }
      const { encodeListedAccount } = await import("../../wire/accounts.ts");
      context.document(encodeListedAccount(shown));
    });
}

/** The entry that blocked an account which is blocked now, or was at `at`. */
async function blockOf(service: ExchangeService, pesel: Pesel, at: Date | undefined) {
  for await (const items of readPages((page) => service.statement(pesel, page))) {
    const block = items.find(({ kind, time }) => kind === "block" && (at === undefined || time <= at));
    if (block !== undefined) return block;
  }
  return undefined;
}

function defineList(account: Command, context: Context): void {
  listing(
    withAtOption(
      serviceCommand(
        command(account, "list", "List accounts, by PESEL", [
          "fx account list",
          "fx account list --name kowal",
          "fx account list --json | jq length",
        ]),
        needs,
      ).option(
        "--name <name>",
        "only holders whose first name or surname, or both, begin with this; l also finds ł",
      ),
    ),
    "accounts",
  ).action(async ({ at, ...options }: AccountsOptions) => {
    const { stdout, stderr } = context.terminal;
    const name = options.name === undefined ? undefined : parseNameSought(options.name);
    const service = await context.service(options, needs);
    const { encodeListedAccount } = await import("../../wire/accounts.ts");
    const pages = readPages((page) => service.accounts({ ...page, name, at }), options.limit);
    const shape = { columns: accountColumns, row: accountCells, encode: encodeListedAccount };
    const count = await writePages(stdout, pages, shape, options.json === true);
    if (count === 0) {
      write(stderr, name === undefined ? "There are no accounts." : "There are no accounts of this name.");
    }
  });
}

function defineHistory(account: Command, context: Context): void {
  withStatementOptions(
    serviceCommand(
      command(account, "history", "Show an account's statement, newest entry first", [
        "fx account history 44051401359 --limit 20",
        "fx account history 44051401359 --from 2026-06-01 --to 2026-06-30 --format csv > june.csv",
        "fx account history 44051401359 --from 2026-06-01 --to 2026-06-30 --format camt.053 > june.xml",
      ]),
      needs,
    ).addArgument(peselArgument()),
    statementFormats,
  ).action(async (argument: string, options: HistoryOptions) => {
    requirePeriod(options);
    const pesel = await context.questions.pesel(argument);
    const service = await context.service(options, needs);
    await showStatement(context, options, service, { pesel, account: () => service.account(pesel) });
  });
}

/** The options of the commands that show a statement. */
export function withStatementOptions(command: Command, formats: readonly StatementFormat[]): Command {
  const description = "print a file: csv for a spreadsheet, or ISO 20022's camt.053";
  const format = new Option("--format <format>", description).choices(formats).conflicts(["json", "limit"]);
  return withPeriodOptions(listing(command, "entries")).addOption(format);
}

/** @throws UsageError */
export function requirePeriod({ from, to }: HistoryOptions): void {
  if (from === undefined || to === undefined || from <= to) return;
  throw new UsageError("--to must not be before --from.");
}

export async function showStatement(
  context: Context,
  { format, ...options }: HistoryOptions,
  service: ExchangeService,
  { pesel, account }: { readonly pesel: Pesel; readonly account: () => Promise<Account> },
): Promise<void> {
  const { from, to } = options;
  const read = (page: StatementRequest) => service.statement(pesel, page);
  if (format === undefined) {
    return writeStatement(context, options, (page) => read({ ...page, from, to }));
  }
  const { statementFile } = await import("../../wire/statement-file.ts");
  const source = { account: await account(), period: { from, to }, now: new Date(), read };
  await writeParts(context.terminal.stdout, statementFile(format, source));
}

function definePersonalData(account: Command, context: Context): void {
  command(account, "export", "Print everything that fx holds about one person, as one JSON document", [
    "fx account export 44051401359 > person.json",
    "fx account export - < pesel.txt | jq .refusals",
  ])
    .addArgument(peselArgument())
    .addOption(settingOption("url"))
    .addOption(settingOption("allowPlainHttp"))
    .action(async (argument: string, options: CommandOptions) => {
      const pesel = await context.questions.pesel(argument);
      const service = await context.service(options, needs);
      const { personalData } = await import("../../wire/personal-data.ts");
      context.document(personalData.encode(await service.personalData(pesel)));
    });
}

async function writeStatement(
  { terminal: { stdout, stderr } }: Context,
  { from, to, limit, json = false }: HistoryOptions,
  read: (page: PageRequest) => Promise<Statement>,
): Promise<void> {
  const { entry, statement: shape } = await import("../../wire/entries.ts");
  const encode = (receipt: Statement["items"][number]) => entry.encode(receipt);
  const writeHead = (statement: Statement) => {
    if (json) {
      const { opening, closing } = shape.encode({ ...statement, items: [] });
      stdout.stream.write(`${JSON.stringify({ opening, closing }).slice(0, -1)},"entries":`);
    } else if (stdout.rich && (from ?? to) !== undefined) writePeriod(stdout, statement);
  };
  let isFirst = true;
  const pages = readPages(async (page) => {
    const statement = await read(page);
    if (isFirst) writeHead(statement);
    isFirst = false;
    return statement;
  }, limit);
  const table = { columns: entryColumns, row: entryCells, encode };
  const count = await writePages(stdout, pages, table, json);
  if (json) write(stdout, "}");
  if (count === 0) write(stderr, "There are no entries in that time.");
}

/** The balances before and after a period, above its entries. */
function writePeriod(screen: Screen, { opening = [], closing = [] }: Statement): void {
  const text = (balances: readonly Money[]) =>
    balancesText(screen, { balances, closed: false, blocked: false }) || "nothing";
  writeRecord(screen, [
    ["opening balance", text(opening)],
    ["closing balance", text(closing)],
  ]);
  write(screen, "");
}

function listing(command: Command, items: string): Command {
  return command.option(
    "--limit <number>",
    `maximum number of ${items} (default: all)`,
    wholeArgument(1, 999_999_999),
  );
}
