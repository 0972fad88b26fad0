import { readFileSync } from "node:fs";
import { type Opening, parseOpening } from "../../src/core/account.ts";
import { addDays } from "../../src/core/date.ts";
import { type Decimal, parseDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { type ExchangeTerms, parseTerms } from "../../src/core/exchange.ts";
import { type Pesel, parsePesel } from "../../src/core/pesel.ts";
import {
  type Acceptance,
  type CurrentRates,
  type NotTraded,
  noFetches,
  type RateTable,
  type TableInForce,
  type TableLedger,
} from "../../src/core/rates.ts";
import { suspensionText } from "../../src/core/suspension.ts";
import { parseRateTable } from "../../src/rates/published.ts";
import { tablesOf } from "../../src/rates/source.ts";

/** The day of the tests unless they set another. */
export const today = "2026-06-08";
export const now = new Date("2026-06-08T12:00:00Z");

/** The bank's table 108/C/NBP/2026, as published. */
export const table = identified(
  JSON.parse(readFileSync(new URL("../fixtures/nbp/table-c-2026-06-08.json", import.meta.url), "utf8"))[0],
);

/** A published table as the table of a source. */
export function identified(published: unknown, source = "fixed"): RateTable {
  return tablesOf(source, [parseRateTable(published)])[0] as RateTable;
}

/** `fixedRates` over a ledger in which their table is in force, as after the start of a trading process. */
export async function tradedRates(ledger: TableLedger, first: RateTable = table) {
  await putInForce(ledger, first, new Date("2026-05-01T12:00:00Z"));
  return fixedRates(first, ledger);
}

/**
 * Rates of one table, for orders as soon as the ledger has a table in force. `use` replaces the table and puts it in
 * force in `ledger`; without an argument there is none. `halt` stops trading for a reason.
 */
export function fixedRates(
  first: RateTable | undefined = table,
  ledger?: TableLedger,
): CurrentRates & {
  use(table: RateTable | undefined): Promise<void>;
  halt(reason: string | undefined): void;
} {
  let own: RateTable | undefined = first;
  let halted: string | undefined;
  const last = () => {
    if (own !== undefined) return own;
    throw new FxError("rates-unavailable", "There is no rate table yet.", { retryAfterSeconds: 7 });
  };
  const current = () => {
    if (halted !== undefined) throw new FxError("rates-unavailable", halted);
    return last();
  };
  const notTraded = (): NotTraded | undefined => {
    if (halted !== undefined) return { code: "too-old", reason: halted };
    return own === undefined ? { code: "no-table", reason: "There is no rate table yet." } : undefined;
  };
  const forOrder = (inForce: TableInForce | undefined) => {
    current();
    if (inForce !== undefined) return inForce.table;
    throw new FxError("rates-unavailable", "The ledger has no table in force.");
  };
  return {
    halt: (reason) => {
      halted = reason;
    },
    use: async (next) => {
      own = next;
      if (next !== undefined && ledger !== undefined) await putInForce(ledger, next);
    },
    forOrder,
    forQuote: async () => current(),
    latest: async () => {
      const table = last();
      const { source, effectiveDate: before } = table;
      const previous = (await ledger?.tables({ source, since: "0001-01-01", before }))?.at(-1);
      const shown = { table, previous, recorded: true };
      const suspension = (await ledger?.inForce())?.suspension;
      if (suspension === undefined) return { ...shown, suspension, notTraded: notTraded() };
      const reason = suspensionText(suspension);
      return { ...shown, suspension, notTraded: { code: "suspended", reason } };
    },
    refresh: async () => {},
    tables: async (days) => {
      const { source, effectiveDate: until } = last();
      const range = { source, since: addDays(until, 1 - days), before: addDays(until, 1) };
      return (await ledger?.tables(range)) ?? [];
    },
    status: () => ({
      source: "fixed",
      recorded: true,
      table: own,
      notTraded: notTraded(),
      problem: undefined,
      clock: undefined,
      heldBack: undefined,
      fetches: noFetches(),
    }),
    close: async () => {},
  };
}

export async function putInForce(ledger: TableLedger, table: RateTable, at = now): Promise<void> {
  const inForce = await ledger.inForce();
  if (inForce?.table.id === table.id) return;
  await ledger.acceptTable(table, { ...acceptance(inForce?.epoch ?? 0), at });
}

/** The acceptance of a table after the one of `epoch`. */
export function acceptance(epoch: number, overriddenBy?: string): Acceptance {
  return { epoch, at: now, overriddenBy };
}

/** The valid PESEL with these first ten digits. */
export function peselOf(tenDigits: string): string {
  const weights = [1, 3, 7, 9, 1, 3, 7, 9, 1, 3];
  const sum = weights.reduce((total, weight, index) => total + weight * Number(tenDigits[index]), 0);
  return `${tenDigits}${(10 - (sum % 10)) % 10}`;
}

/** The `index`-th of 63 million different adults, nine million for each decade of birth. */
export function adult(index = 0): Pesel {
  const born = `${7 - Math.floor(index / 9_000_000)}${index % 10}0${1 + (Math.floor(index / 10) % 9)}1${Math.floor(index / 90) % 10}`;
  return parsePesel(peselOf(`${born}${String(Math.floor(index / 900) % 10_000).padStart(4, "0")}`), today);
}

export function decimal(text: string): Decimal {
  const parsed = parseDecimal(text);
  if (parsed === undefined) throw new Error(`${text} is not a decimal`);
  return parsed;
}

export function opening(fields: { index?: number; pln?: string; key?: string; name?: string } = {}): Opening {
  return parseOpening(
    {
      pesel: adult(fields.index),
      name: fields.name ?? "Jan",
      surname: "Kowalski",
      initial: decimal(fields.pln ?? "1000"),
      key: fields.key,
    },
    today,
  );
}

/** Parses "sell 100 PLN for USD" or "buy 100 USD for PLN". */
export function terms(words: string): ExchangeTerms {
  const [verb, amount, currency, , other] = words.split(" ") as [string, string, string, string, string];
  return verb === "sell"
    ? parseTerms({ from: currency, to: other, toSell: decimal(amount) })
    : parseTerms({ from: other, to: currency, toBuy: decimal(amount) });
}
