import { readWritten } from "../batch/amount.ts";
import { type CurrencyCode, minorUnitDigits } from "../core/currency.ts";
import { warsawTime as clockIn, warsawDate } from "../core/date.ts";
import { housePlaceOf } from "../core/house.ts";
import type { Language } from "./texts.ts";

function digitsIn(currency: string): number {
  return minorUnitDigits(currency as CurrencyCode) ?? 2;
}

/** Formats numbers and dates in the reader's locale. */
export class Format {
  readonly locale: string;
  // Cached: creating an Intl formatter costs about 100 times its use.
  readonly #numbers = new Map<string, Intl.NumberFormat>();
  readonly #dates = new Map<string, Intl.DateTimeFormat>();

  /** @param preferred the languages that the reader prefers, such as "en-GB" */
  constructor(language: Language, preferred: readonly string[]) {
    // The reader's own kind of English, if it is one.
    const own = preferred.find((name) => name.startsWith(language));
    this.locale = own ?? (language === "pl" ? "pl-PL" : "en-GB");
  }

  /** An amount of a currency, with all of its decimals, without its code. Decimal text may be longer than a number can be. */
  amount(value: number | string, currency: string): string {
    const digits = digitsIn(currency);
    return this.#number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  /** For an input field: no group separators. */
  typed(value: number, currency: string): string {
    return this.#number(value, { minimumFractionDigits: digitsIn(currency), useGrouping: false });
  }

  money({ symbol, amount }: { readonly symbol: string; readonly amount: number }): string {
    return `${this.amount(amount, symbol)}\u00a0${symbol}`;
  }

  /** With as many decimals as the bank gives it: four, and six for what costs less than a tenth of a złoty. */
  rate(value: number): string {
    return this.#number(value, { minimumFractionDigits: value < 0.1 ? 6 : 4, maximumFractionDigits: 6 });
  }

  /** Signed, in percent. */
  change(share: number): string {
    const digits = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
    return this.#number(share, { style: "percent", signDisplay: "exceptZero", ...digits });
  }

  count(value: number): string {
    return this.#number(value);
  }

  /** How long something lasted, such as 3 months. */
  span(count: number, unit: "month" | "year"): string {
    return this.#number(count, { style: "unit", unit, unitDisplay: "long" });
  }

  seconds(count: number): string {
    return this.#number(count, {
      style: "unit",
      unit: "second",
      unitDisplay: "narrow",
      maximumFractionDigits: 2,
    });
  }

  /** How long ago something was. */
  days(count: number): string {
    return new Intl.RelativeTimeFormat(this.locale, { numeric: "auto" }).format(-count, "day");
  }

  /** @param text "2026-06-08" */
  date(text: string): string {
    return this.#date(text, { dateStyle: "medium", timeZone: "UTC" });
  }

  /** An axis label: day and month, or month and year if the axis spans years. */
  day(text: string, spansYears: boolean): string {
    const rest = spansYears ? ({ year: "numeric" } as const) : ({ day: "numeric" } as const);
    return this.#date(text, { month: "short", timeZone: "UTC", ...rest });
  }

  /** @param text RFC 3339; shown as the clocks in Poland have it */
  time(text: string): string {
    return this.#date(text, { dateStyle: "medium", timeStyle: "short", timeZone: "Europe/Warsaw" });
  }

  #number(value: number | string, options: Intl.NumberFormatOptions = {}): string {
    const name = JSON.stringify(options);
    const format =
      this.#numbers.get(name) ?? new Intl.NumberFormat(this.locale, { useGrouping: true, ...options });
    this.#numbers.set(name, format);
    return format.format(value as number | Intl.StringNumericLiteral).replace("-", "−");
  }

  #date(text: string, options: Intl.DateTimeFormatOptions): string {
    const name = JSON.stringify(options);
    const format = this.#dates.get(name) ?? new Intl.DateTimeFormat(this.locale, options);
    this.#dates.set(name, format);
    return format.format(new Date(text));
  }
}

/** A PESEL as it was typed, without spaces and dashes. */
export function digitsOf(typed: string): string {
  return typed.replace(/[\s-]/g, "");
}

/** A PESEL in groups, for the eye; empty for the number of a house's account, which is none. */
export function groupedPesel(pesel: string): string {
  if (housePlaceOf(pesel) !== undefined) return "";
  return `${pesel.slice(0, 6)}\u2009${pesel.slice(6)}`;
}

/** The sum of amounts with at most two decimals, without the rounding errors of doubles. */
export function sum(...amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + Math.round(amount * 100), 0) / 100;
}

export type TypedAmount = { readonly amount: number } | { readonly fault: AmountFault };
export type AmountFault =
  | "missing"
  | "notANumber"
  | "ambiguous"
  | "notPositive"
  | "tooFine"
  | "notWhole"
  | "tooLarge";

/** Groups of three digits, and another mark before the decimals: the commas of `1,000.50` only group. */
const grouped = [
  [/^\d{1,3}(,\d{3})+\.\d+$/, ","],
  [/^\d{1,3}(\.\d{3})+,\d+$/, "."],
] as const;

/** Reads an amount of `currency` as people type it, such as `1 000,50`. It is exact, or it is a fault. */
export function typedAmount(typed: string, currency: string, { zero = false } = {}): TypedAmount {
  const text = typed.trim();
  if (text === "") return { fault: "missing" };
  const mark = grouped.find(([form]) => form.test(text))?.[1];
  const read = readWritten(mark === undefined ? text : text.replaceAll(mark, ""));
  if (read === undefined) return { fault: "notANumber" };
  if (read === "ambiguous") return { fault: "ambiguous" };
  const amount = Number(read);
  if (amount < 0 || (amount === 0 && !zero)) return { fault: "notPositive" };
  const [whole = "", fraction = ""] = read.replace(/^\+/, "").split(".");
  const digits = minorUnitDigits(currency as CurrencyCode) ?? 2;
  if (fraction.replace(/0+$/, "").length > digits) return { fault: digits === 0 ? "notWhole" : "tooFine" };
  // A double holds any 15 digits.
  if (whole.replace(/^0+/, "").length + digits > 15) return { fault: "tooLarge" };
  return { amount };
}

/** Whether no further typing can make it valid. "1 00" and "0," can become valid. */
export function cannotBecomeValid(typed: string, fault: AmountFault): boolean {
  if (fault === "missing") return false;
  const mayGoOn = /^([\d\s]*[.,]?0*|\d{1,3}([.,]\d{3})+[.,]?\d{0,2})$/;
  return !(fault === "notANumber" || fault === "notPositive") || !mayGoOn.test(typed);
}

/** Whole days from a date to today, as the calendar in Poland has it. */
export function ageInDays(date: string, now = new Date()): number {
  return Math.round((Date.parse(warsawDate(now)) - Date.parse(date)) / 86_400_000);
}

/** The time by the clocks in Poland: "2026-06-08T12:00". */
export function warsawTime(now: Date): string {
  return clockIn(now).slice(0, 16).replace(" ", "T");
}

/** Converts Warsaw local time to an instant; in the repeated hour at the end of DST, the first one. */
export function instantOf(time: string): Date {
  const instant = (hoursAhead: number) => new Date(Date.parse(`${time}Z`) - hoursAhead * 3_600_000);
  const inSummer = instant(2);
  return warsawTime(inSummer) === time ? inSummer : instant(1);
}
