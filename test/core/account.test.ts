import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  type Account,
  accountBeforeEntries,
  balanceOf,
  credit,
  debit,
  parseOpening,
  planOpening,
  requireAdult,
} from "../../src/core/account.ts";
import { type CurrencyCode, pln } from "../../src/core/currency.ts";
import { houseNumber, housePlaces } from "../../src/core/house.ts";
import { balanceLimit, formatMoney, type Money } from "../../src/core/money.ts";
import { type Pesel, parsePesel } from "../../src/core/pesel.ts";
import { money } from "../support/entries.ts";
import { adult, decimal, peselOf, today } from "../support/fixture.ts";

const empty: Account = {
  pesel: adult(),
  name: "Jan",
  surname: "Kowalski",
  balances: [],
  closed: false,
  blocked: false,
};
const request = { pesel: adult(), name: "Jan", surname: "Kowalski", initial: decimal("10") };
const texts = (account: Account) => account.balances.map(formatMoney);
const anyMoney: fc.Arbitrary<Money> = fc.record({
  currency: fc.constantFrom(...["PLN", "AUD", "JPY", "USD", "ZAR"].map((code) => code as CurrencyCode)),
  minor: fc.bigInt({ min: 0n, max: 10n ** 12n }),
});
const anyMoneys = fc.array(anyMoney, { maxLength: 12 });
const filled = (moneys: readonly Money[]) => moneys.reduce(credit, empty);

test("A request for an account is read with its names, its amount, its key and the name of its token", () => {
  const whole = { ...request, key: "k", by: "counter 2" };
  assert.deepEqual(parseOpening(whole, today), whole);
  assert.equal(parseOpening(request, today).key, undefined);
});

const length = "must have 1 to 100 characters";
const deceptive = "must not have control or invisible characters, or broken Unicode";
const taken: readonly [what: string, given: string, read?: string][] = [
  ["of 1 character", "J"],
  ["of 100 letters", "a".repeat(100)],
  ["of 100 characters of several bytes", "🙂".repeat(100)],
  ["with spaces around it", " \nJan Maria\t", "Jan Maria"],
  ["that is not in NFC", "Z\u0307o\u0301\u0142c\u0301".repeat(25), "Żółć".repeat(25)],
  ["with a joiner inside", "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"],
  ["with a joiner at its end", "\u0d05\u0d35\u0d28\u0d4d\u200d"],
  ["with a variation selector", "\u845b\u{e0100}\u57ce"],
];
const controls = [..."\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"];
const unseen = [..."\u00ad\u200b\u2028\u2029\u2060\ufeff\u{e0041}"];
const blank = [..."\u034f\u115f\u1160\u2800\u3164\uffa0\u{16fe4}\u{1d159}"];
const refused: readonly [what: string, detail: string, ...texts: string[]][] = [
  ["that is empty, blank or longer", length, "", "  \t", "a".repeat(101)],
  ["that is longer in NFC", length, "Z\u0307".repeat(101), "\u0958".repeat(51)],
  ["that no text file could hold", deceptive, "J\u0000n", "J\nn", "J\u0085n", "J\ud83dn"],
  ["that turns the direction of text", deceptive, ...controls.map((control) => `J${control}n`)],
  ["with an invisible character", deceptive, ...[...unseen, ...blank].map((each) => `J${each}n`)],
  ["that begins with a joiner", deceptive, "\u200d", " \u200cJan", "\ufe0f", "\u{e0100}Jan", "\u180b"],
];

for (const field of ["name", "surname"] as const) {
  const read = (text: string) => parseOpening({ ...request, [field]: text }, today)[field];

  for (const [what, given, expected = given] of taken) {
    test(`A request for an account may have a ${field} ${what}`, () => {
      assert.equal(read(given), expected);
    });
  }

  for (const [what, detail, ...texts] of refused) {
    test(`A request for an account is refused with a ${field} ${what}`, () => {
      const message = `The ${field} ${detail}.`;
      const refusal = { code: "invalid-request", message, fields: [{ pointer: `/${field}`, detail }] };
      for (const text of texts) assert.throws(() => read(text), refusal);
    });
  }

  test(`A request for an account is refused with a ${field} of invisible characters only`, () => {
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      if (!/[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Control}]/u.test(character)) continue;
      for (const text of [character, `${character}${character}`, ` ${character}\u200b`]) {
        assert.throws(() => read(text), { code: "invalid-request" }, code.toString(16));
      }
    }
  });
}

test("An account is opened for adults: from the 18th birthday, and not on the day before it", () => {
  assert.throws(() => requireAdult(peselOf("0826090000") as Pesel, today), {
    code: "underage",
    message: "The holder is not 18 yet. An account can be opened from the 18th birthday.",
  });
  requireAdult(peselOf("0826080000") as Pesel, today);
});

test("A request for an account is refused with an invalid PESEL", () => {
  assert.throws(() => parseOpening({ ...request, pesel: "1" }, today), { code: "invalid-pesel" });
});

