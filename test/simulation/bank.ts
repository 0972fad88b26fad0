import { addDays, type CalendarDate } from "../../src/core/date.ts";
import { compareTables, type PublishedTable, type RateTable } from "../../src/core/rates.ts";
import { type RateSource, type SourceAnswer, tablesOf } from "../../src/rates/source.ts";
import type { Chance } from "../support/chance.ts";
import { table } from "../support/fixture.ts";

/** A bank that publishes random tables: moves of a few per cent, leaps, corrections, and tables of future days. */
export class Bank implements RateSource {
  readonly name: string;
  readonly recorded = false;
  readonly published: RateTable[];
  /** Whether it answers with its newest tables, with an older state, or not at all. */
  mood: "answers" | "lags" | "fails" = "answers";
  readonly #chance: Chance;
  #number = 108;

  constructor(name: string, chance: Chance) {
    this.name = name;
    this.#chance = chance;
    this.published = [...tablesOf(name, [table])];
  }

  async tables(): Promise<SourceAnswer> {
    if (this.mood === "fails") throw new Error(`${this.name} does not answer.`);
    const lag = this.mood === "lags" ? this.#chance.below(this.published.length) : 0;
    return { tables: this.published.slice(0, this.published.length - lag).sort(compareTables) };
  }

  publish(today: CalendarDate): void {
    const last = this.published.at(-1) as RateTable;
    const isCorrection = this.#chance.below(4) === 0;
    if (!isCorrection) this.#number += 1;
    const effectiveDate = isCorrection
      ? last.effectiveDate
      : addDays(today, this.#chance.below(4) === 0 ? this.#chance.below(8) : 0);
    const percent =
      this.#chance.below(5) === 0
        ? 50n + BigInt(this.#chance.below(150))
        : 97n + BigInt(this.#chance.below(7));
    const next: PublishedTable = {
      number: `${this.#number}/C/NBP/2026`,
      tradingDate: last.tradingDate,
      effectiveDate,
      rates: new Map(
        [...table.rates]
          .filter(([code]) => code !== "EUR" || this.#chance.below(4) > 0)
          .map(([code, rate]) => [
            code,
            { ...rate, bid: times(rate.bid, percent), ask: times(rate.ask, percent) },
          ]),
      ),
    };
    this.published.push(...tablesOf(this.name, [next]));
  }
}

function times({ coefficient, scale }: { coefficient: bigint; scale: number }, percent: bigint) {
  return { coefficient: coefficient * percent, scale: scale + 2 };
}
