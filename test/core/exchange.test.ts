import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Account, balanceOf } from "../../src/core/account.ts";
import { type CurrencyCode, compareCurrencies, parseCurrencyCode, pln } from "../../src/core/currency.ts";
import { FxError } from "../../src/core/errors.ts";
import {
  type ExchangeTerms,
  parseTerms,
  planExchange,
  priceExchange,
  quoteExchange,
} from "../../src/core/exchange.ts";
import { balanceLimit, decimalOfMoney, formatMoney, knownDigits } from "../../src/core/money.ts";
import { adult, decimal, table, terms } from "../support/fixture.ts";
import { fractionOf, priceByFractions, valueAtBid } from "../support/fractions.ts";

const currencies = [pln, ...table.rates.keys()];
const pairs = currencies.flatMap((from) =>
  currencies.filter((to) => to !== from).map((to) => [from, to] as const),
);

function account(...balances: string[]): Account {
  return {
    pesel: adult(),
    name: "Jan",
    surname: "Kowalski",
    closed: false,
    blocked: false,
    balances: balances
      .map((text) => text.split(" ") as [string, string])
      .map(([amount, code]) => ({ currency: parseCurrencyCode(code), minor: BigInt(amount) }))
      .sort((a, b) => compareCurrencies(a.currency, b.currency)),
  };
}

function priced(words: string): string {
  const { sold, bought } = priceExchange(terms(words), table);
  return `${formatMoney(sold)} → ${formatMoney(bought)}`;
}

/** Terms in whole minor units, over all pairs and both sides. */
const anyTerms = fc
  .record({
    pair: fc.constantFrom(...pairs),
    side: fc.constantFrom("toBuy" as const, "toSell" as const),
    minor: fc.oneof(fc.bigInt({ min: 1n, max: 300n }), fc.bigInt({ min: 1n, max: 10n ** 13n })),
  })
  .map(({ pair: [from, to], side, minor }): ExchangeTerms => {
    const currency = side === "toBuy" ? to : from;
    return { from, to, side, amount: decimalOfMoney({ currency, minor }) };
  });

describe("gap: side of the table", () => {
  test("The customer buys foreign money at the ask", () => {
    assert.equal(priced("buy 100 USD for PLN"), "370.00 PLN → 100.00 USD");
  });
  test("The customer sells foreign money at the bid", () => {
    assert.equal(priced("sell 100 USD for PLN"), "100.00 USD → 362.68 PLN");
  });
  test("Foreign to foreign goes at bid of the sold over ask of the bought", () => {
    // 100 × 3.6268 / 4.2815 = 84.7086…
    assert.equal(priced("sell 100 USD for EUR"), "100.00 USD → 84.70 EUR");
    const { bid, ask } = priceExchange(terms("sell 100 USD for EUR"), table);
    assert.deepEqual([bid, ask], [decimal("3.6268"), decimal("4.2815")]);
  });
  test("The side in PLN has no rate", () => {
    assert.equal(priceExchange(terms("buy 1 USD for PLN"), table).bid, undefined);
    assert.equal(priceExchange(terms("sell 1 USD for PLN"), table).ask, undefined);
  });
});

