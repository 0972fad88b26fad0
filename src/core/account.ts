import { type CurrencyCode, compareCurrencies, pln } from "./currency.ts";
import type { CalendarDate } from "./date.ts";
import type { Decimal } from "./decimal.ts";
import { FxError } from "./errors.ts";
import { balanceLimit, formatMoney, type Money, minorUnitsOf } from "./money.ts";
import { isAdult, type Pesel, parsePesel } from "./pesel.ts";

/** What a customer holds: one balance per currency ever held, PLN first, then by symbol. */
export interface Account {
  readonly pesel: Pesel;
  readonly name: string;
  readonly surname: string;
  readonly balances: readonly Money[];
}

/** A request to open an account. `key` is its idempotency key. */
export interface Opening {
  readonly pesel: Pesel;
  readonly name: string;
  readonly surname: string;
  /** In PLN. Checked by `planOpening`, because a taken PESEL is reported first. */
  readonly initial: Decimal;
  readonly key?: string | undefined;
}

/**
 * Reads an opening as of `today`.
 * @throws FxError invalid-request, invalid-pesel
 */
export function parseOpening(
  fields: { pesel: string; name: string; surname: string; initial: Decimal; key?: string | undefined },
  today: CalendarDate,
): Opening {
  const name = parseName(fields.name, "name");
  const surname = parseName(fields.surname, "surname");
  const pesel = parsePesel(fields.pesel, today);
  return { pesel, name, surname, initial: fields.initial, key: fields.key };
}

/** @throws FxError underage */
export function requireAdult(pesel: Pesel, today: CalendarDate): void {
  if (isAdult(pesel, today)) return;
  throw new FxError("underage", "The holder is not 18 yet. An account can be opened from the 18th birthday.");
}

/**
 * Decides an adult's opening: the new account, or why there is none.
 * @throws FxError account-exists, invalid-amount, balance-limit
 */
export function planOpening(existing: Account | undefined, opening: Opening): Account {
  if (existing !== undefined) {
    throw new FxError("account-exists", "This PESEL already has an account. There is at most one for each.");
  }
  const minor = minorUnitsOf(opening.initial, 2);
  if (minor === undefined || minor < 0n) {
    throw new FxError(
      "invalid-amount",
      "The initial balance must be at least 0.00 PLN, with at most 2 decimals.",
    );
  }
  const { pesel, name, surname } = opening;
  return credit({ pesel, name, surname, balances: [] }, { currency: pln, minor });
}

/** The balance of one currency, 0 if it was never held. */
export function balanceOf(account: Account, currency: CurrencyCode): bigint {
  return account.balances.find((balance) => balance.currency === currency)?.minor ?? 0n;
}

/**
 * @throws FxError insufficient-funds
 */
export function debit(account: Account, money: Money): Account {
  const held = balanceOf(account, money.currency);
  if (held < money.minor) {
    throw new FxError(
      "insufficient-funds",
      `The order takes ${formatMoney(money)} and the account holds ${formatMoney({ ...money, minor: held })}.`,
    );
  }
  return withBalance(account, { currency: money.currency, minor: held - money.minor });
}

/**
 * @throws FxError balance-limit
 */
export function credit(account: Account, money: Money): Account {
  const balance = { currency: money.currency, minor: balanceOf(account, money.currency) + money.minor };
  requireWithinLimit(balance);
  return withBalance(account, balance);
}

/**
 * @throws FxError balance-limit
 */
export function requireWithinLimit(balance: Money): void {
  if (balance.minor <= balanceLimit) return;
  const limit = formatMoney({ ...balance, minor: balanceLimit });
  throw new FxError("balance-limit", `No balance may be more than ${limit}.`);
}

/** Without spreads or closures, at which V8 is slow (docs/PERFORMANCE.md). */
function withBalance({ pesel, name, surname, balances }: Account, { currency, minor }: Money): Account {
  const changed = balances.slice();
  let index = 0;
  for (const held of balances) {
    if (compareCurrencies(held.currency, currency) >= 0) break;
    index += 1;
  }
  if (changed[index]?.currency === currency) changed[index] = { currency, minor };
  else changed.splice(index, 0, { currency, minor });
  return { pesel, name, surname, balances: changed };
}

/**
 * What no name has, as the inside of a character class of a regular expression: controls, and what is invisible, breaks
 * a line or turns the direction of what follows, so that names look like others. The joiners U+200C and U+200D are not
 * in it, because Persian and Indic names need them; only a name may not begin with one.
 */
export const unfitForNames =
  "\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\u{e0000}-\u{e007f}";
const unfit = new RegExp(`^[\\u200c\\u200d]|[${unfitForNames}]`, "u");

function parseName(text: string, field: string): string {
  const name = text.trim();
  const detail =
    name === "" || [...name].length > 100
      ? "must have 1 to 100 characters"
      : unfit.test(name) || !name.isWellFormed()
        ? "must not have control or invisible characters, or broken Unicode"
        : undefined;
  if (detail === undefined) return name;
  throw new FxError("invalid-request", `The ${field} ${detail}.`, {
    fields: [{ pointer: `/${field}`, detail }],
  });
}
