import assert from "node:assert/strict";
import { copyFileSync, renameSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import { helpedBooks, openBooks } from "../../src/cli/books.ts";
import { parseStorePlace, type StorePlace } from "../../src/cli/place.ts";
import { exportFormats, isWholeExport } from "../../src/core/export.ts";
import type { AuditProgress } from "../../src/core/service.ts";
import { booksOf } from "../../src/ledger/books.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { sharedBooks } from "../../src/ledger/shared-books.ts";
import { adapters, type SharedDatabase } from "../support/adapters.ts";
import { exported } from "../support/bookkeeping.ts";
import { adult, fixedRates, now, opening, terms } from "../support/fixture.ts";

/** A ledger with three exchanges, and its books as a server reads them. */
async function ledgerOn(t: TestContext, { url, open }: SharedDatabase) {
  const store = await open();
  const books = sharedBooks(openBooks(parseStorePlace(url) as StorePlace, store));
  t.after(() => books.close());
  const service = new LedgerService(store, fixedRates(), () => now, { books });
  for (const index of [0, 1, 2]) {
    await service.createAccount(opening({ index }));
    await service.exchange({ ...terms("buy 100 USD for PLN"), pesel: adult(index) });
  }
  return { store, books, service };
}

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  describe(`books read in a thread of their own, ${name}`, () => {
    test("say what they say in this thread", async (t) => {
      const { store, books } = await ledgerOn(t, await database(t));
      assert.deepEqual(await books.audit(), await booksOf(store).audit());
      assert.deepEqual(await books.position(), await booksOf(store).position());
      for (const format of exportFormats) {
        const text = await exported(books, { format, full: true });
        assert.equal(text, await exported(booksOf(store), { format, full: true }));
        assert.ok(isWholeExport(text));
      }
    });

    test("say what was, to each who asks about another time at once", async (t) => {
      const { books } = await ledgerOn(t, await database(t));
      const before = new Date(now.getTime() - 1);
      const asked = await Promise.all([before, now, undefined, before].map((at) => books.position(at)));
      assert.deepEqual(
        asked.map(({ currencies }) => currencies.map(({ customers }) => customers)),
        [[0n], [189_000n, 30_000n], [189_000n, 30_000n], [0n]],
      );
      assert.equal(asked[0], asked[3]);
    });

    test("have what was answered before they were asked for, also by who shares an audit", async (t) => {
      const { service } = await ledgerOn(t, await database(t));
      const first = service.audit();
      await service.createAccount(opening({ index: 3 }));
      const others = await Promise.all([service.audit(), service.audit()]);
      assert.deepEqual([(await first).findings, ...others.map(({ accounts }) => accounts)], [[], 4, 4]);
      assert.equal(others[0], others[1]);
      await service.createAccount(opening({ index: 4 }));
      assert.equal((await service.audit()).accounts, 5);
    });

    test("tell how far an audit is", async (t) => {
      const { books } = await ledgerOn(t, await database(t));
      const told: AuditProgress[] = [];
      await books.audit({ onProgress: (done) => told.push(done) });
      assert.deepEqual(told, [{ accounts: 3, entries: 6, totalEntries: 6 }]);
    });

    test("of a large ledger are audited in this thread and another, with the same result", async (t) => {
      const shared = await database(t);
      const { service } = await ledgerOn(t, shared);
      for (let index = 3; index < 7; index += 1) await service.createAccount(opening({ index }));
      for (const index of [1, 6]) {
        await shared.run(
          `update journal set hash = 'x' where pesel = '${adult(index)}' and sequence = 1 returning pesel`,
        );
      }
      const store = await shared.openWith({ access: "read" });
      const report = await booksOf(store).audit();
      assert.ok(report.findings.length >= 3);
      const journal = store.journal.bind(store);
      let readHere = 0;
      store.journal = async (page) => {
        const found = await journal(page);
        readHere += found.rows.length;
        return found;
      };
      store.entryCount = async () => 100_000;
      // The first part has some of the accounts, or all, of which it leaves half.
      for (const together of [2, 100]) {
        Object.assign(store, { accountsTogether: together });
        readHere = 0;
        const books = helpedBooks(parseStorePlace(shared.url) as StorePlace, store);
        assert.deepEqual(await books.audit(), report);
        assert.ok(readHere > 0 && readHere < report.entries, `${readHere} of ${report.entries} entries`);
        await books.close();
      }
    });

    test("fail as they fail in this thread", async (t) => {
      const shared = await database(t);
      const { books } = await ledgerOn(t, shared);
      await shared.run(
        `update journal set entry = '[' where pesel = '${adult()}' and sequence = 2 returning pesel`,
      );
      const failure = { name: "FxError", code: "internal", message: /Run fx audit/ };
      await assert.rejects(books.position(), failure);
      await assert.rejects(exported(books, { format: "csv" }), failure);
    });

    test("end when nobody waits for them", async (t) => {
      const { books } = await ledgerOn(t, await database(t));
      const gone = new AbortController();
      const { signal } = gone;
      const asked = [books.audit({ signal }), books.position(undefined, signal)];
      setTimeout(() => gone.abort(), 20);
      for (const ended of await Promise.allSettled(asked)) {
        assert.ok(ended.status === "fulfilled" || ended.reason.code === "unreachable");
      }
      assert.deepEqual((await books.audit()).findings, []);
    });

    test("end when the ledger is closed", async (t) => {
      const { books, service } = await ledgerOn(t, await database(t));
      // The close waits for the thread, which may just have had its result.
      const ended = books.audit().catch(({ code }) => code);
      await new Promise((next) => setImmediate(next));
      await service.close();
      const result = await ended;
      assert.ok(result === "storage-unavailable" || result.findingsTotal === 0, String(result));
    });

    test("are exported to four at once, and no more", async (t) => {
      const { books, service } = await ledgerOn(t, await database(t));
      const open = () => books.export({ format: "csv", full: false })[Symbol.asyncIterator]();
      const four = Array.from({ length: 4 }, open);
      const firsts = await Promise.all(four.map((parts) => parts.next()));
      for (const { value } of firsts) assert.match(value, /^id,time/);
      await assert.rejects(open().next(), { code: "overloaded" });
      await four[0]?.return?.();
      await open().next();
      await service.close();
      await assert.rejects(four[1]?.next() as Promise<unknown>, { code: "storage-unavailable" });
    });

    if (name === "sqlite:") {
      test("of a file that another has replaced are not answered", async (t) => {
        const shared = await database(t);
        const { books } = await ledgerOn(t, shared);
        const path = shared.url.slice("sqlite:".length);
        copyFileSync(path, `${path}.copy`);
        renameSync(`${path}.copy`, path);
        await assert.rejects(books.audit(), { code: "storage-unavailable" });
      });
    }
  });
}
