import { Option } from "commander";
import { parseOpening, planOpening } from "../../core/account.ts";
import { type CalendarDate, warsawDate } from "../../core/date.ts";
import type { Decimal } from "../../core/decimal.ts";
import { accountAfter, type Receipt } from "../../core/journal.ts";
import type { Money } from "../../core/money.ts";
import type { Pesel } from "../../core/pesel.ts";
import {
  type ExchangeService,
  type Statement,
  type StatementFormat,
  type StatementRequest,
  statementFormats,
} from "../../core/service.ts";
import { parseNameSought } from "../../wire/name-sought.ts";
import { amountArgument, type FxCommand, replayNote } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { accountColumns, accountPairs, balancesText, blockPairs, entryColumns } from "../terminal/figures.ts";
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

export interface AtOptions extends CommandOptions {
  readonly at?: Date;
}

interface ListOptions extends AtOptions {
  readonly limit?: number;
  readonly name?: readonly string[];
}

export interface HistoryOptions extends CommandOptions {
  readonly limit?: number;
  readonly from?: CalendarDate;
  readonly to?: CalendarDate;
  readonly format?: StatementFormat;
}

export function defineAccount(program: FxCommand, context: Context): void {
  const account = program.add("account", "Open, show and change accounts", ["fx account show 44051401359"]);
  defineCreate(account, context);
  defineShow(account, context);
  defineList(account, context);
  defineHistory(account, context);
  definePersonalData(account, context);
  defineAccountChanges(account, context);
}

function defineCreate(account: FxCommand, context: Context): void {
  account
    .add("create", "Open an account with an initial balance in PLN", [
      "fx account create 44051401359 --name Jan --surname Kowalski --pln 1000",
      "fx account create - --name Jan --surname Kowalski --pln 1000 < pesel.txt",
    ])
    .target()
    .pesel()
    .requiredOption("--name <name>", "first name of the holder")
    .requiredOption("--surname <surname>", "surname of the holder")
    .requiredOption("--pln <amount>", "initial balance in PLN", amountArgument)
    .key()
    .action(async (argument: string, options: CreateOptions) => {
      const { stdout, stderr, errors } = context.terminal;
      const { name, surname, pln: initial, key = crypto.randomUUID() } = options;
      context.beginChange(key);
      const pesel = await context.questions.pesel(argument);
      const opening = parseOpening({ pesel, name, surname, initial, key }, warsawDate(new Date()));
      const service = await context.service({ access: "create" });
      const recorded = await context.sending.send(key, () => service.createAccount(opening));
      const { receiptId: receipt, replayed } = recorded;
      // The account is open even if its receipt cannot be read now. One that was reopened has its earlier currencies.
      const entry = await service.receipt(receipt).catch(() => undefined);
      const opened = entry === undefined ? planOpening(undefined, opening) : accountAfter(entry);
      if (options.json) {
        const { encodeAccount } = await import("../../wire/accounts.ts");
        return context.document({ ...encodeAccount(opened), receipt, key, replayed });
      }
      if (replayed) writeText(errors, replayNote);
      else if (entry !== undefined && entry.sequence > 1) {
        writeText(stderr, "This account was closed. It is open again, with its history.");
      }
      writeRecord(stdout, accountPairs(stdout, opened));
    });
}

