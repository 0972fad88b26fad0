import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type ErrorCode, FxError } from "../src/core/errors.ts";
import { formatDecimal, formatMoney, type Money } from "../src/core/money.ts";
import { maskPesels } from "../src/core/pesel.ts";
import { parseRateTable } from "../src/core/rates.ts";
import type { ExchangeService, Page, PageRequest } from "../src/core/service.ts";
import { adult, type fixedRates, opening, table, terms } from "./support/fixture.ts";

export interface Subject {
  readonly service: ExchangeService;
  readonly rates: ReturnType<typeof fixedRates>;
  close(): Promise<void>;
}

/** What holds for every ExchangeService, local or remote: the same outcomes, codes and messages. */
export function describeExchangeService(name: string, open: () => Promise<Subject>): void {
  describe(name, () => {
    let subject: Subject;
    let service: ExchangeService;
    let people = 0;

    before(async () => {
      subject = await open();
      service = subject.service;
    });
    after(() => subject.close());

    /** A new account with so many PLN. */
    async function person(pln = "1000") {
      people += 1;
      await service.createAccount(opening({ index: people, pln }));
      return adult(people);
    }

    describe("opening an account", () => {
      test("an account is opened with one balance in PLN", async () => {
        const pesel = await person("12.30");
        const { name, surname, balances, ...rest } = await service.account(pesel);
        assert.deepEqual([name, surname, texts(balances)], ["Jan", "Kowalski", ["12.30 PLN"]]);
        assert.equal(rest.pesel, pesel);
      });

      test("an account may be opened with nothing", async () => {
        assert.deepEqual(await balances(await person("0")), ["0.00 PLN"]);
      });

      test("a taken PESEL is refused", async () => {
        await person();
        await refuses(
          service.createAccount(opening({ index: people })),
          "account-exists",
          "This PESEL already has an account. There is at most one for each.",
        );
      });

      test("a taken PESEL is told before a bad amount", async () => {
        await person();
        await refuses(service.createAccount(opening({ index: people, pln: "-1" })), "account-exists");
      });

      test("a negative initial balance is refused", async () => {
        await refuses(
          service.createAccount(opening({ index: 9000, pln: "-0.01" })),
          "invalid-amount",
          "The initial balance must be at least 0.00 PLN, with at most 2 decimals.",
        );
      });

      test("an initial balance finer than a grosz is refused", async () => {
        await refuses(service.createAccount(opening({ index: 9000, pln: "0.001" })), "invalid-amount");
      });

      test("an initial balance over the limit is refused", async () => {
        await refuses(
          service.createAccount(opening({ index: 9000, pln: "10000000000000" })),
          "balance-limit",
          "The balance would pass the limit of 9999999999999.99 PLN.",
        );
      });

      test("a refused opening leaves no account", async () => {
        await refuses(service.account(adult(9000)), "account-not-found");
      });

      test("the largest balance comes back to the grosz", async () => {
        assert.deepEqual(await balances(await person("9999999999999.99")), ["9999999999999.99 PLN"]);
      });

      test("an unknown account is told as such", async () => {
        await refuses(
          service.account(adult(9999)),
          "account-not-found",
          "There is no account for this PESEL.",
        );
      });
    });

    describe("exchanging", () => {
      test("buying credits exactly what was asked, and debits at the ask, rounded up", async () => {
        const pesel = await person();
        const { account } = await service.exchange({ pesel, ...terms("buy 10.01 USD for PLN") });
        assert.deepEqual(texts(account.balances), ["962.96 PLN", "10.01 USD"]);
      });

      test("selling debits exactly what was asked, and credits at the bid, rounded down", async () => {
        const pesel = await person();
        await service.exchange({ pesel, ...terms("buy 10.01 USD for PLN") });
        const { account } = await service.exchange({ pesel, ...terms("sell 0.99 USD for PLN") });
        assert.deepEqual(texts(account.balances), ["966.55 PLN", "9.02 USD"]);
      });

      test("foreign for foreign goes through PLN", async () => {
        const pesel = await person();
        await service.exchange({ pesel, ...terms("buy 100 EUR for PLN") });
        const { account } = await service.exchange({ pesel, ...terms("sell 100 EUR for JPY") });
        assert.deepEqual(texts(account.balances), ["571.85 PLN", "0.00 EUR", "18165 JPY"]);
      });

      test("the account after the exchange is the account that is read", async () => {
        const pesel = await person();
        const { account } = await service.exchange({ pesel, ...terms("sell 100 PLN for CHF") });
        assert.deepEqual(plain(await service.account(pesel)), plain(account));
      });

      test("a quote is what the order does", async () => {
        const pesel = await person();
        const order = terms("buy 123.45 GBP for PLN");
        const quoted = await service.quote(order);
        const { receiptId } = await service.exchange({ pesel, ...order });
        const { side, sold, bought, bid, ask, table, effectiveDate } = await service.receipt(receiptId);
        assert.deepEqual({ side, sold, bought, bid, ask, table, effectiveDate }, quoted);
      });

      test("a quote names the table and both rates", async () => {
        const { side, sold, bought, bid, ask, ...quote } = await service.quote(terms("sell 100 EUR for USD"));
        assert.deepEqual([side, ...texts([sold, bought])], ["toSell", "100.00 EUR", "113.42 USD"]);
        assert.deepEqual(
          [bid, ask].map((rate) => rate && formatDecimal(rate, 4)),
          ["4.1967", "3.7000"],
        );
        assert.deepEqual(quote, { table: "108/C/NBP/2026", effectiveDate: "2026-06-08" });
      });

      test("an order at the table in force is settled", async () => {
        const pesel = await person();
        const { account } = await service.exchange({
          pesel,
          ...terms("sell 10 PLN for USD"),
          table: table.number,
        });
        assert.deepEqual(texts(account.balances), ["990.00 PLN", "2.70 USD"]);
      });

      test("an order at another table is refused", async () => {
        const pesel = await person();
        await refuses(
          service.exchange({ pesel, ...terms("sell 10 PLN for USD"), table: "107/C/NBP/2026" }),
          "rate-changed",
          "Table 108/C/NBP/2026 is in force now. Ask for a quote and order again.",
        );
      });

      const refusals: [words: string, code: ErrorCode, message: RegExp][] = [
        ["sell 1 PLN for XAU", "unsupported-currency", /^XAU is not a currency that can be exchanged/],
        ["sell 1 GROSZ for PLN", "unsupported-currency", /^That is not a currency/],
        ["sell 0 PLN for USD", "invalid-amount", /^The amount 0 is not a whole number of 0.01 PLN/],
        ["sell -5 PLN for USD", "invalid-amount", /^The amount -5 is not/],
        ["buy 0.001 USD for PLN", "invalid-amount", /with at most 2 decimals.$/],
        ["buy 1.5 JPY for PLN", "invalid-amount", /with no decimals.$/],
        ["sell 0.01 PLN for EUR", "amount-too-small", /^0.01 PLN buys less than the smallest unit of EUR/],
        ["sell 1000.01 PLN for USD", "insufficient-funds", /takes 1000.01 PLN and the account holds 1000.00/],
        ["sell 1 USD for PLN", "insufficient-funds", /takes 1.00 USD and the account holds 0.00 USD/],
      ];
      for (const [words, code, message] of refusals) {
        test(`"${words}" is refused as ${code}, and changes nothing`, async () => {
          const pesel = await person();
          await refuses(service.exchange({ pesel, ...terms(words) }), code, message);
          assert.deepEqual(await balances(pesel), ["1000.00 PLN"]);
          assert.equal((await service.statement(pesel, { limit: 10 })).items.length, 1);
        });
      }

      test("an unknown account is told before an unknown currency", async () => {
        const pesel = adult(9999);
        await refuses(service.exchange({ pesel, ...terms("sell 1 PLN for XAU") }), "account-not-found");
      });

      test("a quote refuses what the order refuses", async () => {
        await refuses(service.quote(terms("sell 1 PLN for XAU")), "unsupported-currency", /^XAU is not/);
        await refuses(service.quote(terms("sell 0.01 PLN for EUR")), "amount-too-small");
        await refuses(service.quote(terms("sell 1.5 JPY for PLN")), "invalid-amount");
      });
    });

    describe("without usable rates", () => {
      before(() => subject.rates.use(undefined));
      after(() => subject.rates.use(table));

      test("orders, quotes and rates say so, and when to try again", async () => {
        const pesel = await person();
        const order = terms("sell 1 PLN for USD");
        const asked = [
          () => service.exchange({ pesel, ...order }),
          () => service.quote(order),
          () => service.rates(),
          () => service.rateHistory(order.to, 9),
        ];
        for (const ask of asked) {
          const error = await refuses(ask(), "rates-unavailable", "There is no rate table yet.");
          assert.equal(error.retryAfterSeconds, 7);
        }
      });

      test("accounts are opened and read", async () => {
        assert.deepEqual(await balances(await person("5")), ["5.00 PLN"]);
      });
    });

    describe("an idempotency key", () => {
      test("makes an opening that is sent again have no second effect", async () => {
        const first = opening({ index: 8000, key: "open-1" });
        assert.deepEqual(await service.createAccount(first), { replayed: false });
        assert.deepEqual(await service.createAccount(first), { replayed: true });
      });

      test("makes an order that is sent again have no second effect, and the first answer", async () => {
        const pesel = await person();
        const order = { pesel, ...terms("sell 10 PLN for USD"), key: "k" };
        const first = await service.exchange(order);
        await service.exchange({ pesel, ...terms("sell 20 PLN for USD") });
        const second = await service.exchange(order);
        assert.equal(second.replayed, true);
        assert.equal(second.receiptId, first.receiptId);
        assert.deepEqual(plain(second.account), plain(first.account));
        assert.deepEqual(await balances(pesel), ["970.00 PLN", "8.10 USD"]);
      });

      test("is refused on another body", async () => {
        const pesel = await person();
        await service.exchange({ pesel, ...terms("sell 10 PLN for USD"), key: 'a"\\b' });
        await refuses(
          service.exchange({ pesel, ...terms("sell 11 PLN for USD"), key: 'a"\\b' }),
          "idempotency-key-reused",
          "This Idempotency-Key was used on this account for another request. Use a new key for a new request.",
        );
      });

      test("has one effect when used twice at once", async () => {
        const pesel = await person();
        const order = { pesel, ...terms("sell 10 PLN for USD"), key: "twice" };
        const [one, two] = await Promise.all([service.exchange(order), service.exchange(order)]);
        assert.deepEqual(plain(one.account), plain(two.account));
        assert.deepEqual([one.replayed, two.replayed].sort(), [false, true]);
        assert.deepEqual(await balances(pesel), ["990.00 PLN", "2.70 USD"]);
      });

      test("of a refused order can be used again", async () => {
        const pesel = await person("1");
        const order = { pesel, ...terms("sell 10 PLN for USD"), key: "later" };
        await refuses(service.exchange(order), "insufficient-funds");
        await refuses(service.exchange(order), "insufficient-funds");
      });
    });

    describe("the journal", () => {
      test("a statement has every entry, newest first, page by page", async () => {
        const pesel = await person();
        for (const amount of ["1", "2", "3"]) {
          await service.exchange({ pesel, ...terms(`sell ${amount} PLN for USD`), key: `n${amount}` });
        }
        const first = await service.statement(pesel, { limit: 3 });
        const second = await service.statement(pesel, { limit: 3, cursor: first.next });
        assert.equal(second.next, undefined);
        const entries = [...first.items, ...second.items];
        assert.deepEqual(
          entries.map(({ kind, sequence, key }) => [kind, sequence, key]),
          [
            ["exchange", 4, "n3"],
            ["exchange", 3, "n2"],
            ["exchange", 2, "n1"],
            ["opening", 1, undefined],
          ],
        );
        const last = entries[3];
        assert.ok(last?.kind === "opening");
        assert.deepEqual(
          [last.name, last.surname, ...texts([last.initial])],
          ["Jan", "Kowalski", "1000.00 PLN"],
        );
        assert.ok(
          entries.every(({ time }) => time instanceof Date && time.toISOString().startsWith("2026-06-08")),
        );
      });

      test("a bad cursor is refused", async () => {
        const pesel = await person();
        await refuses(
          service.statement(pesel, { limit: 3, cursor: "x" }),
          "invalid-request",
          "The cursor is not one that a page before has given.",
        );
      });

      test("the statement of an unknown account is refused", async () => {
        await refuses(service.statement(adult(9999), { limit: 3 }), "account-not-found");
      });

      test("a receipt has all that is needed to compute the exchange again", async () => {
        const pesel = await person();
        const order = { pesel, ...terms("buy 10.01 USD for PLN"), key: "r" };
        const { receiptId } = await service.exchange(order);
        const { time, sold, bought, balances, bid, ask, ...rest } = await service.receipt(receiptId);
        assert.deepEqual(rest, {
          kind: "exchange",
          id: receiptId,
          pesel,
          sequence: 2,
          key: "r",
          side: "toBuy",
          table: "108/C/NBP/2026",
          effectiveDate: "2026-06-08",
        });
        assert.equal(time.toISOString(), "2026-06-08T12:00:00.000Z");
        assert.deepEqual(texts([sold, bought, ...balances]), [
          "37.04 PLN",
          "10.01 USD",
          "962.96 PLN",
          "10.01 USD",
        ]);
        assert.deepEqual([bid, ask && formatDecimal(ask, 4)], [undefined, "3.7000"]);
      });

      test("an unknown receipt is told as such", async () => {
        await refuses(
          service.receipt("01a1fc0e-8c6f-70af-a44a-e5ac3576edce"),
          "not-found",
          "There is no receipt with this id.",
        );
      });

      test("the accounts come by PESEL, page by page, each once", async () => {
        const all = await everyPage((page) => service.accounts(page), 7);
        const pesels = all.map(({ pesel }) => pesel);
        assert.deepEqual(pesels, [...new Set(pesels)].sort());
        assert.ok(pesels.includes(adult(people)));
      });

      test("the position adds up to what was deposited, and the spread is earned", async () => {
        const { currencies, spreadEarned } = await service.position();
        const accounts = await everyPage((page) => service.accounts(page), 1000);
        for (const { currency, customers } of currencies) {
          const held = accounts
            .flatMap(({ balances }) => balances)
            .filter((held) => held.currency === currency);
          assert.equal(
            customers,
            held.reduce((sum, { minor }) => sum + minor, 0n),
            currency,
          );
        }
        assert.ok(currencies.some(({ house }) => house < 0n) && spreadEarned.minor > 0n);
      });

      test("the audit finds nothing wrong", async () => {
        const { accounts, entries, findings, findingsTotal } = await service.audit();
        assert.deepEqual([findings, findingsTotal], [[], 0]);
        assert.ok(accounts > 10 && entries > accounts);
      });
    });

    describe("the rates", () => {
      test("the table in force comes whole, exact", async () => {
        const { table: inForce, source, previous } = await service.rates();
        assert.deepEqual([source, previous], ["fixed", undefined]);
        assert.deepEqual([...inForce.rates.keys()], [...table.rates.keys()]);
        for (const [currency, { bid, ask, name }] of table.rates) {
          const rate = inForce.rates.get(currency);
          assert.ok(rate !== undefined && rate.name === name);
          assert.deepEqual(
            [rate.bid, rate.ask].map((r) => formatDecimal(r)),
            [bid, ask].map((r) => formatDecimal(r)),
          );
        }
        const { rates: _, ...head } = inForce;
        assert.deepEqual(head, {
          number: "108/C/NBP/2026",
          tradingDate: "2026-06-05",
          effectiveDate: "2026-06-08",
        });
      });

      test("the history of a currency comes table by table", async () => {
        const { to } = terms("sell 1 PLN for HUF");
        const history = await service.rateHistory(to, 90);
        assert.deepEqual(
          history.map(({ bid, ask, ...day }) => [day, formatDecimal(bid), formatDecimal(ask)]),
          [[{ table: "108/C/NBP/2026", effectiveDate: "2026-06-08" }, "0.011793", "0.012031"]],
        );
      });

      test("PLN and unknown currencies have no history", async () => {
        for (const words of ["sell 1 PLN for XAU", "sell 1 USD for PLN"]) {
          await refuses(
            service.rateHistory(terms(words).to, 90),
            "unsupported-currency",
            "Table 108/C/NBP/2026 does not quote that currency.",
          );
        }
      });

      test("orders settle at a new table from when it is in force", async () => {
        const dearer = parseRateTable({
          table: "C",
          no: "109/C/NBP/2026",
          tradingDate: "2026-06-08",
          effectiveDate: "2026-06-09",
          rates: [{ currency: "dolar", code: "USD", bid: 4.9, ask: 5.1 }],
        });
        const pesel = await person();
        subject.rates.use(dearer);
        try {
          const { account } = await service.exchange({ pesel, ...terms("buy 10 USD for PLN") });
          assert.deepEqual(texts(account.balances), ["949.00 PLN", "10.00 USD"]);
          assert.equal((await service.rates()).previous?.number, "108/C/NBP/2026");
        } finally {
          subject.rates.use(table);
        }
      });
    });

    async function balances(pesel: ReturnType<typeof adult>): Promise<string[]> {
      return texts((await service.account(pesel)).balances);
    }
  });
}

/** Waits for a refusal with this code and message, and gives it. */
export async function refuses(
  answer: Promise<unknown>,
  code: ErrorCode,
  message?: string | RegExp,
): Promise<FxError> {
  try {
    await answer;
  } catch (error) {
    assert.ok(error instanceof FxError, String(error));
    assert.equal(error.code, code, error.message);
    if (typeof message === "string") assert.equal(error.message, message);
    else if (message !== undefined) assert.match(error.message, message);
    assert.equal(maskPesels(error.message), error.message);
    return error;
  }
  return assert.fail(`not refused with ${code}`);
}

function texts(balances: readonly Money[]): string[] {
  return balances.map(formatMoney);
}

/** An account without what only a store knows of it. */
function plain(account: { pesel: string; name: string; surname: string; balances: readonly Money[] }) {
  const { pesel, name, surname, balances } = account;
  return { pesel, name, surname, balances: texts(balances) };
}

async function everyPage<T>(load: (page: PageRequest) => Promise<Page<T>>, limit: number): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await load({ limit, cursor });
    assert.ok(page.items.length <= limit);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return items;
}
