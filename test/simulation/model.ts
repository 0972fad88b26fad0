import type { Opening } from "../../src/core/account.ts";
import { minorUnitDigits, pln } from "../../src/core/currency.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import type { ErrorCode } from "../../src/core/errors.ts";
import type { ExchangeOrder } from "../../src/core/exchange.ts";
import { balanceLimit } from "../../src/core/money.ts";
import type { RateTable } from "../../src/core/rates.ts";
import { fractionOf, priceByFractions } from "../support/fractions.ts";

/** What fx should answer: the balances after, as "currency: minor units", or the code of the refusal. */
export type Expected = Answer & { readonly replayed: boolean };

/** Refusals that a later request with the same key gets again. */
const final: readonly ErrorCode[] = [
  "account-not-found",
  "account-exists",
  "insufficient-funds",
  "balance-limit",
  "unsupported-currency",
  "amount-too-small",
];

type Answer = { readonly balances: ReadonlyMap<string, bigint> } | { readonly refused: ErrorCode };

interface ModelAccount {
  balances: Map<string, bigint>;
  entries: number;
}

/** fx without a store, a batch or a hash: maps and plain fractions. What the real one is compared with. */
export class Model {
  readonly accounts = new Map<string, ModelAccount>();
  table: RateTable | undefined;
  /** By PESEL and key. */
  readonly #answered = new Map<string, { readonly request: string; readonly answer: Expected }>();

  open(opening: Opening): Expected {
    const { name, surname, initial } = opening;
    const request = JSON.stringify(["open", name, surname, formatDecimal(initial)]);
    return this.#once(opening, request, () => this.#open(opening));
  }

  exchange(order: ExchangeOrder): Expected {
    const { from, to, side, amount } = order;
    const request = JSON.stringify(["exchange", from, to, side, formatDecimal(amount)]);
    return this.#once(order, request, () => this.#exchange(order));
  }

  /** The first answer to a key is the answer to it. */
  #once({ pesel, key }: Opening | ExchangeOrder, request: string, decide: () => Answer): Expected {
    const earlier = key === undefined ? undefined : this.#answered.get(pesel + key);
    if (earlier !== undefined) {
      const isSame = earlier.request === request;
      return isSame
        ? { ...earlier.answer, replayed: true }
        : { refused: "idempotency-key-reused", replayed: false };
    }
    const answer = { ...decide(), replayed: false };
    if (key !== undefined && (!("refused" in answer) || final.includes(answer.refused))) {
      this.#answered.set(pesel + key, { request, answer });
    }
    return answer;
  }

  #open({ pesel, initial }: Opening): Answer {
    if (this.accounts.has(pesel)) return { refused: "account-exists" };
    const [numerator, denominator] = fractionOf({ ...initial, coefficient: initial.coefficient * 100n });
    if (denominator !== 1n || numerator < 0n) return { refused: "invalid-amount" };
    if (numerator > balanceLimit) return { refused: "balance-limit" };
    const account: ModelAccount = { balances: new Map([[pln, numerator]]), entries: 1 };
    this.accounts.set(pesel, account);
    return { balances: account.balances };
  }

  #exchange(order: ExchangeOrder): Answer {
    const { pesel, from, to, side, amount } = order;
    const account = this.accounts.get(pesel);
    if (account === undefined) return { refused: "account-not-found" };
    const table = this.table;
    if (table === undefined) return { refused: "rates-unavailable" };
    if (order.table !== undefined && ![table.number, table.id].includes(order.table))
      return { refused: "rate-changed" };
    if ([from, to].some((code) => code !== pln && !table.rates.has(code))) {
      return { refused: "unsupported-currency" };
    }
    const digits = minorUnitDigits(side === "toBuy" ? to : from) ?? 0;
    const [numerator, denominator] = fractionOf({
      ...amount,
      coefficient: amount.coefficient * 10n ** BigInt(digits),
    });
    if (denominator !== 1n || numerator <= 0n) return { refused: "invalid-amount" };
    const price = priceByFractions(order, table);
    if (price === undefined) return { refused: "amount-too-small" };
    const [sold, bought] = price;
    const left = (account.balances.get(from) ?? 0n) - sold;
    if (left < 0n) return { refused: "insufficient-funds" };
    const raised = (account.balances.get(to) ?? 0n) + bought;
    if (raised > balanceLimit) return { refused: "balance-limit" };
    account.balances = new Map([...account.balances, [from, left], [to, raised]]);
    account.entries += 1;
    return { balances: account.balances };
  }
}
