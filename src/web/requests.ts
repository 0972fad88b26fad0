import { housePlaceOf } from "../core/house.ts";
import type { EntryKind } from "../core/journal.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import type { HouseJson } from "../wire/cash.ts";
import type { EntryJson } from "../wire/entries.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import type { MoneyJson } from "../wire/fields.ts";
import { movedBy } from "../wire/statement-csv.ts";
import { urlOf } from "./answers.ts";

export interface Name {
  readonly name: string;
  readonly surname: string;
}

/** In place of a PESEL: trading, which every counter shares. */
export const tradingNumber = "trading";

/** A request that moves money, or changes an account or trading, and what it does in words for people. */
export interface DeskRequest {
  readonly kind: EntryKind | "suspension" | "resumption";
  readonly pesel: string;
  readonly path: string;
  readonly body: object;
  /** The id of the only rate table that it may be settled at. */
  readonly tableId?: string | undefined;
  /** The money that leaves the account. */
  readonly out?: MoneyJson | undefined;
  /** The money that comes to it. */
  readonly in?: MoneyJson | undefined;
  readonly quote?: QuoteJson | undefined;
  /** The holder's name after a renaming. */
  readonly renamed?: Name | undefined;
  /** The entry that a reversal undoes. */
  readonly undone?: { readonly kind: EntryKind; readonly time: string } | undefined;
}

/** An exchange before it is priced. */
export interface ExchangeTermsJson {
  readonly from: string;
  readonly to: string;
  readonly side: "toBuy" | "toSell";
  readonly amount: number;
}

/** The path of an account of a customer or of the house. */
export function accountUrl(pesel: string): string {
  const place = housePlaceOf(pesel);
  return place === undefined ? `api/user/${pesel}` : `api/house/${place}`;
}

/** The URL of an account's balances and holder; of the house, of both its accounts. */
export function balancesUrl(pesel: string): string {
  return housePlaceOf(pesel) === undefined ? accountUrl(pesel) : "api/house";
}

/** The account with this number in the answer at `balancesUrl`. The house has no name there. */
export function accountIn(answer: object, pesel: string): ListedAccountJson {
  const place = housePlaceOf(pesel);
  if (place === undefined) return answer as ListedAccountJson;
  return { pesel, name: "", surname: "", currencies: (answer as HouseJson)[place] };
}

export function quoteUrl({ from, to, side, amount }: ExchangeTermsJson): string {
  return urlOf("api/quote", { from, to, [side]: amount });
}

/** The exchange that a quote is the price of. */
export function termsOf({ sold, bought, side }: QuoteJson): ExchangeTermsJson {
  const { amount } = side === "toBuy" ? bought : sold;
  return { from: sold.symbol, to: bought.symbol, side, amount };
}

export function exchange(pesel: string, quote: QuoteJson): DeskRequest {
  const { sold, bought, tableId } = quote;
  const { from, to, side, amount } = termsOf(quote);
  const body = { pesel, from, to, [side]: amount };
  return {
    kind: "exchange",
    ...{ pesel, path: `api/exchange/${pesel}`, body, tableId, out: sold, in: bought, quote },
  };
}

export function cash(
  kind: "deposit" | "withdrawal",
  pesel: string,
  money: MoneyJson,
  note?: string,
): DeskRequest {
  const place = housePlaceOf(pesel);
  const path = `${place === undefined ? accountUrl(pesel) : "api/house"}/${kind}s`;
  const { symbol, amount } = money;
  const body = {
    ...(place !== undefined && { account: place }),
    ...{ amount, currency: symbol },
    ...(note !== undefined && { note }),
  };
  return { kind, pesel, path, body, ...(kind === "deposit" ? { in: money } : { out: money }) };
}

export function opening(pesel: string, { name, surname }: Name, pln: number): DeskRequest {
  const body = { pesel, name, surname, pln };
  return { kind: "opening", pesel, path: "api/user", body, in: { symbol: "PLN", amount: pln } };
}

export function renaming(pesel: string, { name, surname }: Name): DeskRequest {
  const renamed = { name, surname };
  return { kind: "renaming", pesel, path: `${accountUrl(pesel)}/name`, body: renamed, renamed };
}

/** The reason is typed into the question about it. */
export function reversal(pesel: string, entry: EntryJson): DeskRequest {
  const { kind, time, id } = entry;
  const moved = movedBy(entry);
  return {
    kind: "reversal",
    ...{ pesel, path: `api/receipts/${id}/reversal`, body: { reason: "" }, undone: { kind, time } },
    ...{ out: moved.in, in: moved.out },
  };
}

/** A change that concerns the account as a whole. The reason for a block is typed into the question about it. */
export function change(kind: "closing" | "block" | "unblock", pesel: string): DeskRequest {
  return {
    kind,
    pesel,
    path: `${accountUrl(pesel)}/${kind}`,
    body: kind === "closing" ? {} : { reason: "" },
  };
}

/** A change of trading. The reason for a suspension is typed into the question about it. */
export function trading(kind: "suspension" | "resumption"): DeskRequest {
  const body = kind === "suspension" ? { reason: "" } : {};
  return { kind, pesel: tradingNumber, path: `api/trading/${kind}`, body };
}
