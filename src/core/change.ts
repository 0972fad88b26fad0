import {
  type Account,
  balanceOf,
  credit,
  debit,
  emptyHouseAccount,
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
import { type HousePlace, houseNumber, housePlaceOf } from "./house.ts";
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

/** Money that a customer brings or takes, or that the house puts into its own accounts or takes out. */
export interface Cash extends Common {
  readonly kind: "deposit" | "withdrawal";
  readonly currency: CurrencyCode;
  /** Units of the currency. Checked by `planChange`. */
  readonly amount: Decimal;
  readonly note: string | undefined;
}

/** The opposite of an exchange, a deposit or a withdrawal. */
interface Reversal extends Common {
  readonly kind: "reversal";
  /** The id of the entry. */
  readonly reverses: string;
  readonly reason: string;
}

interface Renaming extends Common, Holder {
  readonly kind: "renaming";
}

interface Closing extends Common {
  readonly kind: "closing";
}

/** Blocks an account, or lifts the block. */
interface Block extends Common {
  readonly kind: "block" | "unblock";
  readonly reason: string;
}

/** A request that leaves an account with one more entry, and is neither an opening nor an exchange. */
export type Change = Cash | Reversal | Renaming | Closing | Block;

/** Every request that makes an entry, by its kind. */
export type Request =
  | (Opening & { readonly kind: "opening" })
  | (ExchangeOrder & { readonly kind: "exchange" })
  | Change;

/** The requests of a batch. */
export type BulkRequest = Extract<Request, { kind: "opening" | "exchange" | Cash["kind"] }>;

/** The result of a request: the account after it, and the facts of its entry. */
export interface Plan
  extends Partial<Pick<Entry, "debited" | "credited" | "exchange" | "reverses" | "note">> {
  readonly account: Account;
}

/** The parts of the ledger that decide a request, besides its account. */
export interface Circumstances {
  /**
   * The table in force.
   * @throws FxError rates-unavailable
   */
  readonly table: () => RateTable;
  /** @throws FxError trading-suspended */
  readonly requireTrading: () => void;
  /** An entry of any account, and the id of the entry that undid it. */
  readonly entry: (
    id: string,
  ) => { readonly entry: Entry; readonly reversedBy: string | undefined } | undefined;
}

const longestNote = 200;

type CashFields = Omit<Cash, "pesel" | "currency" | "note"> & {
  readonly currency: string;
  readonly note?: string | undefined;
};

/**
 * Reads a deposit or a withdrawal as of `today`, whose amount is a decimal already.
 * @throws FxError invalid-request, invalid-pesel
 */
export function parseCash(fields: CashFields & { readonly pesel: string }, today: CalendarDate): Cash {
  return readCash(fields, () => parsePesel(fields.pesel, today));
}

/**
 * Reads a deposit or a withdrawal of the house's own money.
 * @throws FxError invalid-request
 */
export function parseHouseCash(fields: CashFields & { readonly account: HousePlace }): Cash {
  return readCash(fields, () => houseNumber(fields.account));
}

function readCash({ kind, amount, key, by, ...given }: CashFields, account: () => Pesel): Cash {
  const note = given.note === undefined ? undefined : parseText(given.note, "note", longestNote);
  return { kind, pesel: account(), currency: parseCurrencyCode(given.currency), amount, note, key, by };
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
 * Decides a request on the account as it is.
 * @throws FxError account-exists, account-not-found, account-closed, account-blocked, and those of the kind of request
 */
export function planChange(
  existing: Account | undefined,
  request: Request,
  circumstances: Circumstances,
): Plan {
  if (request.kind === "opening") {
    const opened = planOpening(existing, request);
    const minor = balanceOf(opened, pln) - (existing === undefined ? 0n : balanceOf(existing, pln));
    return { account: opened, credited: { currency: pln, minor } };
  }
  const place = housePlaceOf(request.pesel);
  // Nobody opens the house's accounts: they begin with their first entry.
  const account = existing ?? (place && emptyHouseAccount(place));
  if (account === undefined) {
    throw new FxError("account-not-found", "There is no account for this PESEL.");
  }
  if (account.closed) {
    throw new FxError("account-closed", "The account is closed. Open it again to use it.");
  }
  if (account.blocked && !goesOnWhileBlocked(request.kind)) throw accountBlocked();
  switch (request.kind) {
    case "exchange": {
      circumstances.requireTrading();
      const { exchange, account: after } = planExchange(account, request, circumstances.table());
      return { account: after, debited: exchange.sold, credited: exchange.bought, exchange };
    }
    case "deposit": {
      const isFree = request.currency === pln || place !== undefined;
      const money = cashOf(request, isFree ? undefined : circumstances.table());
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
      return { account: { ...account, name, surname } };
    }
    case "closing": {
      if (account.balances.every(({ minor }) => minor === 0n))
        return { account: { ...account, closed: true } };
      throw new FxError(
        "account-not-empty",
        "The account still holds money. Exchange or withdraw all of it, then close the account.",
      );
    }
    case "block":
      return { account: { ...account, blocked: true }, note: request.reason };
    case "unblock":
      if (account.blocked) return { account: { ...account, blocked: false }, note: request.reason };
      throw new FxError("account-not-blocked", "The account is not blocked. There is nothing to lift.");
  }
}

/** Whether a request of this kind can be carried out on a blocked account. A reversal can if it only gives money back. */
export function goesOnWhileBlocked(kind: EntryKind): boolean {
  return kind === "deposit" || kind === "renaming" || kind === "reversal" || kind === "unblock";
}

function accountBlocked(): FxError {
  return new FxError(
    "account-blocked",
    "The account is blocked: nothing leaves it, and nothing is exchanged, until an operator unblocks it.",
  );
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
  if (account.blocked && debited !== undefined) throw accountBlocked();
  if (found.reversedBy !== undefined) {
    // A reversal of a dry run has no receipt.
    const receipt = found.reversedBy === "" ? "" : `: receipt ${found.reversedBy}`;
    throw new FxError("already-reversed", `This was reversed before${receipt}.`);
  }
  const left = debited === undefined ? account : debit(account, debited, false);
  const after = credited === undefined ? left : credit(left, credited);
  return { account: after, debited, credited, exchange, reverses: found.entry.id, note: reason };
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
 * Everything in which two requests of one kind for one account can differ, the same for every spelling of one request.
 * The rate table to which an order is pinned is not part of it.
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
      return [request.reverses.toLowerCase(), request.reason];
    case "renaming":
      return [request.name, request.surname];
    case "closing":
      return [];
    case "block":
    case "unblock":
      return [request.reason];
  }
}

/** The `requestFacts` of the request that led to `entry`. */
function factsBehind({ kind, holder, reverses, note, debited, credited, exchange }: Entry): RequestFacts {
  switch (kind) {
    case "opening":
      return [holder.name, holder.surname, amountText(credited)];
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
      return [holder.name, holder.surname];
    case "closing":
      return [];
    case "block":
    case "unblock":
      return [note];
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
