import { type Account, credit, debit, requireWithinLimit } from "./account.ts";
import { type CurrencyCode, parseCurrencyCode, pln } from "./currency.ts";
import type { CalendarDate } from "./date.ts";
import { type Decimal, powerOfTen } from "./decimal.ts";
import { FxError } from "./errors.ts";
import { knownDigits, type Money, requestedMinor } from "./money.ts";
import type { Pesel } from "./pesel.ts";
import type { RateTable } from "./rates.ts";

/** The terms of an order. `toBuy` fixes what the customer receives, `toSell` what the customer pays. */
export interface ExchangeTerms {
  readonly from: CurrencyCode;
  readonly to: CurrencyCode;
  readonly side: "toBuy" | "toSell";
  /** Units of `to` for toBuy, of `from` for toSell. Checked by `priceExchange`, once the currency is known. */
  readonly amount: Decimal;
}

/**
 * Terms on an account. With `table`, only at the table of that id or number; `key` is the idempotency key, `by` the name
 * of the token that the order came with.
 */
export interface ExchangeOrder extends ExchangeTerms {
  readonly pesel: Pesel;
  readonly table?: string | undefined;
  readonly key?: string | undefined;
  readonly by?: string | undefined;
}

/** An exchange at the table that priced it: everything needed to compute it again by hand. */
export interface Exchange {
  readonly side: "toBuy" | "toSell";
  readonly sold: Money;
  readonly bought: Money;
  /** The bank's bid for the sold currency, in PLN for one unit; absent where PLN is sold. */
  readonly bid: Decimal | undefined;
  /** The bank's ask for the bought currency, in PLN for one unit; absent where PLN is bought. */
  readonly ask: Decimal | undefined;
  readonly table: string;
  /** The id of the table. */
  readonly tableId: string;
  readonly effectiveDate: CalendarDate;
}

/** The result that an exchange would have, at a table of `source`. */
export interface Quote extends Exchange {
  readonly source: string;
}

/**
 * Reads terms whose amounts are decimals already.
 * @throws FxError invalid-request unless exactly one amount is given, same-currency
 */
export function parseTerms(fields: {
  from: string;
  to: string;
  toBuy?: Decimal | undefined;
  toSell?: Decimal | undefined;
}): ExchangeTerms {
  const { toBuy, toSell } = fields;
  const amount = toBuy ?? toSell;
  if (amount === undefined || (toBuy !== undefined && toSell !== undefined)) {
    throw new FxError("invalid-request", "Give exactly one of toBuy and toSell.");
  }
  const from = parseCurrencyCode(fields.from);
  const to = parseCurrencyCode(fields.to);
  requireTwoCurrencies(from, to);
  return { from, to, side: toBuy === undefined ? "toSell" : "toBuy", amount };
}

/**
 * Refuses a text that no rate table has as its number or id, and no header could carry.
 * @throws FxError invalid-request
 */
export function requireTableName(table: string): void {
  if (/^[\x20-\x7e]{1,255}$/.test(table)) return;
  throw new FxError("invalid-request", "The table number must be 1 to 255 ASCII characters.");
}

/** @throws FxError same-currency */
export function requireTwoCurrencies(from: CurrencyCode, to: CurrencyCode): void {
  if (from === to) throw new FxError("same-currency", "An exchange needs two different currencies.");
}

/**
 * Prices an exchange at `table`: exact arithmetic, rounded once, to whole minor units, never in the customer's
 * favour. What the customer pays is rounded up and what the customer receives is rounded down.
 * @throws FxError unsupported-currency, invalid-amount, amount-too-small
 */
export function priceExchange(terms: ExchangeTerms, table: RateTable): Exchange {
  const { bid } = quotation(terms.from, "sold", table);
  const { ask } = quotation(terms.to, "bought", table);
  const asked = requestedMinor(terms.amount, terms.side === "toBuy" ? terms.to : terms.from);
  // sold × bid = bought × ask, both in PLN, with every decimal point moved out into two whole factors.
  const soldFactor = bid.coefficient * powerOfTen(ask.scale + knownDigits(terms.to));
  const boughtFactor = ask.coefficient * powerOfTen(bid.scale + knownDigits(terms.from));
  const sold = terms.side === "toSell" ? asked : ceilDivide(asked * boughtFactor, soldFactor);
  const bought = terms.side === "toBuy" ? asked : (asked * soldFactor) / boughtFactor;
  if (bought === 0n) {
    throw new FxError(
      "amount-too-small",
      `The amount buys less than the smallest unit of ${terms.to}. Sell more.`,
    );
  }
  return {
    side: terms.side,
    sold: { currency: terms.from, minor: sold },
    bought: { currency: terms.to, minor: bought },
    bid: terms.from === pln ? undefined : bid,
    ask: terms.to === pln ? undefined : ask,
    table: table.number,
    tableId: table.id,
    effectiveDate: table.effectiveDate,
  };
}

/**
 * Decides an order: the exchange and the account after it, or why there is none.
 * @throws FxError rate-changed, and those of `priceExchange`, `debit` and `credit`
 */
export function planExchange(
  account: Account,
  order: ExchangeOrder,
  table: RateTable,
): { readonly exchange: Exchange; readonly account: Account } {
  if (order.table !== undefined && order.table !== table.number && order.table !== table.id) {
    throw new FxError(
      "rate-changed",
      `Table ${table.number} is in force now. Ask for a quote and order again.`,
    );
  }
  const exchange = priceExchange(order, table);
  const left = debit(account, exchange.sold, order.side === "toSell");
  return { exchange, account: credit(left, exchange.bought) };
}

/**
 * Prices an exchange for a customer who holds enough.
 * @throws FxError balance-limit, and those of `priceExchange`
 */
export function quoteExchange(terms: ExchangeTerms, table: RateTable): Quote {
  const exchange = priceExchange(terms, table);
  requireWithinLimit(exchange.sold);
  requireWithinLimit(exchange.bought);
  return { ...exchange, source: table.source };
}

/** The złoty, which the bank does not quote, is worth one złoty. */
const zloty: Decimal = { coefficient: 1n, scale: 0 };

function quotation(
  currency: CurrencyCode,
  side: "sold" | "bought",
  table: RateTable,
): { readonly bid: Decimal; readonly ask: Decimal } {
  if (currency === pln) return { bid: zloty, ask: zloty };
  const rate = table.rates.get(currency);
  if (rate !== undefined) return rate;
  throw new FxError(
    "unsupported-currency",
    `The currency to be ${side} cannot be exchanged. ${quotedBy(table)}`,
  );
}

/**
 * Refuses a deposit of a currency that the table does not quote.
 * @throws FxError unsupported-currency
 */
export function requireQuoted(currency: CurrencyCode, table: RateTable): void {
  if (table.rates.has(currency)) return;
  throw new FxError("unsupported-currency", `A deposit cannot be in this currency. ${quotedBy(table)}`);
}

/** "Table 108/C/NBP/2026 has PLN, USD." */
function quotedBy({ number, rates }: RateTable): string {
  return `Table ${number} has ${[pln, ...rates.keys()].join(", ")}.`;
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
