import { type CurrencyCode, pln } from "../core/currency.ts";
import { knownDigits, type Money } from "../core/money.ts";
import type { RatesStatus } from "../core/rates.ts";
import { getOrMake } from "./maps.ts";

/** Takes a value with the labels that it has. */
type Add = (labels: Readonly<Record<string, string>>, value: number) => void;

/** The label of a currency that the table in force does not quote, so that a client cannot make up labels. */
const other = "other";

/** Counts orders by pair and result, and adds up what was exchanged. */
export class ExchangeCounts {
  readonly #rates: () => RatesStatus;
  /** By from, to and result. */
  readonly #orders = new Map<string, Map<string, Map<string, number>>>();
  /** In minor units. */
  readonly #volume = { sold: new Map<CurrencyCode, number>(), bought: new Map<CurrencyCode, number>() };

  constructor(rates: () => RatesStatus) {
    this.#rates = rates;
  }

  order(from: CurrencyCode | undefined, to: CurrencyCode | undefined, result: string): void {
    const results = this.#orders.get(from ?? other)?.get(to ?? other) ?? this.#resultsOf(from, to);
    results.set(result, (results.get(result) ?? 0) + 1);
  }

  exchanged(sold: Money, bought: Money): void {
    add(this.#volume.sold, sold);
    add(this.#volume.bought, bought);
  }

  orders(put: Add): void {
    for (const [from, targets] of this.#orders) {
      for (const [to, results] of targets) {
        for (const [result, count] of results) put({ from, to, result }, count);
      }
    }
  }

  /** In units of the currency; 0 where nothing was exchanged yet. */
  volume(put: Add): void {
    const quoted = this.#rates().table?.rates.keys() ?? [];
    const currencies = new Set([pln, ...quoted, ...this.#volume.sold.keys(), ...this.#volume.bought.keys()]);
    for (const currency of currencies) {
      const unit = 10 ** knownDigits(currency);
      for (const side of ["sold", "bought"] as const) {
        put({ currency, side }, (this.#volume[side].get(currency) ?? 0) / unit);
      }
    }
  }

  #resultsOf(from: CurrencyCode | undefined, to: CurrencyCode | undefined): Map<string, number> {
    const quoted = this.#rates().table?.rates;
    const label = (code: CurrencyCode | undefined) =>
      code !== undefined && (code === pln || quoted?.has(code)) ? code : other;
    const targets = getOrMake(this.#orders, label(from), () => new Map<string, Map<string, number>>());
    return getOrMake(targets, label(to), () => new Map<string, number>());
  }
}

function add(volume: Map<CurrencyCode, number>, { currency, minor }: Money): void {
  volume.set(currency, (volume.get(currency) ?? 0) + Number(minor));
}
