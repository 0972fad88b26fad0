import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseHouseCash } from "../../src/core/change.ts";
import { type HousePlace, houseNumber, housePlaces } from "../../src/core/house.ts";
import { parsePesel } from "../../src/core/pesel.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { engines } from "../support/adapters.ts";
import { adult, decimal, fixedRates, now, opening, terms, today } from "../support/fixture.ts";
import { refuses, texts } from "../support/service.ts";

const cash = (
  kind: "deposit" | "withdrawal",
  money: string,
  { account = "cash", key }: { account?: HousePlace; key?: string } = {},
) => {
  const [amount = "", currency = ""] = money.split(" ");
  return parseHouseCash({ kind, account, amount: decimal(amount), currency, note: undefined, key });
};

/** The balances of both places. */
async function held(service: LedgerService, at?: Date): Promise<string[][]> {
  const accounts = housePlaces.map((place) => service.account(houseNumber(place), at));
  return (await Promise.all(accounts)).map(({ balances }) => texts(balances));
}

test("The numbers of the house's accounts are no PESELs", () => {
  for (const place of housePlaces) {
    assert.throws(() => parsePesel(houseNumber(place), today), { code: "invalid-pesel" });
  }
});

for (const { name, open } of engines) {
  describe(`the house's own money over ${name}`, () => {
    const serviceOn = (store: Store, at = now) => new LedgerService(store, fixedRates(), () => at);

    test("The house puts money into the drawer and the bank without a rate table, and takes out more than it put in", async (t) => {
      const service = serviceOn(await open(t));
      assert.deepEqual(await held(service), [[], []]);
      await service.change(cash("deposit", "5000 EUR"));
      await service.change(cash("deposit", "100.50 PLN", { account: "bank" }));
      const { account } = await service.change(cash("withdrawal", "5600 EUR"));
      assert.deepEqual(texts(account.balances), ["-600.00 EUR"]);
      assert.deepEqual(await held(service), [["-600.00 EUR"], ["100.50 PLN"]]);
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("The position has what should be in the drawer and at the bank, beside what it had before", async (t) => {
      const store = await open(t);
      const service = serviceOn(store);
      await service.createAccount(opening({ pln: "1000" }));
      const before = (await service.position()).currencies;
      assert.deepEqual(
        before.map(({ cash, bank }) => [cash, bank]),
        [[100_000n, 0n]],
      );
      await service.change(cash("deposit", "50 EUR"));
      await service.change(cash("withdrawal", "300 PLN"));
      await service.change(cash("deposit", "300 PLN", { account: "bank" }));
      assert.deepEqual((await service.position()).currencies, [
        { currency: "PLN", customers: 100_000n, house: 0n, cash: 70_000n, bank: 30_000n },
        { currency: "EUR", customers: 0n, house: 0n, cash: 5_000n, bank: 0n },
      ]);
    });

    test("The house's accounts are not among those of customers, and no change of customers is done on them", async (t) => {
      const service = serviceOn(await open(t));
      await service.createAccount(opening());
      const { receiptId: cursor } = await service.change(cash("deposit", "1 PLN"));
      await service.change(cash("deposit", "1 PLN", { account: "bank" }));
      const at = new Date(now.getTime() - 60_000);
      for (const page of [{}, { cursor }, { name: ["house"] }, { at }, { at, cursor }]) {
        const { items } = await service.accounts({ limit: 10, ...page });
        assert.deepEqual(
          items.filter(({ pesel }) => pesel !== adult()),
          [],
        );
      }
      assert.equal((await service.accounts({ limit: 1 })).items[0]?.pesel, adult());
    });

    test("No amount of the house is beyond the limit on either side, too fine, or of a currency that fx does not know", async (t) => {
      const service = serviceOn(await open(t));
      await refuses(service.change(cash("deposit", "1.001 PLN")), "invalid-amount");
      await refuses(service.change(cash("deposit", "1 XXX")), "unsupported-currency");
      for (const kind of ["deposit", "withdrawal"] as const) {
        const twice = ["PLN", "PLN"].map((currency) => cash(kind, `9999999999999.99 ${currency}`));
        await service.change(twice[0] as never);
        const limit = kind === "deposit" ? "more than " : "less than -";
        const message = `No balance may be ${limit}9,999,999,999,999.99 PLN.`;
        await assert.rejects(service.change(twice[1] as never), { code: "balance-limit", message });
        await service.change(cash(kind === "deposit" ? "withdrawal" : "deposit", "9999999999999.99 PLN"));
      }
    });

    test("What the house had at a time is what its entries until then left", async (t) => {
      const store = await open(t);
      const at = (seconds: number) => new Date(now.getTime() + seconds * 1000);
      await serviceOn(store, at(0)).change(cash("deposit", "5 PLN"));
      await serviceOn(store, at(60)).change(cash("deposit", "7 PLN", { account: "bank" }));
      const later = serviceOn(store, at(120));
      assert.deepEqual(await held(later, at(-1)), [[], []]);
      assert.deepEqual(await held(later, at(30)), [["5.00 PLN"], []]);
      assert.deepEqual(await held(later, at(60)), [["5.00 PLN"], ["7.00 PLN"]]);
    });

    test("An order of a customer settles beside entries of the house in one group, and an audit meanwhile finds nothing", async (t) => {
      const store = await open(t);
      const service = serviceOn(store);
      await service.change(cash("deposit", "1 PLN"));
      await service.createAccount(opening());
      const [{ findings }] = await Promise.all([
        service.audit(),
        ...Array.from({ length: 20 }, () => service.change(cash("deposit", "1 PLN"))),
        service.quote(terms("buy 1 USD for PLN")),
      ]);
      assert.deepEqual(findings, []);
      assert.deepEqual(await held(service), [["21.00 PLN"], []]);
    });
  });
}
