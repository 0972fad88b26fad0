import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { before, describe, test } from "node:test";
import type { Pesel } from "../src/core/pesel.ts";
import {
  type AccountHead,
  type AuditStart,
  type ExchangeService,
  exportFormats,
  longestPage,
} from "../src/core/service.ts";
import { isWholeExport } from "../src/wire/export-files.ts";
import { exported } from "./support/bookkeeping.ts";
import { table, terms } from "./support/fixture.ts";
import { answersTo, everyPage } from "./support/service.ts";

/** The part about what is in the books: the journal and the rates. `person` opens a new account with 1000 PLN. */
export function describeBooks(serviceNow: () => ExchangeService, person: () => Promise<Pesel>): void {
  let service: ExchangeService;
  before(() => {
    service = serviceNow();
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

  describe("an audit", () => {
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

  test("The table in force and the tables of some days come whole, exact", async () => {
    assert.deepEqual((await service.rates()).table, table);
    assert.deepEqual(await service.rateTables(30), [table]);
  });
}
