import {
  type Account,
  balanceOf,
  credit,
  debit,
  type Holder,
  type Opening,
  parseHolder,
  parseText,
  planOpening,
} from "./account.ts";
import { type CurrencyCode, minorUnitDigits, parseCurrencyCode, pln } from "./currency.ts";
import type { CalendarDate } from "./date.ts";
import { type Decimal, formatDecimal } from "./decimal.ts";
import { FxError } from "./errors.ts";
import {
  type Exchange,
  type ExchangeOrder,
  planExchange,
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

/** The facts of the ledger, besides the account, on which a request is decided. */
export interface Circumstances {
  /**
   * The table that an order settles at.
   * @throws FxError trading-suspended, rates-unavailable
   */
  readonly table: () => RateTable;
  /**
   * Refuses a deposit of a currency that the table in force does not quote.
   * @throws FxError rates-unavailable, unsupported-currency
   */
  readonly requireQuoted: (currency: CurrencyCode) => void;
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

type Given<Asked> = Asked extends Cash
  ? CashFields & { readonly pesel: string }
  : Omit<Asked, "pesel"> & { readonly pesel: string };

/** A change of an account whose texts, PESEL and currency are not read yet. */
export type GivenChange = Given<Change>;

/**
 * Reads a change as of `today`: first its texts, then its PESEL. Parts that its kind does not have are left out.
 * @throws FxError invalid-request, invalid-pesel
 */
export function parseChange(given: GivenChange, today: CalendarDate): Change {
  const common = () => ({ pesel: parsePesel(given.pesel, today), key: given.key, by: given.by });
  switch (given.kind) {
    case "deposit":
    case "withdrawal":
      return parseCash(given, today);
    case "reversal": {
      const { kind, reverses } = given;
      const reason = parseReason(given.reason);
      const house = housePlaceOf(given.pesel);
      const { key, by, pesel } = house === undefined ? common() : { ...given, pesel: houseNumber(house) };
      return { kind, reverses, reason, pesel, key, by };
    }
    case "renaming":
      return { kind: given.kind, ...parseHolder(given), ...common() };
    case "closing":
      return { kind: given.kind, ...common() };
    case "block":
    case "unblock":
      return { kind: given.kind, reason: parseReason(given.reason), ...common() };
  }
}

/** @throws FxError invalid-request */
export function parseReason(text: string): string {
  return parseText(text, "reason", longestNote);
}

/**
 * Refuses a request that is wrong for any account.
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
  const isOfHouse = housePlaceOf(request.pesel) !== undefined;
  const account = isOfHouse && !isForHouse(request.kind) ? undefined : existing;
  if (account === undefined) {
    throw new FxError("account-not-found", "There is no account for this PESEL.");
  }
  if (account.closed) {
    throw new FxError("account-closed", "The account is closed. Open it again to use it.");
  }
  if (account.blocked && !goesOnWhileBlocked(request.kind)) throw accountBlocked();
  switch (request.kind) {
    case "exchange": {
      const { exchange, account: after } = planExchange(account, request, circumstances.table());
      return { account: after, debited: exchange.sold, credited: exchange.bought, exchange };
    }
    case "deposit": {
      if (request.currency !== pln && !isOfHouse) circumstances.requireQuoted(request.currency);
      const money = cashOf(request);
      return { account: credit(account, money), credited: money, note: request.note };
    }
    case "withdrawal": {
      const money = cashOf(request);
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

/** Whether requests of this kind can be about the house's own money. */
function isForHouse(kind: EntryKind): boolean {
  return kind === "deposit" || kind === "withdrawal" || kind === "reversal";
}

/** Whether a request of this kind can be carried out on a blocked account. A reversal can if it only gives money back. */
function goesOnWhileBlocked(kind: EntryKind): boolean {
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

function isReversible(kind: EntryKind): boolean {
  return kind === "exchange" || kind === "deposit" || kind === "withdrawal";
}

function cashOf({ kind, currency, amount }: Cash): Money {
  if (minorUnitDigits(currency) === undefined) {
    throw new FxError("unsupported-currency", `A ${kind} cannot be in this currency.`);
  }
  return { currency, minor: requestedMinor(amount, currency) };
}

/** The entry that carries out a plan. */
export function entryOf(
  head: Pick<Entry, "kind" | "id" | "pesel" | "sequence" | "time" | "key" | "by">,
  { account, debited, credited, exchange, reverses, note }: Plan,
): Entry {
  const { kind, id, pesel, sequence, time, key, by } = head;
  const { name, surname, blocked, balances } = account;
  const common = { kind, id, pesel, sequence, time, key, by, holder: { name, surname }, blocked, balances };
  return { debited, credited, exchange, reverses, note, ...common };
}

/** The request that led to an entry, without its token. */
export function requestBehind(entry: Entry): Request {
  const { kind, pesel, key, holder, note, reverses = "", debited, credited } = entry;
  const common = { pesel, key };
  const moved = (credited ?? debited) as Money;
  switch (kind) {
    case "opening":
      return { kind, initial: decimalOfMoney(moved), ...common, ...holder };
    case "exchange": {
      const { side, sold, bought } = entry.exchange as Exchange;
      const amount = decimalOfMoney(side === "toBuy" ? bought : sold);
      return { kind, from: sold.currency, to: bought.currency, side, amount, ...common };
    }
    case "deposit":
    case "withdrawal":
      return { kind, currency: moved.currency, amount: decimalOfMoney(moved), note, ...common };
    case "reversal":
      return { kind, ...common, reverses, reason: note ?? "" };
    case "renaming":
      return { kind, ...common, ...holder };
    case "closing":
      return { kind, ...common };
    case "block":
    case "unblock":
      return { kind, ...common, reason: note ?? "" };
  }
}

/**
 * The facts that tell apart two requests of one kind for one account. Every spelling of a request has the same ones. The
 * rate table to which an order is pinned is not among them.
 */
export function requestFacts(request: Request): readonly (string | undefined)[] {
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

/** The same text for every spelling of one request for one account. Its digest is kept with refusals. */
export function requestText(request: Request): string {
  const { kind } = request;
  return JSON.stringify([kind === "exchange" ? "order" : kind, ...requestFacts(request)]);
}
