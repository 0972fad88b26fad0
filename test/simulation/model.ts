import type { Opening } from "../../src/core/account.ts";
import { minorUnitDigits, pln } from "../../src/core/currency.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import type { ErrorCode } from "../../src/core/errors.ts";
import type { ExchangeOrder } from "../../src/core/exchange.ts";
import { balanceLimit } from "../../src/core/money.ts";
import type { RateTable } from "../../src/core/rates.ts";
import { fractionOf, priceByFractions } from "../support/fractions.ts";

/** What fx should answer: the balances after, as "currency: minor units", or the code of the refusal. */
export type Expected =
  | { readonly balances: ReadonlyMap<string, bigint>; readonly replayed: boolean }
  | { readonly refused: ErrorCode };

interface ModelAccount {
  balances: Map<string, bigint>;
  entries: number;
  readonly answered: Map<string, { readonly request: string; readonly balances: Map<string, bigint> }>;
}

/** fx without a store, a batch or a hash: maps and plain fractions. What the real one is compared with. */
export class Model {
  readonly accounts = new Map<string, ModelAccount>();
  table: RateTable | undefined;

  open({ pesel, name, surname, initial, key }: Opening): Expected {
    const request = JSON.stringify(["open", name, surname, formatDecimal(initial)]);
    const known = this.accounts.get(pesel);
    const earlier = key === undefined ? undefined : known?.answered.get(key);
    if (earlier !== undefined) return replay(earlier, request);
    if (known !== undefined) return { refused: "account-exists" };
    const [numerator, denominator] = fractionOf({ ...initial, coefficient: initial.coefficient * 100n });
    if (denominator !== 1n || numerator < 0n) return { refused: "invalid-amount" };
    if (numerator > balanceLimit) return { refused: "balance-limit" };
    const account: ModelAccount = { balances: new Map([[pln, numerator]]), entries: 1, answered: new Map() };
    this.accounts.set(pesel, account);
    return settle(account, key, request);
  }

  exchange(order: ExchangeOrder): Expected {
    const { pesel, from, to, side, amount, key } = order;
    const request = JSON.stringify(["exchange", from, to, side, formatDecimal(amount)]);
    const account = this.accounts.get(pesel);
    if (account === undefined) return { refused: "account-not-found" };
    const earlier = key === undefined ? undefined : account.answered.get(key);
    if (earlier !== undefined) return replay(earlier, request);
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
    return settle(account, key, request);
  }
}

function settle(account: ModelAccount, key: string | undefined, request: string): Expected {
  if (key !== undefined) account.answered.set(key, { request, balances: account.balances });
  return { balances: account.balances, replayed: false };
}

function replay(earlier: { request: string; balances: Map<string, bigint> }, request: string): Expected {
  if (earlier.request !== request) return { refused: "idempotency-key-reused" };
  return { balances: earlier.balances, replayed: true };
}
