import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { before, describe, test } from "node:test";
import { parseHouseCash } from "../src/core/change.ts";
import { formatDecimal } from "../src/core/decimal.ts";
import type { Exchange } from "../src/core/exchange.ts";
import type { Pesel } from "../src/core/pesel.ts";
import {
  type AccountHead,
  type AuditStart,
  type ExchangeService,
  exportFormats,
  longestPage,
} from "../src/core/service.ts";
import { tablesOf } from "../src/rates/source.ts";
import { isWholeExport } from "../src/wire/export-files.ts";
import type { Subject } from "./service.contract.ts";
import { exported } from "./support/bookkeeping.ts";
import { adult, decimal, identified, now, table, terms } from "./support/fixture.ts";
import { answersTo, everyPage, refuses, texts } from "./support/service.ts";

/** The part about what is in the books: the journal and the rates. `person` opens a new account with 1000 PLN. */
export function describeBooks(subjectNow: () => Subject, person: () => Promise<Pesel>): void {
  let subject: Subject;
  let service: ExchangeService;
  before(() => {
    subject = subjectNow();
    service = subject.service;
  });

  describe("an export", () => {
    test("An export has every entry, and ends with how many they are", async () => {
      const pesel = await person();
      const { receiptId } = await service.exchange({ pesel, ...terms("buy 1 USD for PLN") });
      for (const format of exportFormats) {
        const text = await exported(service, { format, full: true });
        assert.ok(text.includes(receiptId) && text.includes(pesel), text.slice(-1000));
        assert.ok(isWholeExport(text));
      }
      const none = { format: "ndjson", to: "2026-06-07", at: new Date("2026-06-08T11:00:00Z") } as const;
      assert.equal(await exported(service, none), '{"kind":"end","entries":0}\n');
    });
  });

  describe("entries as they come", () => {
    /** The ids of all entries so far. */
    async function everyEntry(limit: number): Promise<string[]> {
      const ids: string[] = [];
      for (let after: string | undefined; ; ) {
        const { items, next } = await service.entries({ after, limit });
        assert.ok(items.length <= limit);
        if (items.length === 0) {
          assert.deepEqual([next, after], [ids.at(-1), ids.at(-1)]);
          return ids;
        }
        ids.push(...items.map(({ id }) => id));
        after = next;
      }
    }

    test("Pages of entries have every entry of every account once, in their order, as its receipt", async () => {
      const [one, other] = [await person(), await person()];
      const done: string[] = [];
      for (const pesel of [one, other, one]) {
        done.push((await service.exchange({ pesel, ...terms("buy 1 USD for PLN") })).receiptId);
      }
      const ids = await everyEntry(longestPage);
      assert.deepEqual(ids.slice(-3), done);
      assert.equal(new Set(ids).size, ids.length);
      assert.deepEqual(await everyEntry(70), ids);
      const [after, ...last] = ids.slice(-3);
      const { items } = await service.entries({ after: after?.toUpperCase(), limit: 9 });
      assert.deepEqual(items, await Promise.all(last.map((id) => service.receipt(id))));
    });

    for (const after of ["", "none", "01a1fc0e-8c6f-70af-a44a-e5ac3576edce"]) {
      test(`Entries after "${after}", which is no entry, are refused`, async () => {
        await refuses(service.entries({ after, limit: 1 }), "invalid-request");
        await refuses(service.follow({ after })[Symbol.asyncIterator]().next(), "invalid-request");
      });
    }

    test("A follower gets the entries so far, then each new one, and ends when it is aborted", async () => {
      const pesel = await person();
      const ids = await everyEntry(longestPage);
      const ending = new AbortController();
      const followed: string[] = [];
      let made: string[] = [];
      for await (const receipts of service.follow({ after: ids.at(-4), signal: ending.signal })) {
        followed.push(...receipts.map(({ id }) => id));
        if (made.length === 0) {
          made = [await service.exchange({ pesel, ...terms("buy 1 USD for PLN") })].map(
            (one) => one.receiptId,
          );
          made.push((await service.exchange({ pesel, ...terms("buy 2 USD for PLN") })).receiptId);
        }
        if (followed.length >= 5) ending.abort();
      }
      assert.deepEqual(followed, [...ids.slice(-3), ...made]);
    });

    test("The first chunk of a follower comes at once, although it is empty", async () => {
      await person();
      const after = (await everyEntry(longestPage)).at(-1);
      const following = service.follow({ after })[Symbol.asyncIterator]();
      assert.deepEqual(await following.next(), { done: false, value: [] });
      await following.return?.();
    });
  });

  describe("the data of one person", () => {
    test("The data of a person has the account, words of names, refusals and all entries, and nobody else's", async () => {
      const [pesel, other] = [await person(), await person()];
      await service.change({ kind: "renaming", pesel, name: "Łucja", surname: "Nowa-Lis" });
      await service.exchange({ pesel, ...terms("sell 1 PLN for USD"), key: "done" });
      const refused = { pesel, ...terms("sell 1000000 PLN for USD"), key: "refused" };
      await refuses(service.exchange(refused), "insufficient-funds");
      await refuses(service.exchange({ ...refused, pesel: other, key: "other's" }), "insufficient-funds");
      const { account, customer, nameWords, refusals, entries, time } = await service.personalData(pesel);
      assert.deepEqual(account, await service.account(pesel));
      assert.match(customer, /^[A-P]{20}$/);
      assert.deepEqual(nameWords, ["lis", "lucja", "nowa"]);
      const kept = refusals.map(({ key, code, by }) => [key, code, by]);
      assert.deepEqual(kept, [["refused", "insufficient-funds", undefined]]);
      assert.match(refusals[0]?.message ?? "", /takes more PLN than the account holds/);
      assert.deepEqual([refusals[0]?.time, time], [now, now]);
      assert.deepEqual(entries, (await service.statement(pesel, { limit: 100 })).items.toReversed());
    });

    test("The data of a person with many entries has each once", async () => {
      const pesel = await person();
      const order = { kind: "exchange", pesel, ...terms("sell 1 PLN for USD") } as const;
      await answersTo(service, Array(450).fill(order));
      const { entries } = await service.personalData(pesel);
      assert.deepEqual(
        entries.map(({ sequence }) => sequence),
        Array.from({ length: 451 }, (_, nth) => nth + 1),
      );
    });

    test("The data of somebody without an account are the refusals that are kept; without any it is not found", async () => {
      const pesel = adult(4_444_444);
      await refuses(service.personalData(pesel), "account-not-found");
      await refuses(
        service.exchange({ pesel, ...terms("sell 1 PLN for USD"), key: "early" }),
        "account-not-found",
      );
      const { account, refusals, entries, nameWords } = await service.personalData(pesel);
      assert.deepEqual([account, entries, nameWords], [undefined, [], []]);
      assert.deepEqual(
        refusals.map(({ key, code }) => [key, code]),
        [["early", "account-not-found"]],
      );
    });
  });

  test("The house's own money is read by where it is", async () => {
    const cash = { kind: "deposit", account: "bank", amount: decimal("5"), currency: "CHF" } as const;
    await service.change(parseHouseCash(cash));
    const { bank } = await service.house();
    assert.deepEqual(texts(bank), ["5.00 CHF"]);
  });

  describe("the journal", () => {
    test("a receipt has all that is needed to compute the exchange again", async () => {
      const pesel = await person();
      const order = { pesel, ...terms("buy 10.01 USD for PLN"), key: "r" };
      const { receiptId } = await service.exchange(order);
      const { exchange, ...receipt } = await service.receipt(receiptId);
      const { time, debited, credited, balances, ...rest } = receipt;
      assert.deepEqual(rest, {
        kind: "exchange",
        id: receiptId,
        pesel,
        sequence: 2,
        key: "r",
        by: undefined,
        holder: { name: "Jan", surname: "Kowalski" },
        blocked: false,
        reverses: undefined,
        reversedBy: undefined,
        note: undefined,
      });
      const { sold, bought, bid, ask, ...at } = exchange as Exchange;
      assert.deepEqual(at, {
        side: "toBuy",
        table: "108/C/NBP/2026",
        tableId: table.id,
        effectiveDate: "2026-06-08",
      });
      assert.deepEqual([debited, credited], [sold, bought]);
      assert.equal(time.toISOString(), "2026-06-08T12:00:00.000Z");
      assert.deepEqual(texts([sold, bought, ...balances]), [
        "37.04 PLN",
        "10.01 USD",
        "962.96 PLN",
        "10.01 USD",
      ]);
      assert.deepEqual([bid, ask && formatDecimal(ask, 4)], [undefined, "3.7000"]);
    });

    test("A receipt is refused by a beginning of its id that several have", async () => {
      const pesel = await person();
      const { receiptId } = await service.exchange({ pesel, ...terms("buy 1 USD for PLN") });
      const several =
        /^More than one receipt begins like this, such as \S{36} and \S{36}\. Give more of the id\.$/;
      await refuses(service.receipt(receiptId.slice(0, 8)), "invalid-request", several);
    });

    test("a statement by key has the entry with that key, or none", async () => {
      const pesel = await person();
      const { receiptId } = await service.exchange({ pesel, ...terms("sell 1 PLN for USD"), key: 'k"&+/=1' });
      const entries = async (key: string, of = pesel) =>
        (await service.statement(of, { limit: 9, key })).items.map(({ id }) => id);
      assert.deepEqual(await entries('k"&+/=1'), [receiptId]);
      assert.deepEqual(await entries("k"), []);
      assert.deepEqual(await entries('k"&+/=1', await person()), []);
    });

    test("the accounts come by PESEL, page by page, each once", async () => {
      const newest = await person();
      const all = await everyPage((page) => service.accounts(page), 7);
      const pesels = all.map(({ pesel }) => pesel);
      assert.deepEqual(pesels, [...new Set(pesels)].sort());
      assert.ok(pesels.includes(newest));
    });

    test("an audit gives the heads of all accounts for a checkpoint, and says first what it reads", async () => {
      const heads: AccountHead[] = [];
      const started: AuditStart[] = [];
      const { against, ...report } = await service.audit({
        onStart: ({ entries, schemaVersion }) => void started.push({ entries, schemaVersion }),
        onHeads: async (some) => void heads.push(...some),
      });
      assert.deepEqual([report, against], [await service.audit(), undefined]);
      assert.equal(heads.length, report.accounts);
      assert.equal(
        heads.reduce((sum, { entries }) => sum + entries, 0),
        report.entries,
      );
      assert.deepEqual(
        started.map(({ entries }) => entries),
        [report.entries],
      );
      assert.ok((started[0]?.schemaVersion ?? 0) > 0);
    });

    test("an audit names the accounts that lack what a checkpoint saw", async () => {
      const pesel = await person();
      const heads: AccountHead[] = [];
      await service.audit({ onHeads: async (some) => void heads.push(...some) });
      const against = async (changed: readonly AccountHead[]) =>
        (await service.audit({ against: Readable.from([changed]) })).against;
      assert.deepEqual(await against(heads), { accounts: heads.length, found: heads.length, lost: [] });
      const accounts = await everyPage((page) => service.accounts(page));
      // The house's accounts come before those of customers.
      const ofHouse = heads.length - accounts.length;
      const at = ofHouse + accounts.findIndex((account) => account.pesel === pesel);
      const { customer, hash } = heads[at] as AccountHead;
      const missing = { customer: "ABCDEFGHIJKLMNOPABCD", entries: 3, hash };
      for (const [changed, lost] of [
        [
          { customer, hash, entries: 2 },
          { customer, account: pesel, entries: 2, entriesNow: 1 },
        ],
        [
          { customer, hash: "0".repeat(64), entries: 1 },
          { customer, account: pesel, entries: 1, entriesNow: 1 },
        ],
      ] as const) {
        assert.deepEqual(await against([missing, ...heads.with(at, changed)]), {
          accounts: heads.length + 1,
          found: heads.length,
          lost: [lost, { customer: missing.customer, account: undefined, entries: 3, entriesNow: 0 }],
        });
      }
    });

    test("an audit compares with a checkpoint and takes the next one at once", async () => {
      const heads: AccountHead[] = [];
      const onHeads = async (some: readonly AccountHead[]) => void heads.push(...some);
      const pesel = await person();
      await service.audit({ onHeads });
      await person();
      await service.exchange({ pesel, ...terms("sell 1 PLN for USD") });
      const next: AccountHead[] = [];
      const { against, accounts } = await service.audit({
        against: Readable.from([heads]),
        onHeads: async (some) => void next.push(...some),
      });
      assert.deepEqual(against, { accounts: heads.length, found: heads.length, lost: [] });
      assert.deepEqual([next.length, accounts], [heads.length + 1, heads.length + 1]);
    });

    test("A failure while heads are taken ends the audit with that error", async () => {
      await person();
      const full = new Error("the disk is full");
      await assert.rejects(service.audit({ onHeads: () => Promise.reject(full) }), full);
    });
  });

  describe("the rates", () => {
    test("the table in force comes whole, exact", async () => {
      const { table: inForce, previous } = await service.rates();
      assert.deepEqual([inForce, previous], [table, undefined]);
    });

    test("the history of a currency comes table by table", async () => {
      const { to } = terms("sell 1 PLN for HUF");
      const history = await service.rateHistory(to, 90);
      assert.deepEqual(
        history.map(({ bid, ask, ...day }) => [day, formatDecimal(bid), formatDecimal(ask)]),
        [[{ number: "108/C/NBP/2026", effectiveDate: "2026-06-08" }, "0.011793", "0.012031"]],
      );
    });

    test("the tables of some days come whole", async () => {
      assert.deepEqual(await service.rateTables(30), [table]);
    });

    test("orders settle at a new table from when it is in force, and one that is sent again has its first answer", async () => {
      const dearer = identified({
        table: "C",
        no: "109/C/NBP/2026",
        tradingDate: "2026-06-08",
        effectiveDate: "2026-06-09",
        rates: [{ currency: "dolar", code: "USD", bid: 4.9, ask: 5.1 }],
      });
      const [sameAgain] = tablesOf("fixed", [{ ...table, tradingDate: "2026-06-06" }]);
      const pesel = await person();
      const before = { pesel, ...terms("buy 10 USD for PLN"), key: "before" };
      await service.exchange(before);
      await subject.rates.use(dearer);
      try {
        const { account } = await service.exchange({ pesel, ...terms("buy 10 USD for PLN") });
        assert.deepEqual(texts(account.balances), ["912.00 PLN", "20.00 USD"]);
        assert.deepEqual(texts((await service.exchange(before)).account.balances), [
          "963.00 PLN",
          "10.00 USD",
        ]);
        assert.equal((await service.rates()).previous?.number, "108/C/NBP/2026");
      } finally {
        await subject.rates.use(sameAgain);
      }
    });
  });
}