describe("gap: rounding", () => {
  test("The amount sold is rounded up", () => {
    // 0.01 × 4.2815 = 0.042815
    assert.equal(priced("buy 0.01 EUR for PLN"), "0.05 PLN → 0.01 EUR");
  });
  test("The amount bought is rounded down", () => {
    // 1 × 0.022645 = 0.022645
    assert.equal(priced("sell 1 JPY for PLN"), "1 JPY → 0.02 PLN");
  });
  test("An exact result is left as it is", () => {
    assert.equal(priced("sell 370 PLN for USD"), "370.00 PLN → 100.00 USD");
  });
  test("An order whose other side comes to 0 is refused", () => {
    assert.throws(() => priced("sell 0.01 HUF for PLN"), { code: "amount-too-small" });
    assert.throws(() => priced("sell 0.02 PLN for JPY"), {
      code: "amount-too-small",
      message: "The amount buys less than the smallest unit of JPY. Sell more.",
    });
  });
  test("Selling yen one at a time makes no money out of 100.00 PLN", () => {
    let held = account("10000 PLN");
    held = planExchange(held, { ...terms("sell 100 PLN for JPY"), pesel: held.pesel }, table).account;
    while (balanceOf(held, parseCurrencyCode("JPY")) > 0n) {
      held = planExchange(held, { ...terms("sell 1 JPY for PLN"), pesel: held.pesel }, table).account;
    }
    assert.ok(balanceOf(held, pln) <= 10000n, formatMoney({ currency: pln, minor: balanceOf(held, pln) }));
  });
  test("toBuy credits exactly what was asked and toSell debits exactly what was asked", () => {
    fc.assert(
      fc.property(anyTerms, (asked) => {
        const exchange = tryPrice(asked);
        if (exchange === undefined) return;
        const fixed = asked.side === "toBuy" ? exchange.bought : exchange.sold;
        assert.deepEqual(fractionOf(decimalOfMoney(fixed)), fractionOf(asked.amount));
      }),
      { numRuns: 2000 },
    );
  });
  test("Every price agrees with an independent calculation in plain fractions", () => {
    fc.assert(
      fc.property(anyTerms, (asked) => {
        const expected = priceByFractions(asked, table);
        const exchange = tryPrice(asked);
        assert.deepEqual(
          exchange === undefined ? undefined : [exchange.sold.minor, exchange.bought.minor],
          expected,
        );
      }),
      { numRuns: 5000 },
    );
  });
  test("Rounding costs the customer less than one minor unit", () => {
    fc.assert(
      fc.property(anyTerms, (asked) => {
        const exchange = tryPrice(asked);
        if (exchange === undefined) return;
        const { sold, bought } = exchange;
        // One unit less paid, or one more received, and the bank would be the one that loses.
        const better =
          asked.side === "toBuy"
            ? { sold: { ...sold, minor: sold.minor - 1n }, bought }
            : { sold, bought: { ...bought, minor: bought.minor + 1n } };
        assert.ok(
          valueAtBid(better.sold, table) < valueAtAsk(better.bought),
          `${formatMoney(sold)} for ${formatMoney(bought)}`,
        );
      }),
      { numRuns: 2000 },
    );
  });
  test("No pair of the 13 currencies and PLN makes money at the smallest amounts, there and back", () => {
    for (const [from, to] of pairs) {
      for (let minor = 1n; minor <= 120n; minor += 1n) {
        for (const side of ["toSell", "toBuy"] as const) {
          const there = tryPrice({
            from,
            to,
            side,
            amount: decimalOfMoney({ currency: side === "toSell" ? from : to, minor }),
          });
          if (there === undefined) continue;
          const back = tryPrice({ from: to, to: from, side: "toSell", amount: decimalOfMoney(there.bought) });
          assert.ok((back?.bought.minor ?? 0n) <= there.sold.minor, `${side} ${minor} ${from} ${to}`);
        }
      }
    }
  });
});

describe("gap: amounts", () => {
  const refuses = (words: string, code: string) => assert.throws(() => priced(words), { code });

  test("An order of 0 is refused", () => refuses("buy 0 USD for PLN", "invalid-amount"));
  test("An order of less than 0 is refused", () => refuses("sell -1 USD for PLN", "invalid-amount"));
  test("An order finer than a cent is refused", () => refuses("buy 0.001 USD for PLN", "invalid-amount"));
  test("An order finer than a yen is refused", () => refuses("buy 0.5 JPY for PLN", "invalid-amount"));
  test("A balance may reach the limit and not pass it", () => {
    const order = { ...terms("buy 0.01 USD for PLN"), pesel: adult() };
    const at = (usd: bigint) => planExchange(account("100 PLN", `${usd} USD`), order, table).account;
    assert.equal(balanceOf(at(balanceLimit - 1n), parseCurrencyCode("USD")), balanceLimit);
    assert.throws(() => at(balanceLimit), { code: "balance-limit" });
  });
  test("A quote may reach the limit on either side and not pass it", () => {
    const most = "9999999999999.99";
    for (const words of [`sell ${most} PLN for USD`, `buy ${most} HUF for PLN`]) {
      const { sold, bought } = quoteExchange(terms(words), table);
      assert.ok(sold.minor === balanceLimit || bought.minor === balanceLimit);
    }
    const refused = [
      "sell 10000000000000 PLN for USD",
      "buy 10000000000000 HUF for PLN",
      `buy ${most} USD for PLN`,
      "sell 1e308 PLN for USD",
    ];
    for (const words of refused) {
      assert.throws(() => quoteExchange(terms(words), table), { code: "balance-limit" });
    }
  });
  test("A quote is refused as the order of an account with the largest balance is", () => {
    const hundredths = fc.oneof(fc.integer({ min: -5, max: 20 }), fc.integer({ min: 1, max: 10 ** 9 }));
    const amount = fc
      .tuple(hundredths, fc.integer({ min: -3, max: 12 }))
      .map(([number, power]) => decimal(`${number}e${power - 2}`));
    const codes = new Map<string | undefined, number>();
    fc.assert(
      fc.property(anyTerms, amount, (asked, amount) => {
        const terms = { ...asked, amount };
        const holder = account(`${balanceLimit} ${terms.from}`);
        const quoted = codeOf(() => quoteExchange(terms, table));
        const ordered = codeOf(() => planExchange(holder, { ...terms, pesel: holder.pesel }, table));
        if (ordered === "insufficient-funds") assert.equal(quoted, "balance-limit");
        else assert.equal(quoted, ordered);
        codes.set(quoted, (codes.get(quoted) ?? 0) + 1);
      }),
      { numRuns: 3000 },
    );
    for (const code of [undefined, "balance-limit", "invalid-amount", "amount-too-small"]) {
      assert.ok((codes.get(code) ?? 0) > 0, `${code}: ${codes.get(code)}`);
    }
  });
  test("A hugely larger amount than any account holds is insufficient funds", () => {
    const order = { ...terms("sell 1e300 PLN for USD"), pesel: adult() };
    assert.throws(() => planExchange(account("100 PLN"), order, table), { code: "insufficient-funds" });
  });
});

