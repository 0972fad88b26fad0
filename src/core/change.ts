import {
  type Account,
  balanceOf,
  credit,
  debit,
  type Holder,
  type Opening,
  parseText,
  planOpening,
} from "./account.ts";
import { type CurrencyCode, minorUnitDigits, parseCurrencyCode, pln } from "./currency.ts";
import type { CalendarDate } from "./date.ts";
import { type Decimal, formatDecimal } from "./decimal.ts";
import { FxError } from "./errors.ts";
import {
  type ExchangeOrder,
  planExchange,
  quotedBy,
  requireTableName,
  requireTwoCurrencies,
} from "./exchange.ts";
import type { Entry, EntryKind } from "./journal.ts";
import { decimalOfMoney, exactNumber, type Money, requestedMinor } from "./money.ts";
import { type Pesel, parsePesel } from "./pesel.ts";
import type { RateTable } from "./rates.ts";

interface Common {
  readonly pesel: Pesel;
  /** The idempotency key. */
  readonly key?: string | undefined;
  /** The name of the token that the request came with. */
  readonly by?: string | undefined;
}

/** Money that a customer brings or takes. */
export interface Cash extends Common {
  readonly kind: "deposit" | "withdrawal";
  readonly currency: CurrencyCode;
  /** In units of the currency. Checked by `planChange`. */
  readonly amount: Decimal;
  readonly note: string | undefined;
}

/** The opposite of an exchange, a deposit or a withdrawal. */
export interface Reversal extends Common {
  readonly kind: "reversal";
  /** The id of the entry. */
  readonly reverses: string;
  readonly reason: string;
}

export interface Renaming extends Common, Holder {
  readonly kind: "renaming";
}

export interface Closing extends Common {
  readonly kind: "closing";
}

/** A request that leaves an account with one more entry, and is neither an opening nor an exchange. */
export type Change = Cash | Reversal | Renaming | Closing;

/** Every request that makes an entry, by its kind. */
export type Request =
  | (Opening & { readonly kind: "opening" })
  | (ExchangeOrder & { readonly kind: "exchange" })
  | Change;

/** Those that come by the thousand, as lines of a bulk or of a batch. */
export type BulkRequest = Exclude<Request, { kind: "reversal" | "renaming" | "closing" }>;

/** What a request comes to: the account after it, and what its entry says. */
export interface Plan
  extends Partial<Pick<Entry, "debited" | "credited" | "exchange" | "holder" | "reverses" | "note">> {
  readonly account: Account;
}

/** What decides a request besides its account. */
export interface Circumstances {
  /**
   * The table in force.
   * @throws FxError rates-unavailable
   */
  readonly table: () => RateTable;
  /** An entry of any account, and the id of the entry that undid it. */
  readonly entry: (
    id: string,
  ) => { readonly entry: Entry; readonly reversedBy: string | undefined } | undefined;
}

const longestNote = 200;

/**
 * Reads a deposit or a withdrawal as of `today`, whose amount is a decimal already.
 * @throws FxError invalid-request, invalid-pesel
 */
export function parseCash(
  fields: Omit<Cash, "pesel" | "currency" | "note"> & {
    readonly pesel: string;
    readonly currency: string;
    readonly note?: string | undefined;
  },
  today: CalendarDate,
): Cash {
  const { kind, amount, key, by } = fields;
  const note = fields.note === undefined ? undefined : parseText(fields.note, "note", longestNote);
  const pesel = parsePesel(fields.pesel, today);
  return { kind, pesel, currency: parseCurrencyCode(fields.currency), amount, note, key, by };
}

/** @throws FxError invalid-request */
export function parseReason(text: string): string {
  return parseText(text, "reason", longestNote);
}

/**
 * Refuses a request that is wrong whatever the account is.
 * @throws FxError invalid-request, same-currency
 */
export function requireReadable(request: Request): void {
  if ("initial" in request) exactNumber(request.initial);
  if ("amount" in request) exactNumber(request.amount);
  if (request.kind !== "exchange") return;
  if (request.table !== undefined) requireTableName(request.table);
  requireTwoCurrencies(request.from, request.to);
}

/**
 * Decides a request on the account as it is: what it comes to, or why nothing is done.
 * @throws FxError account-exists, account-not-found, account-closed, and those of the kind of request
 */
