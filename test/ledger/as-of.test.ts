import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/core/journal.ts";
import { accountAt, accountsAt, entriesOf } from "../../src/ledger/as-of.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adapters } from "../support/adapters.ts";
import { appending, emptyAccount, money, nextEntry, openingEntry } from "../support/entries.ts";
import { adult, fixedRates } from "../support/fixture.ts";
import { texts } from "../support/service.ts";

const minutes = (count: number) => new Date(Date.UTC(2026, 5, 8, 12, count));

/** Deposits of 1.00 PLN after an opening with nothing, at these minutes. */
async function written(store: Store, times: readonly number[]): Promise<LedgerService> {
  await store.transact([{ pesel: adult(), key: undefined }], ({ nextId }) => {
    const entries: Entry[] = [];
    for (const [index, time] of times.entries()) {
      const at = { id: nextId(), time: minutes(time) };
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

for (const { name, open } of adapters) {
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

test("while an account is followed far back, the event loop is never held for long", async () => {
  const service = await written(
    openSqlite(":memory:"),
    Array.from({ length: 20_000 }, (_, index) => index),
  );
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  await service.account(adult(), minutes(1));
  clearImmediate(timer);
  assert.ok(turns > 20_000 / 256, `${turns} turns`);
});

test("who asks for what is far back may rest after each 128 entries", async () => {
  const times = Array.from({ length: 5000 }, (_, index) => index);
  const store = openSqlite(":memory:");
  const service = await written(store, times);
  const account = await service.account(adult());
  let rests = 0;
  const rest = async () => {
    rests += 1;
  };
  const period = { start: undefined, end: minutes(1), before: undefined, limit: 1 };
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    account: () => accountAt(store, account, minutes(1), rest),
    accounts: () => accountsAt(store, { limit: 1, at: minutes(1) }, rest),
    statement: () => entriesOf(store, adult(), period, rest),
  };
  for (const [name, read] of Object.entries(reads)) {
    rests = 0;
    await read();
    assert.ok(rests > 4000 / 128, `${name}: ${rests}`);
  }
});
