import { Option } from "commander";
import { balanceOf } from "../../core/account.ts";
import { parseHouseCash } from "../../core/change.ts";
import { compareCurrencies } from "../../core/currency.ts";
import { type HousePlace, houseNumber, housePlaces } from "../../core/house.ts";
import type { FxCommand } from "../command.ts";
import type { Context } from "../context.ts";
import { amountsText, writeSections } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";
import { type AtOptions, type HistoryOptions, showStatement, withStatementOptions } from "./account.ts";
import { type CashOptions, settle } from "./settle.ts";

interface PlaceOptions {
  readonly account: HousePlace;
}

export function defineHouse(program: FxCommand, context: Context): void {
  const house = program.add("house", "Show and book the house's own money, in cash and at its bank", [
    "fx house",
    'fx house deposit --account cash --amount 5000 --currency EUR --note "float of the morning"',
    "fx house history --account cash",
  ]);
  house
    .addShow("Show what the house has put in and not taken out", [
      "fx house show",
      "fx house --at 2026-06-30",
    ])
    .target()
    .at()
    .action((options: AtOptions) => showHouse(context, options));

  for (const [kind, name, description, example] of bookings) {
    house
      .add(name, `${description}; at a terminal, ask first`, [`fx house ${name} --account cash ${example}`])
      .target()
      .addOption(placeOption())
      .settles()
      .cash()
      .action(({ account, amount, currency, note, ...options }: CashOptions & PlaceOptions) =>
        settle(context, options, async (key) =>
          parseHouseCash({ kind, account, amount, currency, note, key }),
        ),
      );
  }

  const history = house
    .add("history", "Show the entries of the house, newest first", [
      "fx house history --account cash --from 2026-06-01 --to 2026-06-30 --format csv > june.csv",
    ])
    .target()
    .addOption(placeOption());
  withStatementOptions(history, ["csv"]).action(({ account, ...options }: HistoryOptions & PlaceOptions) =>
    showStatement(context, options, houseNumber(account)),
  );
}

const bookings = [
  [
    "deposit",
    "deposit",
    "Put the house's own money in",
    '--amount 5000 --currency EUR --note "float of the morning"',
  ],
  [
    "withdrawal",
    "withdraw",
    "Take the house's own money out",
    '--amount 2000 --currency PLN --note "to the bank, bag 17" --yes',
  ],
] as const;

function placeOption(): Option {
  const description = "the drawers, or the house's account at its bank";
  return new Option("--account <account>", description).choices(housePlaces).makeOptionMandatory();
}

async function showHouse(context: Context, { at, json }: AtOptions): Promise<void> {
  const { stdout, stderr } = context.terminal;
  const held = await (await context.service()).house(at);
  if (json) return context.document((await import("../../wire/cash.ts")).house.encode(held));
  const places = [held.cash, held.bank];
  const currencies = new Set(places.flat().map(({ currency }) => currency));
  const rows = [...currencies]
    .sort(compareCurrencies)
    .map((currency) => [currency, ...places.map((balances) => balanceOf({ balances }, currency))] as const);
  writeSections(stdout, amountsText(stdout, ["Currency", "Cash", "Bank"], rows));
  if (rows.length === 0) write(stderr, "The house has put nothing in.");
}