export function planChange(
  account: Account | undefined,
  request: Request,
  circumstances: Circumstances,
): Plan {
  if (request.kind === "opening") {
    const opened = planOpening(account, request);
    const { name, surname } = request;
    const minor = balanceOf(opened, pln) - (account === undefined ? 0n : balanceOf(account, pln));
    return { account: opened, holder: { name, surname }, credited: { currency: pln, minor } };
  }
  if (account === undefined) {
    throw new FxError("account-not-found", "There is no account for this PESEL.");
  }
  if (account.closed) {
    throw new FxError("account-closed", "The account is closed. Open it again to use it.");
  }
  switch (request.kind) {
    case "exchange": {
      const { exchange, account: after } = planExchange(account, request, circumstances.table());
      return { account: after, debited: exchange.sold, credited: exchange.bought, exchange };
    }
    case "deposit": {
      const money = cashOf(request, request.currency === pln ? undefined : circumstances.table());
      return { account: credit(account, money), credited: money, note: request.note };
    }
    case "withdrawal": {
      const money = cashOf(request, undefined);
      return { account: debit(account, money, true), debited: money, note: request.note };
    }
    case "reversal":
      return planReversal(account, request, circumstances);
    case "renaming": {
      const { name, surname } = request;
      return { account: { ...account, name, surname }, holder: { name, surname } };
    }
    case "closing": {
      if (account.balances.every(({ minor }) => minor === 0n))
        return { account: { ...account, closed: true } };
      throw new FxError(
        "account-not-empty",
        "The account still holds money. Exchange or withdraw all of it, then close the account.",
      );
    }
  }
}

function planReversal(account: Account, { reverses, reason }: Reversal, { entry }: Circumstances): Plan {
  const found = entry(reverses);
  if (found?.entry.pesel !== account.pesel)
    throw new FxError("not-found", "There is no receipt with this id.");
  const { kind, debited: credited, credited: debited, exchange } = found.entry;
  if (!isReversible(kind)) {
    throw new FxError(
      "not-reversible",
      "Only an exchange, a deposit and a withdrawal can be reversed, and this receipt is of another kind.",
    );
  }
  if (found.reversedBy !== undefined) {
    throw new FxError("already-reversed", `This was reversed before: receipt ${found.reversedBy}.`);
  }
  const left = debited === undefined ? account : debit(account, debited, false);
  const after = credited === undefined ? left : credit(left, credited);
  return { account: after, debited, credited, exchange, reverses, note: reason };
}

export function isReversible(kind: EntryKind): boolean {
  return kind === "exchange" || kind === "deposit" || kind === "withdrawal";
}

/** @param table that has to quote the currency */
function cashOf({ kind, currency, amount }: Cash, table: RateTable | undefined): Money {
  if (minorUnitDigits(currency) === undefined || table?.rates.has(currency) === false) {
    const quoted = table === undefined ? "" : ` ${quotedBy(table)}`;
    throw new FxError("unsupported-currency", `The currency is not one for a ${kind}.${quoted}`);
  }
  return { currency, minor: requestedMinor(amount, currency) };
}

type RequestFacts = readonly (string | undefined)[];

/**
 * All in which two requests of one kind for one account can differ, the same for every spelling of one request. The
 * table to which an order is pinned is not part of it.
 */
export function requestFacts(request: Request): RequestFacts {
  switch (request.kind) {
    case "opening":
      return [request.name, request.surname, formatDecimal(request.initial)];
    case "exchange":
      return [request.from, request.to, request.side, formatDecimal(request.amount)];
    case "deposit":
    case "withdrawal":
      return [request.currency, formatDecimal(request.amount), request.note];
    case "reversal":
      return [request.reverses, request.reason];
    case "renaming":
      return [request.name, request.surname];
    case "closing":
      return [];
  }
}

/** The `requestFacts` of the request that led to `entry`. */
function factsBehind({ kind, holder, reverses, note, debited, credited, exchange }: Entry): RequestFacts {
  switch (kind) {
    case "opening":
      return [holder?.name, holder?.surname, amountText(credited)];
    case "exchange": {
      const asked = exchange?.side === "toBuy" ? credited : debited;
      return [debited?.currency, credited?.currency, exchange?.side, amountText(asked)];
    }
    case "deposit":
      return [credited?.currency, amountText(credited), note];
    case "withdrawal":
      return [debited?.currency, amountText(debited), note];
    case "reversal":
      return [reverses, note];
    case "renaming":
      return [holder?.name, holder?.surname];
    case "closing":
      return [];
  }
}

/** The same text for every spelling of one request for one account. Its digest is kept with refusals. */
export function requestText(request: Request): string {
  return factsText(request.kind, requestFacts(request));
}

/** The `requestText` of the request that led to `entry`. */
export function requestTextOf(entry: Entry): string {
  return factsText(entry.kind, factsBehind(entry));
}

function factsText(kind: EntryKind, facts: RequestFacts): string {
  return JSON.stringify([kind === "exchange" ? "order" : kind, ...facts]);
}

function amountText(money: Money | undefined): string | undefined {
  return money && formatDecimal(decimalOfMoney(money));
}
