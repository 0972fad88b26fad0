import { type Command, Option } from "commander";
import { emptyHouseAccount } from "../../core/account.ts";
import { type Cash, parseHouseCash } from "../../core/change.ts";
import { compareCurrencies } from "../../core/currency.ts";
import { type HousePlace, housePlaces } from "../../core/house.ts";
import type { CommandOptions, Context } from "../context.ts";
import { command, serviceCommand, showCommand, withAtOption, withCashOptions } from "../options.ts";
import { amountText, writeTable } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";
import { type HistoryOptions, requirePeriod, showStatement, withStatementOptions } from "./account.ts";
import { type CashOptions, settle, withSettleOptions } from "./settle.ts";

interface PlaceOptions {
  readonly account: HousePlace;
}

interface ShowOptions extends CommandOptions {
  readonly at?: Date;
}

const needs = { rates: false, access: "read" } as const;

const columns = [
  { title: "Currency" },
  { title: "Cash", align: "right" },
  { title: "Bank", align: "right" },
] as const;

export function defineHouse(program: Command, context: Context): void {
  const house = command(program, "house", "Show and book the house's own money, in cash and at its bank", [
    "fx house",
    'fx house deposit --account cash --amount 5000 --currency EUR --note "float of the morning"',
    "fx house history --account cash",
  ]);
  showCommand(
    house,
    "Show what the house has put in and not taken out",
    ["fx house show", "fx house --at 2026-06-30"],
    (show) =>
      withAtOption(serviceCommand(show, needs)).action((options: ShowOptions) => showHouse(context, options)),
  );

  defineCash(
    context,
    "deposit",
    command(house, "deposit", "Put the house's own money in; at a terminal, ask first", [
      'fx house deposit --account cash --amount 5000 --currency EUR --note "float of the morning"',
    ]),
  );
  defineCash(
    context,
    "withdrawal",
    command(house, "withdraw", "Take the house's own money out; at a terminal, ask first", [
      'fx house withdraw --account cash --amount 2000 --currency PLN --note "to the bank, bag 17" --yes',
    ]),
  );

  withStatementOptions(
    serviceCommand(
      command(house, "history", "Show the entries of the house, newest first", [
        "fx house history --account cash --from 2026-06-01 --to 2026-06-30 --format csv > june.csv",
      ]),
      needs,
    ).addOption(placeOption()),
    ["csv"],
  ).action(async ({ account, ...options }: HistoryOptions & PlaceOptions) => {
    requirePeriod(options);
    const service = await context.service(options, needs);
    const shown = emptyHouseAccount(account);
    await showStatement(context, options, service, { pesel: shown.pesel, account: async () => shown });
  });
}

function placeOption(): Option {
  const description = "the drawers, or the house's account at its bank";
  return new Option("--account <account>", description).choices(housePlaces).makeOptionMandatory();
}

function defineCash(context: Context, kind: Cash["kind"], command: Command): void {
  withCashOptions(withSettleOptions(serviceCommand(command, needs).addOption(placeOption()))).action(
    ({ account, amount, currency, note, ...options }: CashOptions & PlaceOptions) =>
      settle(context, options, async (key) => ({
        request: parseHouseCash({ kind, account, amount, currency, note, key }),
      })),
  );
}

async function showHouse(context: Context, { at, ...options }: ShowOptions): Promise<void> {
  const { stdout, stderr } = context.terminal;
  const service = await context.service(options, needs);
  const accounts = await service.house(at);
  if (options.json) {
    const { house } = await import("../../wire/house.ts");
    return context.document(house.encode(accounts));
  }
  const held = accounts.map(
    ({ balances }) => new Map(balances.map(({ currency, minor }) => [currency, minor])),
  );
  const currencies = [...new Set(held.flatMap((totals) => [...totals.keys()]))].sort(compareCurrencies);
  const rows = currencies.map((currency) => [
    currency,
    ...held.map((totals) => amountText(stdout, { currency, minor: totals.get(currency) ?? 0n })),
  ]);
  await writeTable(stdout, columns, rows);
  if (rows.length === 0) write(stderr, "The house has put nothing in.");
}
