import type { Command } from "commander";
import { parseOpening, planOpening } from "../../core/account.ts";
import type { Decimal } from "../../core/decimal.ts";
import { accountAfter } from "../../core/journal.ts";
import { parseNameSought } from "../../core/names.ts";
import type { CommandOptions, Context } from "../context.ts";
import {
  amountArgument,
  command,
  peselArgument,
  replayNote,
  serviceCommand,
  wholeArgument,
  withKeyOption,
} from "../options.ts";
import { accountCells, accountColumns, accountPairs, entryCells, entryColumns } from "../terminal/figures.ts";
import { writeRecord, writeText } from "../terminal/output.ts";
import { readPages, writePages } from "../terminal/pages.ts";
import { write } from "../terminal/terminal.ts";
import { defineAccountChanges } from "./account/change.ts";

interface CreateOptions extends CommandOptions {
  readonly name: string;
  readonly surname: string;
  readonly pln: Decimal;
  readonly key?: string;
}

interface ListOptions extends CommandOptions {
  readonly limit?: number;
}

interface AccountsOptions extends ListOptions {
  readonly name?: string;
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

  serviceCommand(
    command(account, "show", "show an account's balances", [
      "fx account show 44051401359",
      "fx account show - < pesel.txt",
    ]),
    needs,
  )
    .addArgument(peselArgument())
    .action(async (argument: string, options: CommandOptions) => {
      const pesel = await context.pesel(argument);
      const service = await context.service(options, needs);
      const shown = await service.account(pesel);
      if (!options.json) return writeRecord(stdout, accountPairs(stdout, shown));
      const { encodeListedAccount } = await import("../../wire/codecs.ts");
      context.document(encodeListedAccount(shown));
    });

  listing(
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
    "accounts",
  ).action(async (options: AccountsOptions) => {
    const name = options.name === undefined ? undefined : parseNameSought(options.name);
    const service = await context.service(options, needs);
    const { encodeListedAccount } = await import("../../wire/codecs.ts");
    const pages = readPages((page) => service.accounts({ ...page, name }), options.limit);
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
      ]),
      needs,
    ).addArgument(peselArgument()),
    "entries",
  ).action(async (argument: string, options: ListOptions) => {
    const pesel = await context.pesel(argument);
    const service = await context.service(options, needs);
    const { encodeEntry } = await import("../../wire/codecs.ts");
    const pages = readPages((page) => service.statement(pesel, page), options.limit);
    const shape = { columns: entryColumns, row: entryCells, encode: encodeEntry };
    await writePages(stdout, pages, shape, options.json === true);
  });

  defineAccountChanges(account, context);
}

function listing(command: Command, items: string): Command {
  return command.option(
    "--limit <number>",
    `the most ${items} to list (default: all)`,
    wholeArgument(1, 999_999_999),
  );
}
