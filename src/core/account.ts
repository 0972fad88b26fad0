import { type CurrencyCode, compareCurrencies, pln } from "./currency.ts";
import type { CalendarDate } from "./date.ts";
import type { Decimal } from "./decimal.ts";
import { FxError } from "./errors.ts";
import { housePlaceOf } from "./house.ts";
import { balanceLimit, formatMoney, type Money, minorUnitsOf } from "./money.ts";
import { isAdult, type Pesel, parsePesel } from "./pesel.ts";

export interface Holder {
  readonly name: string;
  readonly surname: string;
}

/** A customer's account: one balance for each currency ever held, PLN first, then by symbol. */
export interface Account extends Holder {
  readonly pesel: Pesel;
  readonly balances: readonly Money[];
  /** Nothing moves on a closed account, until it is opened again. */
  readonly closed: boolean;
  /** Nothing leaves a blocked account, and nothing is exchanged on it, until it is unblocked. */
  readonly blocked: boolean;
}

export interface ListedAccount extends Account {
  /** The ledger is damaged here, so the balances are not known. */
  readonly damaged?: true;
}

/** A request to open an account. `key` is its idempotency key, `by` the name of the token that it came with. */
export interface Opening extends Holder {
  readonly pesel: Pesel;
  /** PLN. Checked by `planOpening`, because a taken PESEL is reported first. */
  readonly initial: Decimal;
  readonly key?: string | undefined;
  readonly by?: string | undefined;
}

/**
 * Reads an opening as of `today`.
 * @throws FxError invalid-request, invalid-pesel
 */
export function parseOpening(
  fields: Omit<Opening, "pesel"> & { readonly pesel: string },
  today: CalendarDate,
): Opening {
  const { initial, key, by } = fields;
  const holder = parseHolder(fields);
  return { pesel: parsePesel(fields.pesel, today), initial, key, by, ...holder };
}

/**
 * Names in NFC: a letter and its mark as two characters are the same as one character with the mark.
 * @throws FxError invalid-request
 */
export function parseHolder({ name, surname }: Holder): Holder {
  const read = (given: string, field: string) => parseText(given.normalize("NFC"), field, 100);
  return { name: read(name, "name"), surname: read(surname, "surname") };
}

/** @throws FxError underage */
export function requireAdult(pesel: Pesel, today: CalendarDate): void {
  if (isAdult(pesel, today)) return;
  throw new FxError("underage", "The holder is not 18 yet. An account can be opened from the 18th birthday.");
}

/**
 * Decides the opening of an adult's account: a new one, or a closed one that is opened again.
 * @throws FxError account-exists, invalid-amount, balance-limit
 */
export function planOpening(existing: Account | undefined, opening: Opening): Account {
  if (existing?.closed === false) {
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
  const balances = existing?.balances ?? [];
  return credit({ pesel, name, surname, balances, closed: false, blocked: false }, { currency: pln, minor });
}

/** The account before its first entry. Those of the house always exist, a customer's exists once it was opened. */
export function accountBeforeEntries(pesel: Pesel): Account | undefined {
  const place = housePlaceOf(pesel);
  return place && { pesel, name: "House", surname: place, balances: [], closed: false, blocked: false };
}

/** The balance of one currency, 0 if it was never held. */
export function balanceOf(account: Pick<Account, "balances">, currency: CurrencyCode): bigint {
  return account.balances.find((balance) => balance.currency === currency)?.minor ?? 0n;
}

/**
 * Takes money from an account. Only the house's own accounts may go below 0: the house may take out its profit.
 * @param isGiven whether the request itself says how much
 * @throws FxError insufficient-funds, without the balance and the amount in the request: errors are logged and forwarded
 */
export function debit(account: Account, money: Money, isGiven: boolean): Account {
  const held = balanceOf(account, money.currency);
  const left = held - money.minor;
  if (housePlaceOf(account.pesel) !== undefined) {
    requireWithinLimit({ currency: money.currency, minor: left });
  } else if (left < 0n) {
    throw new FxError(
      "insufficient-funds",
      isGiven || money.minor > balanceLimit
        ? `The order takes more ${money.currency} than the account holds.`
        : `The order takes ${formatMoney(money)}, which is more than the account holds.`,
    );
  }
  return withBalance(account, { currency: money.currency, minor: left });
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
  const { currency, minor } = balance;
  if (minor >= -balanceLimit && minor <= balanceLimit) return;
  const [bound, limit] = minor < 0n ? ["less", -balanceLimit] : ["more", balanceLimit];
  throw new FxError(
    "balance-limit",
    `No balance may be ${bound} than ${formatMoney({ currency, minor: limit })}.`,
  );
}

function withBalance(account: Account, changed: Money): Account {
  const held = account.balances.findIndex(({ currency }) => currency === changed.currency);
  const balances =
    held === -1
      ? [...account.balances, changed].sort((a, b) => compareCurrencies(a.currency, b.currency))
      : account.balances.with(held, changed);
  return { ...account, balances };
}

/**
 * Characters that no name has, as the inside of a character class of a regular expression: controls, and those that are
 * invisible, break a line or turn the direction of text, so that one name looks like another.
 */
export const unfitForNames =
  "\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f" +
  "\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff0-\\ufffc" +
  "\u{13430}-\u{1343f}\u{13441}\u{13442}\u{16fe4}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}";
/**
 * Characters that no name begins with, in the same form: they are invisible without one before them. Persian and Indic
 * names need the joiners U+200C and U+200D; Mongolian, Japanese and Chinese ones the variation selectors.
 */
const unfitToBegin = "\\u180b-\\u180d\\u180f\\u200c\\u200d\\ufe00-\\ufe0f\u{e0100}-\u{e01ef}";
const unfit = new RegExp(`^[${unfitToBegin}]|[${unfitForNames}]`, "u");

/**
 * Reads a line of text that people write: a name, a note, a reason.
 * @throws FxError invalid-request
 */
export function parseText(given: string, field: string, longest: number): string {
  const text = given.trim();
  const detail =
    text === "" || [...text].length > longest
      ? `must have 1 to ${longest} characters`
      : unfit.test(text) || !text.isWellFormed()
        ? "must not have control or invisible characters, or broken Unicode"
        : undefined;
  if (detail === undefined) return text;
  throw new FxError("invalid-request", `The ${field} ${detail}.`, {
    fields: [{ pointer: `/${field}`, detail }],
  });
}
