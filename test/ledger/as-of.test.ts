import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Entry } from "../../src/core/journal.ts";
import { entriesOf } from "../../src/ledger/as-of.ts";
import { newEntryId } from "../../src/ledger/ids.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { engines } from "../support/adapters.ts";
import { appending, emptyAccount, money, nextEntry, openingEntry } from "../support/entries.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { instead } from "../support/instead.ts";
import { cash, texts } from "../support/service.ts";

const minutes = (count: number) => new Date(Date.UTC(2026, 5, 8, 12, count));

/** Deposits of 1.00 PLN after an opening with nothing, at these minutes. */
async function written(store: Store, times: readonly number[]): Promise<LedgerService> {
  await store.transact([{ pesel: adult(), key: undefined }], () => {
    const entries: Entry[] = [];
    for (const [index, time] of times.entries()) {
      const at = { id: newEntryId(), time: minutes(time) };
      const balances = [money(BigInt(index) * 100n)];
      const before = emptyAccount(adult(), { sequence: index });
      entries.push(
        index === 0
          ? openingEntry(adult(), { minor: 0n, ...at })
          : nextEntry(before, "deposit", { credited: money(100n), balances, ...at }),
      );
    }
    return appending(entries);
  });
  return new LedgerService(store, fixedRates(), () => minutes(100_000));
}

const balanceAt = async (service: LedgerService, minute: number) =>
  texts((await service.account(adult(), minutes(minute))).balances)[0];
const customersAt = async (service: LedgerService, minute: number) =>
  (await service.position(minutes(minute))).currencies[0]?.customers;

for (const { name, open } of engines) {
  test(`what was at a time has every entry up to it, and none after, over several pages of the journal, ${name}`, async (t) => {
    const service = await written(
      await open(t),
      Array.from({ length: 600 }, (_, index) => index),
    );
    for (const minute of [0, 1, 249, 250, 251, 598, 599, 700]) {
      const deposits = Math.min(minute, 599);
      assert.equal(await balanceAt(service, minute), `${deposits}.00 PLN`);
      assert.equal(await customersAt(service, minute), BigInt(deposits) * 100n);
    }
  });
}

for (const { name, open } of engines) {
  test(`a statement has the entries of any period, some of one time, over any pages, ${name}`, async (t) => {
    const times = [0, 1, 1, 1, 2, 4, 4, 7];
    const store = await open(t);
    await written(store, times);
    const account = (await store.account(adult())) ?? assert.fail();
    const moments = [undefined, ...Array.from({ length: 10 }, (_, minute) => minute - 1)];
    for (const from of moments) {
      for (const to of moments) {
        const expected = times
          .map((time, index) => ({ time, sequence: index + 1 }))
          .filter(({ time }) => (from === undefined || time >= from) && (to === undefined || time < to))
          .map(({ sequence }) => sequence);
        const period = {
          start: from === undefined ? undefined : minutes(from),
          end: to === undefined ? undefined : minutes(to),
        };
        const found: number[] = [];
        for (let before: number | undefined, hasMore = true; hasMore; before = found.at(-1)) {
          const read = await entriesOf(store, account, { ...period, before, limit: 3 });
          found.push(...read.page.map(({ entry }) => entry.sequence));
          hasMore = read.hasMore;
        }
        assert.deepEqual(found, expected.toReversed(), `${from} to ${to}`);
      }
    }
  });
}

test("A list at a past time reads 50 accounts at most before others have their turn", async (t) => {
  const store = openSqlite(":memory:");
  let time = minutes(0);
  let inTurn = new Set<string>();
  let most = 0;
  const counting = instead<Store>(store, {
    statement: (pesel, page) => {
      if (inTurn.size === 0) void nextTurn().then(() => (inTurn = new Set()));
      inTurn.add(pesel);
      most = Math.max(most, inTurn.size);
      return store.statement(pesel, page);
    },
  });
  const service = new LedgerService(counting, fixedRates(), () => time);
  t.after(() => service.close());
  const people = Array.from({ length: 120 }, (_, index) => index);
  await Promise.all(people.map((index) => service.createAccount(opening({ index }))));
  time = minutes(10);
  await Promise.all(people.map((index) => service.change(cash("deposit", adult(index), "1 PLN"))));
  time = minutes(20);
  most = 0;
  const { items } = await service.accounts({ limit: 200, at: minutes(5) });
  assert.equal(items.length, people.length);
  assert.equal(most, 50);
});
