import type { Holder } from "../../src/core/account.ts";
import type { Request } from "../../src/core/change.ts";
import { minorUnitDigits, pln } from "../../src/core/currency.ts";
import { type Decimal, formatDecimal } from "../../src/core/decimal.ts";
import type { ErrorCode } from "../../src/core/errors.ts";
import { housePlaceOf } from "../../src/core/house.ts";
import type { EntryKind } from "../../src/core/journal.ts";
import { balanceLimit } from "../../src/core/money.ts";
import type { RateTable } from "../../src/core/rates.ts";
import { fractionOf, priceByFractions } from "../support/fractions.ts";

/** The answer that fx should give: the new balances as "currency: minor units", or the code of the refusal. */
export type Expected = Answer & { readonly replayed: boolean };

/** Refusals that are replayed for the same key. */
const final: readonly ErrorCode[] = [
  "account-not-found",
  "account-exists",
  "insufficient-funds",
  "balance-limit",
  "unsupported-currency",
  "amount-too-small",
  "already-reversed",
  "account-closed",
  "account-blocked",
  "account-not-blocked",
  "account-not-empty",
];

type Answer = { readonly balances: ReadonlyMap<string, bigint> } | { readonly refused: ErrorCode };

export type Side = readonly [currency: string, minor: bigint];

export interface ModelEntry {
  readonly kind: EntryKind;
  timeMs: number;
  /** Name of the request's token. */
  by?: string | undefined;
  readonly debited?: Side | undefined;
  readonly credited?: Side | undefined;
  /** The account's holder after it. */
  holder?: Holder | undefined;
  readonly note?: string | undefined;
  /** The entry that it reverses. */
  readonly reverses?: ModelEntry | undefined;
  /** The entry that reverses it. */
  reversedBy?: ModelEntry | undefined;
  /** The id, once it was read from the ledger. */
  id?: string | undefined;
}

interface ModelAccount {
  readonly balances: ReadonlyMap<string, bigint>;
  readonly closed: boolean;
  readonly blocked: boolean;
  readonly entries: ModelEntry[];
  readonly timeMs: number;
}

/** An account of the house before its first entry. */
const unused: ModelAccount = { balances: new Map(), closed: false, blocked: false, entries: [], timeMs: 0 };

/** The furthest that an entry's time may be ahead of the clock. */
export const aheadAtMostMs = 5 * 60_000;

class Refused extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode) {
    super(code);
    this.code = code;
  }
}

function refuse(code: ErrorCode): never {
  throw new Refused(code);
}

/** The reference model: fx without a store, groups or hashes, with maps and plain fractions. */
export class Model {
  readonly accounts = new Map<string, ModelAccount>();
  table: RateTable | undefined;
  isSuspended = false;
  clock = 0;
  /** First answers by PESEL and key. */
  readonly #answered = new Map<
    string,
    { readonly by: string | undefined; readonly asked: string; readonly answer: Answer }
  >();

  /** The expected answer; a known key gets its first answer again. */
  answer(request: Request): Expected {
    const { pesel, key, by } = request;
    const earlier = key === undefined ? undefined : this.#answered.get(pesel + key);
    const asked = askedFor(request);
    if (earlier !== undefined) {
      const isOurs = earlier.by === undefined || by === undefined || earlier.by === by;
      return isOurs && earlier.asked === asked
        ? { ...earlier.answer, replayed: true }
        : { refused: "idempotency-key-reused", replayed: false };
    }
    const answer = this.#decide(request);
    if (key !== undefined && (!("refused" in answer) || final.includes(answer.refused))) {
      this.#answered.set(pesel + key, { by, asked, answer });
    }
    return { ...answer, replayed: false };
  }

  #decide(request: Request): Answer {
    const account = this.accounts.get(request.pesel);
    const place = housePlaceOf(request.pesel);
    const isHouse = place !== undefined;
    try {
      const entry: ModelEntry = { ...this.#entryFor(request, account), timeMs: this.clock };
      const balances = new Map(account?.balances);
      for (const [[currency, minor], sign] of flows(entry)) {
        const changed = (balances.get(currency) ?? 0n) + sign * minor;
        if (changed < 0n && !isHouse) refuse("insufficient-funds");
        if (changed > balanceLimit || changed < -balanceLimit) refuse("balance-limit");
        balances.set(currency, changed);
      }
      const timeMs = Math.max(account?.timeMs ?? 0, this.clock);
      if (timeMs > this.clock + aheadAtMostMs) refuse("storage-unavailable");
      const entries = account?.entries ?? [];
      entry.timeMs = timeMs;
      entry.by = request.by;
      entry.holder ??= isHouse ? { name: "House", surname: place } : entries.at(-1)?.holder;
      entries.push(entry);
      if (entry.reverses !== undefined) entry.reverses.reversedBy = entry;
      const closed = entry.kind === "closing";
      const blocked = entry.kind === "block" || (account?.blocked === true && entry.kind !== "unblock");
      this.accounts.set(request.pesel, { balances, closed, blocked, entries, timeMs });
      return { balances };
    } catch (error) {
      if (error instanceof Refused) return { refused: error.code };
      throw error;
    }
  }