function defineShow(account: FxCommand, context: Context): void {
  account
    .add("show", "Show an account's balances", [
      "fx account show 44051401359",
      "fx account show 44051401359 --at 2026-06-30",
      "fx account show - < pesel.txt",
    ])
    .target()
    .at()
    .pesel()
    .action(async (argument: string, { at, json }: AtOptions) => {
      const { stdout } = context.terminal;
      const pesel = await context.questions.pesel(argument);
      const service = await context.service();
      const shown = await service.account(pesel, at);
      if (json) {
        return context.document((await import("../../wire/accounts.ts")).encodeListedAccount(shown));
      }
      const block = shown.blocked ? await blockOf(service, pesel, at) : undefined;
      writeRecord(stdout, [...accountPairs(stdout, shown), ...blockPairs(stdout, block)]);
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

function defineList(account: FxCommand, context: Context): void {
  account
    .add("list", "List accounts, by PESEL", [
      "fx account list",
      "fx account list --name kowal",
      "fx account list --json | jq length",
    ])
    .target()
    .option(
      "--name <name>",
      "only holders whose first name or surname, or both, begin with this; l also finds ł",
      parseNameSought,
    )
    .at()
    .limit("accounts")
    .action(async ({ at, name, limit, json = false }: ListOptions) => {
      const { stdout, stderr } = context.terminal;
      const service = await context.service();
      const { encodeListedAccount } = await import("../../wire/accounts.ts");
      const pages = readPages((page) => service.accounts({ ...page, name, at }), limit);
      const shape = { columns: accountColumns, encode: encodeListedAccount };
      const count = await writePages(stdout, pages, shape, json);
      if (count === 0) {
        write(stderr, name === undefined ? "There are no accounts." : "There are no accounts of this name.");
      }
    });
}

function defineHistory(account: FxCommand, context: Context): void {
  const history = account
    .add("history", "Show an account's statement, newest entry first", [
      "fx account history 44051401359 --limit 20",
      "fx account history 44051401359 --from 2026-06-01 --to 2026-06-30 --format csv > june.csv",
      "fx account history 44051401359 --from 2026-06-01 --to 2026-06-30 --format camt.053 > june.xml",
    ])
    .target()
    .pesel();
  withStatementOptions(history, statementFormats).action(async (argument: string, options: HistoryOptions) =>
    showStatement(context, options, await context.questions.pesel(argument)),
  );
}

export function withStatementOptions(command: FxCommand, formats: readonly StatementFormat[]): FxCommand {
  const use = { csv: "csv for a spreadsheet", "camt.053": "ISO 20022's camt.053" };
  const description = `print a file: ${formats.map((each) => use[each]).join(", or ")}`;
  const format = new Option("--format <format>", description).choices(formats).conflicts(["json", "limit"]);
  return command.limit("entries").period().addOption(format);
}

export async function showStatement(
  context: Context,
  { format, from, to, limit, json = false }: HistoryOptions,
  pesel: Pesel,
): Promise<void> {
  const { stdout, stderr } = context.terminal;
  const service = await context.service();
  const read = (page: StatementRequest) => service.statement(pesel, page);
  if (format !== undefined) {
    const { statementFile } = await import("../../wire/statement-file.ts");
    const source = { account: await service.account(pesel), period: { from, to }, now: new Date(), read };
    return writeParts(stdout, statementFile(format, source));
  }
  const { entry, statement: shape } = await import("../../wire/entries.ts");
  let isFirst = true;
  const pages = readPages(async (page) => {
    const statement = await read({ ...page, from, to });
    if (isFirst && json) {
      const { opening, closing } = shape.encode({ ...statement, items: [] });
      stdout.stream.write(`${JSON.stringify({ opening, closing }).slice(0, -1)},"entries":`);
    } else if (isFirst && stdout.rich && (from ?? to) !== undefined) writePeriod(stdout, statement);
    isFirst = false;
    return statement;
  }, limit);
  const listing = {
    columns: entryColumns,
    encode: (receipt: Receipt) => entry.encode(receipt),
  };
  const count = await writePages(stdout, pages, listing, json);
  if (json) write(stdout, "}");
  if (count === 0) write(stderr, `There are no entries${(from ?? to) === undefined ? "" : " in that time"}.`);
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

function definePersonalData(account: FxCommand, context: Context): void {
  account
    .add("export", "Print everything that fx holds about one person, as one JSON document", [
      "fx account export 44051401359 > person.json",
      "fx account export - < pesel.txt | jq .refusals",
    ])
    .pesel()
    .target({ json: false })
    .action(async (argument: string) => {
      const pesel = await context.questions.pesel(argument);
      const data = await (await context.service()).personalData(pesel);
      context.document((await import("../../wire/personal-data.ts")).personalData.encode(data));
    });
}