describe("opening an account", () => {
  const open = (initial: string, existing?: Account) =>
    planOpening(existing, parseOpening({ ...request, initial: decimal(initial), key: "k" }, today));

  test("Opening an account makes one balance in PLN, and keeps nothing of the request but the holder", () => {
    assert.deepEqual(open("12.3"), { ...empty, balances: [money(1230n)] });
  });

  test("An account can be opened with nothing, and with the largest balance", () => {
    assert.deepEqual(texts(open("0")), ["0.00 PLN"]);
    assert.deepEqual(texts(open("9999999999999.99")), ["9,999,999,999,999.99 PLN"]);
  });

  test("An opening with less than 0 or a part of a grosz is refused", () => {
    for (const initial of ["-0.01", "-5", "0.001"]) {
      assert.throws(() => open(initial), {
        code: "invalid-amount",
        message: "The initial balance must be at least 0.00 PLN, with at most 2 decimals.",
      });
    }
  });

  test("An opening with more than the limit of a balance is refused", () => {
    assert.throws(() => open("10000000000000"), {
      code: "balance-limit",
      message: "No balance may be more than 9,999,999,999,999.99 PLN.",
    });
  });

  test("Opening an account that exists is refused, before a bad amount is", () => {
    assert.throws(() => open("-1", empty), {
      code: "account-exists",
      message: "This PESEL already has an account. There is at most one for each.",
    });
  });
});

test("The balances of an account are 0 where a currency was never held", () => {
  assert.equal(balanceOf(empty, pln), 0n);
  assert.equal(balanceOf(filled([money(5n, "USD")]), pln), 0n);
});

test("Balances have each currency once, PLN first, then by symbol", () => {
  fc.assert(
    fc.property(anyMoneys, (moneys) => {
      const codes = filled(moneys).balances.map(({ currency }) => currency);
      const others = codes.filter((code) => code !== pln);
      assert.deepEqual(codes, [...codes.filter((code) => code === pln), ...others.sort()]);
      assert.deepEqual(new Set(codes), new Set(moneys.map(({ currency }) => currency)));
      assert.equal(new Set(codes).size, codes.length);
    }),
  );
});

test("The balances of an account are the sums of what was credited", () => {
  fc.assert(
    fc.property(anyMoneys, (moneys) => {
      const account = filled(moneys);
      for (const { currency, minor } of account.balances) {
        const credited = moneys.filter((money) => money.currency === currency);
        assert.equal(
          minor,
          credited.reduce((sum, money) => sum + money.minor, 0n),
        );
      }
    }),
  );
});

test("A debit undoes the credit of the same amount, and changes no account in place", () => {
  fc.assert(
    fc.property(anyMoneys, anyMoney, (moneys, more) => {
      const account = filled([...moneys, { ...more, minor: 0n }]);
      const copy = structuredClone(account);
      assert.deepEqual(debit(credit(account, more), more, true), account);
      assert.deepEqual(account, copy);
    }),
  );
});

test("The balances of an account can be emptied to 0 and not below", () => {
  const account = filled([money(1000n), money(500n, "USD")]);
  assert.deepEqual(texts(debit(account, money(500n, "USD"), false)), ["10.00 PLN", "0.00 USD"]);
  assert.throws(() => debit(account, money(501n, "USD"), false), {
    code: "insufficient-funds",
    message: "The order takes 5.01 USD, which is more than the account holds.",
  });
  assert.throws(() => debit(account, money(1n, "JPY"), false), {
    code: "insufficient-funds",
    message: "The order takes 1 JPY, which is more than the account holds.",
  });
});

test("The balances of an account can be filled to the limit and not over it", () => {
  const full = filled([money(balanceLimit - 1n, "JPY"), money(1n, "JPY")]);
  assert.equal(balanceOf(full, "JPY" as CurrencyCode), balanceLimit);
  assert.throws(() => credit(full, money(1n, "JPY")), {
    code: "balance-limit",
    message: "No balance may be more than 999,999,999,999,999 JPY.",
  });
});

describe("the house's own money", () => {
  for (const place of housePlaces) {
    test(`The house has an account for its ${place} before its first entry, open and without money`, () => {
      const pesel = houseNumber(place);
      assert.deepEqual(accountBeforeEntries(pesel), {
        ...{ pesel, name: "House", surname: place, balances: [] },
        ...{ closed: false, blocked: false },
      });
    });
  }

  test("The numbers of the house's accounts are no PESELs", () => {
    for (const place of housePlaces) {
      assert.throws(() => parsePesel(houseNumber(place), today), { code: "invalid-pesel" });
    }
  });

  test("A customer has no account before its first entry", () => {
    assert.equal(accountBeforeEntries(adult()), undefined);
  });

  test("The house may take out more than it put in, down to the same limit as balances have above 0", () => {
    const house = accountBeforeEntries(houseNumber("cash")) as Account;
    const all = money(balanceLimit);
    const owing = debit(house, all, true);
    assert.equal(balanceOf(owing, pln), -balanceLimit);
    assert.equal(balanceOf(credit(owing, all), pln), 0n);
    assert.throws(() => debit(owing, money(1n), true), { code: "balance-limit" });
  });
});

describe("an account that does not hold enough", () => {
  const hundred = filled([money(10_000n)]);
  const given = { code: "insufficient-funds", message: "The order takes more PLN than the account holds." };

  test("An amount that the request has is not said again", () => {
    assert.throws(() => debit(hundred, money(10_001n), true), given);
  });

  test("An amount that fx calculated is said, up to the largest balance", () => {
    const message = "The order takes 100.01 PLN, which is more than the account holds.";
    assert.throws(() => debit(hundred, money(10_001n), false), { code: "insufficient-funds", message });
    const most = money(balanceLimit);
    assert.throws(() => debit(hundred, most, false), {
      message: /^The order takes 9,999,999,999,999\.99 PLN,/,
    });
    assert.throws(() => debit(hundred, money(balanceLimit + 1n), false), given);
  });
});