  #entryFor(request: Request, existing: ModelAccount | undefined): Omit<ModelEntry, "timeMs"> {
    const isHouse = housePlaceOf(request.pesel) !== undefined;
    const account = existing ?? (isHouse ? unused : undefined);
    const { kind } = request;
    if (kind === "opening") {
      if (account?.closed === false) refuse("account-exists");
      const { name, surname, initial } = request;
      const minor = minorOf(initial, 2);
      if (minor === undefined || minor < 0n) refuse("invalid-amount");
      return { kind, holder: { name, surname }, credited: [pln, minor] };
    }
    if (account === undefined) refuse("account-not-found");
    if (account.closed) refuse("account-closed");
    if (account.blocked && ["exchange", "withdrawal", "closing", "block"].includes(kind)) {
      refuse("account-blocked");
    }
    switch (kind) {
      case "exchange":
        return this.#exchange(request);
      case "deposit": {
        const { note, currency } = request;
        if (
          currency !== pln &&
          !isHouse &&
          !(this.table ?? refuse("rates-unavailable")).rates.has(currency)
        ) {
          refuse("unsupported-currency");
        }
        return { kind, credited: cash(request), note };
      }
      case "withdrawal":
        return { kind, debited: cash(request), note: request.note };
      case "reversal": {
        const reverses = account.entries.find(({ id }) => id === request.reverses) ?? refuse("not-found");
        if (!["exchange", "deposit", "withdrawal"].includes(reverses.kind)) refuse("not-reversible");
        if (account.blocked && reverses.credited !== undefined) refuse("account-blocked");
        if (reverses.reversedBy !== undefined) refuse("already-reversed");
        const { debited: credited, credited: debited } = reverses;
        return { kind, reverses, debited, credited, note: request.reason };
      }
      case "renaming":
        return { kind, holder: { name: request.name, surname: request.surname } };
      case "closing":
        if ([...account.balances.values()].some((minor) => minor !== 0n)) refuse("account-not-empty");
        return { kind };
      case "block":
        return { kind, note: request.reason };
      case "unblock":
        if (!account.blocked) refuse("account-not-blocked");
        return { kind, note: request.reason };
    }
  }

  #exchange(order: Request & { kind: "exchange" }): Omit<ModelEntry, "timeMs"> {
    const { from, to, side, amount } = order;
    if (this.isSuspended) refuse("trading-suspended");
    const table = this.table ?? refuse("rates-unavailable");
    if (order.table !== undefined && ![table.number, table.id].includes(order.table)) refuse("rate-changed");
    if ([from, to].some((code) => code !== pln && !table.rates.has(code))) refuse("unsupported-currency");
    const asked = minorOf(amount, minorUnitDigits(side === "toBuy" ? to : from) ?? 0);
    if (asked === undefined || asked <= 0n) refuse("invalid-amount");
    const [sold, bought] = priceByFractions(order, table) ?? refuse("amount-too-small");
    return { kind: "exchange", debited: [from, sold], credited: [to, bought] };
  }
}

/** The amounts that an entry debits and credits. */
export function flows({ debited, credited }: ModelEntry): [side: Side, sign: bigint][] {
  return [
    ...(debited ? [[debited, -1n] as [Side, bigint]] : []),
    ...(credited ? [[credited, 1n] as [Side, bigint]] : []),
  ];
}

function cash({ currency, amount }: Request & { kind: "deposit" | "withdrawal" }): Side {
  const digits = minorUnitDigits(currency) ?? refuse("unsupported-currency");
  const minor = minorOf(amount, digits);
  if (minor === undefined || minor <= 0n) refuse("invalid-amount");
  return [currency, minor];
}

/** @returns undefined if the amount is finer than the minor unit */
function minorOf(amount: Decimal, digits: number): bigint | undefined {
  const [numerator, denominator] = fractionOf({
    ...amount,
    coefficient: amount.coefficient * 10n ** BigInt(digits),
  });
  return denominator === 1n ? numerator : undefined;
}

/** A request as text, without key, token and pinned rate table. */
function askedFor(request: Request): string {
  const { pesel: _pesel, key: _key, by: _by, ...facts } = { ...request, table: undefined };
  return JSON.stringify(facts, (_, value) =>
    typeof value === "object" && "coefficient" in value ? formatDecimal(value) : value,
  );
}