describe("gap: currency symbols", () => {
  test("A currency that the table does not quote is refused, and those that it does are named", () => {
    assert.throws(() => priced("buy 1 THB for PLN"), {
      code: "unsupported-currency",
      message: /^The currency to be bought cannot be exchanged.*PLN, AUD, CAD/,
    });
  });
  test("A symbol of any other form is refused without repeating it", () => {
    for (const symbol of ["44051401359", "4405USD", "USD4405"]) {
      assert.throws(() => priced(`buy 1 ${symbol} for PLN`), {
        code: "unsupported-currency",
        message: /^The currency to be bought cannot be exchanged/,
      });
    }
  });
});

test("gap: same currency is refused, in any case", () => {
  assert.throws(() => terms("buy 1 usd for USD"), {
    code: "same-currency",
    message: "An exchange needs two different currencies.",
  });
});

test("gap: not enough money is refused, saying what is taken where the order does not say it", () => {
  const order = { ...terms("buy 100 USD for PLN"), pesel: adult() };
  assert.throws(() => planExchange(account("36999 PLN"), order, table), {
    code: "insufficient-funds",
    message: /takes 370\.00 PLN, which is more than the account holds/,
  });
});

test("A currency that was emptied stays listed, at 0", () => {
  const order = { ...terms("sell 10 USD for PLN"), pesel: adult() };
  const after = planExchange(account("0 PLN", "1000 USD"), order, table).account;
  assert.deepEqual(after.balances.map(formatMoney), ["36.26 PLN", "0.00 USD"]);
});

test("New currencies are listed after PLN, by symbol", () => {
  let held = account("100000 PLN");
  for (const code of ["USD", "AUD", "JPY"]) {
    held = planExchange(held, { ...terms(`buy 1 ${code} for PLN`), pesel: held.pesel }, table).account;
  }
  assert.deepEqual(
    held.balances.map(({ currency }) => currency),
    ["PLN", "AUD", "JPY", "USD"],
  );
});

test("An order that carries a table is refused when another is in force", () => {
  const order = { ...terms("buy 1 USD for PLN"), pesel: adult(), table: "107/C/NBP/2026" };
  assert.throws(() => planExchange(account("1000 PLN"), order, table), {
    code: "rate-changed",
    message: /108\/C\/NBP\/2026/,
  });
});

test("An order that carries the table in force, by number or id, is settled", () => {
  for (const pinned of [table.number, table.id]) {
    const order = { ...terms("buy 1 USD for PLN"), pesel: adult(), table: pinned };
    assert.equal(planExchange(account("1000 PLN"), order, table).exchange.tableId, table.id);
  }
});

test("Terms need exactly one of toBuy and toSell", () => {
  const one = decimal("1");
  for (const amounts of [{}, { toBuy: one, toSell: one }]) {
    assert.throws(() => parseTerms({ from: "PLN", to: "USD", ...amounts }), {
      code: "invalid-request",
      message: "Give exactly one of toBuy and toSell.",
    });
  }
});

function tryPrice(asked: ExchangeTerms) {
  try {
    return priceExchange(asked, table);
  } catch (error) {
    assert.ok(error instanceof FxError && error.code === "amount-too-small");
    return undefined;
  }
}

/** The code of the refusal; undefined if there is none. */
function codeOf(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof FxError);
    return error.code;
  }
}

/** In 10^−12 PLN, so that it compares with `valueAtBid`. */
function valueAtAsk({ currency, minor }: { currency: CurrencyCode; minor: bigint }): bigint {
  const ask = table.rates.get(currency)?.ask ?? { coefficient: 1n, scale: 0 };
  return minor * ask.coefficient * 10n ** BigInt(12 - ask.scale - knownDigits(currency));
}
