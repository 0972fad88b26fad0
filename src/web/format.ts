import { readWritten } from "../batch/amount.ts";
import { type CurrencyCode, minorUnitDigits } from "../core/currency.ts";
import { warsawDate } from "../core/date.ts";
import type { Language } from "./texts.ts";

/** Numbers and dates as the reader writes them. */
export class Format {
  readonly locale: string;
  // A formatter takes a hundred times as long to make as to use.
  readonly #numbers = new Map<string, Intl.NumberFormat>();
  readonly #date: Intl.DateTimeFormat;
  readonly #time: Intl.DateTimeFormat;

  /** @param preferred the languages that the reader prefers, such as "en-GB" */
  constructor(language: Language, preferred: readonly string[]) {
    // The reader's own kind of English, if it is one.
    const own = preferred.find((name) => name.startsWith(language));
    this.locale = own ?? (language === "pl" ? "pl-PL" : "en-GB");
    this.#date = new Intl.DateTimeFormat(this.locale, { dateStyle: "medium", timeZone: "UTC" });
    this.#time = new Intl.DateTimeFormat(this.locale, {
      dateStyle: "medium",
      timeStyle: "short",
      timeZone: "Europe/Warsaw",
    });
  }

  /** An amount of a currency, with all of its decimals, without its code. */
  amount(value: number | string, currency: string): string {
    if (typeof value === "string") return this.decimal(value);
    const digits = minorUnitDigits(currency as CurrencyCode) ?? 2;
    return this.#number(value, digits, digits);
  }

  /** An amount as somebody would type it: without groups. */
  typed(value: number, currency: string): string {
    const digits = minorUnitDigits(currency as CurrencyCode) ?? 2;
    const options = { minimumFractionDigits: digits, useGrouping: false };
    return new Intl.NumberFormat(this.locale, options).format(value);
  }

  money({ symbol, amount }: { readonly symbol: string; readonly amount: number }): string {
    return `${this.amount(amount, symbol)}\u00a0${symbol}`;
  }

  /** Formats an amount given as decimal text, which may be longer than a number can be. */
  decimal(text: string): string {
    const [, sign = "", whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
    const grouped = new Intl.NumberFormat(this.locale, { useGrouping: true }).format(BigInt(whole || 0));
    const mark = fraction === "" ? "" : this.#number(0.1, 1, 1).slice(1, 2) + fraction;
    return (sign === "-" ? "−" : "") + grouped + mark;
  }

  /** With as many decimals as the bank gives it: four, and six for what costs less than a tenth of a złoty. */
  rate(value: number): string {
    return value < 0.1 ? this.#number(value, 6, 6) : this.#number(value, 4, 6);
  }

  /** Signed, in percent. */
  change(share: number): string {
    const options = { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 } as const;
    const text = new Intl.NumberFormat(this.locale, { ...options, signDisplay: "exceptZero" }).format(share);
    return text.replace("-", "−");
  }

  /** @param text "2026-06-08" */
  date(text: string): string {
    return this.#date.format(new Date(`${text}T00:00:00Z`));
  }

  /** A day on an axis; where it shows years, the month and the year. */
  day(text: string, isOfYears: boolean): string {
    const options = { month: "short", timeZone: "UTC" } as const;
    const rest = isOfYears ? ({ year: "numeric" } as const) : ({ day: "numeric" } as const);
    return new Intl.DateTimeFormat(this.locale, { ...options, ...rest }).format(new Date(text));
  }

  /** @param text RFC 3339; shown as the clocks in Poland have it */
  time(text: string): string {
    return this.#time.format(new Date(text));
  }

  /** How long something lasted, such as 3 months. */
  span(count: number, unit: "month" | "year"): string {
    const options = { style: "unit", unit, unitDisplay: "long" } as const;
    return new Intl.NumberFormat(this.locale, options).format(count);
  }

  seconds(count: number): string {
    const options = {
      style: "unit",
      unit: "second",
      unitDisplay: "short",
      maximumFractionDigits: 2,
    } as const;
    return new Intl.NumberFormat(this.locale, options).format(count);
  }

  count(value: number): string {
    return this.#number(value, 0, 0);
  }

  days(count: number): string {
    return new Intl.RelativeTimeFormat(this.locale, { numeric: "auto" }).format(-count, "day");
  }

  #number(value: number, least: number, most: number): string {
    const name = `${least} ${most}`;
    let numbers = this.#numbers.get(name);
    if (numbers === undefined) {
      const digits = { minimumFractionDigits: least, maximumFractionDigits: most };
      numbers = new Intl.NumberFormat(this.locale, { ...digits, useGrouping: true });
      this.#numbers.set(name, numbers);
    }
    return numbers.format(value).replace("-", "−");
  }
}

/** A PESEL as it was typed, without spaces and dashes. */
export function digitsOf(typed: string): string {
  return typed.replace(/[\s-]/g, "");
}

/** A PESEL in groups, for the eye. */
export function groupedPesel(pesel: string): string {
  return `${pesel.slice(0, 6)}\u2009${pesel.slice(6)}`;
}

/** The sum of amounts with at most two decimals, without the rounding errors of doubles. */
export function sum(...amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + Math.round(amount * 100), 0) / 100;
}

export type TypedAmount = { readonly amount: number } | { readonly fault: AmountFault };
export type AmountFault = "missing" | "notANumber" | "ambiguous" | "notPositive" | "tooFine" | "tooLarge";

/** Reads an amount of `currency` as people type it, such as `1 000,50`. It is exact, or it is a fault. */
export function typedAmount(typed: string, currency: string, { zero = false } = {}): TypedAmount {
  const text = typed.trim();
  if (text === "") return { fault: "missing" };
  const read = readWritten(text);
  if (read === undefined) return { fault: "notANumber" };
  if (read === "ambiguous") return { fault: "ambiguous" };
  const amount = Number(read);
  if (amount < 0 || (amount === 0 && !zero)) return { fault: "notPositive" };
  const [whole = "", fraction = ""] = read.replace(/^\+/, "").split(".");
  const digits = minorUnitDigits(currency as CurrencyCode) ?? 2;
  if (fraction.replace(/0+$/, "").length > digits) return { fault: "tooFine" };
  // A double holds any 15 digits.
  if (whole.replace(/^0+/, "").length + digits > 15) return { fault: "tooLarge" };
  return { amount };
}

/** Whether an amount is surely wrong, however it is typed on: "1 00" and "0," may become right. */
export function isSurelyWrong(typed: string, fault: AmountFault): boolean {
  if (fault === "missing") return false;
  return !(fault === "notANumber" || fault === "notPositive") || !/^[\d\s]*[.,]?0*$/.test(typed);
}

/** Whole days from a date to today, as the calendar in Poland has it. */
export function ageInDays(date: string, now = new Date()): number {
  return Math.round((Date.parse(warsawDate(now)) - Date.parse(date)) / 86_400_000);
}

const clock = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "Europe/Warsaw",
  dateStyle: "short",
  timeStyle: "short",
});

/** The time by the clocks in Poland: "2026-06-08T12:00". */
export function warsawTime(now: Date): string {
  return clock.format(now).replace(" ", "T");
}

/** When the clocks in Poland show `time`; of an hour that they show twice, the first. */
export function instantOf(time: string): Date {
  const instant = (hoursAhead: number) => new Date(Date.parse(`${time}Z`) - hoursAhead * 3_600_000);
  const inSummer = instant(2);
  return warsawTime(inSummer) === time ? inSummer : instant(1);
}
