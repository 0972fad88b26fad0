import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { addDays } from "../../src/core/date.ts";
import type { Till } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { engines } from "../support/adapters.ts";
import { seedEveryKind } from "../support/every-kind.ts";
import { adult, decimal, opening, terms, tradedRates } from "../support/fixture.ts";

for (const { name, open } of engines) {
  test(`The tills over ${name} of all days and all actors add up to the position, and have digests of their own`, async (t) => {
    const store = await open(t);
    const service = await seedEveryKind(store);
    const { items } = await service.accounts({ limit: 100 });
    assert.ok(items.length > 1);
    const tills: Till[] = [];
    for (let date = "2026-05-28"; date < "2026-06-10"; date = addDays(date, 1)) {
      for (const by of [undefined, "kasa-2"]) tills.push(await service.till({ date, by }));
    }
    const { currencies } = await service.position();
    for (const { currency, cash } of currencies) {
      const flows = tills.flatMap((till) => till.currencies.filter((flow) => flow.currency === currency));
      const left = flows.reduce((sum, { in: came, out: went }) => sum + came - went, 0n);
      assert.equal(left, cash, currency);
    }
    const busy = tills.filter(({ entries }) => entries > 0);
    assert.ok(busy.length > 3 && busy.length < tills.length);
    assert.equal(new Set(busy.map(({ digest }) => digest)).size, busy.length);
    const rows = await store.rows("journal", { limit: 100_000 });
    const ids = new Set(busy.flatMap(({ first, last }) => [first?.id, last?.id]));
    assert.ok([...ids].every((id) => rows.some(({ entry }) => entry.startsWith(`{"id":"${id}"`))));
  });
}

/** A ledger whose clock a test sets. */
async function openTill() {
  const store = openSqlite(":memory:");
  let clock = new Date("2026-06-08T12:00:00Z");
  const service = new LedgerService(store, await tradedRates(store), () => clock);
  const cash = async (kind: "deposit" | "withdrawal", amount: string, by?: string) => {
    const money = { amount: decimal(amount), currency: "PLN" as never, note: undefined };
    return (await service.change({ kind, pesel: adult(), ...money, by })).receiptId;
  };
  return { store, service, cash, at: (time: string) => (clock = new Date(time)) };
}

const flows = ({ currencies }: Till) =>
  currencies.map(({ currency, in: came, out: went }) => `${currency} +${came} -${went}`);

test("A till counts openings, deposits, withdrawals and their reversals, and no exchange", async () => {
  const { service, cash } = await openTill();
  await service.createAccount({ ...opening({ pln: "100" }), by: "ewa" });
  const deposit = await cash("deposit", "20", "ewa");
  const withdrawal = await cash("withdrawal", "7", "ewa");
  const { receiptId: exchange } = await service.exchange({
    pesel: adult(),
    ...terms("buy 1 USD for PLN"),
    by: "ewa",
  });
  for (const reverses of [deposit, withdrawal, exchange]) {
    await service.change({ kind: "reversal", pesel: adult(), reverses, reason: "a slip", by: "ewa" });
  }
  await service.change({ kind: "block", pesel: adult(), reason: "freeze", by: "ewa" });
  const till = await service.till({ by: "ewa" });
  assert.deepEqual([till.date, till.entries, flows(till)], ["2026-06-08", 5, ["PLN +12700 -2700"]]);
});

test("A till ends at midnight in Warsaw, and has what its own actor did", async () => {
  const { service, cash, at } = await openTill();
  await service.createAccount(opening({ pln: "100" }));
  at("2026-06-08T21:59:59.999Z");
  await cash("deposit", "1", "ewa");
  at("2026-06-08T22:00:00Z");
  await cash("deposit", "2", "ewa");
  await cash("deposit", "4", "jan");
  at("2026-06-08T22:00:10Z");
  const till = async (date: string, by?: string) => flows(await service.till({ date, by }));
  assert.deepEqual(await till("2026-06-08", "ewa"), ["PLN +100 -0"]);
  assert.deepEqual(await till("2026-06-09", "ewa"), ["PLN +200 -0"]);
  assert.deepEqual(await till("2026-06-09", "jan"), ["PLN +400 -0"]);
  assert.deepEqual(await till("2026-06-08"), ["PLN +10000 -0"]);
  assert.deepEqual(await till("2026-06-09"), []);
});

test("A till's digest is the SHA-256 of the hashes of its entries, one a line, and stays when others work on", async () => {
  const { store, service, cash, at } = await openTill();
  await service.createAccount(opening({ pln: "100" }));
  await cash("deposit", "1", "ewa");
  await cash("withdrawal", "1", "ewa");
  const till = await service.till({ by: "ewa" });
  const [, ...rows] = await store.rows("journal", { limit: 10 });
  const hashes = rows.map(({ hash }) => `${hash}\n`).join("");
  assert.equal(till.digest, createHash("sha256").update(hashes).digest("hex"));
  const [first, last] = rows.map(({ entry }) => JSON.parse(entry) as { id: string; time: number });
  assert.deepEqual(
    [till.first, till.last],
    [first, last].map((entry) => entry && { id: entry.id, time: new Date(entry.time) }),
  );
  await cash("deposit", "1", "jan");
  at("2026-06-09T12:00:00Z");
  await cash("deposit", "1", "ewa");
  assert.deepEqual(await service.till({ date: "2026-06-08", by: "ewa" }), till);
});

test("A till has the entries of its day by their own time, where the clock was set back meanwhile", async () => {
  const { service, cash, at } = await openTill();
  await service.createAccount(opening({ pln: "100" }));
  at("2026-06-08T22:03:00Z");
  await cash("deposit", "1", "ewa");
  at("2026-06-08T21:59:00Z");
  await cash("deposit", "2", "ewa");
  assert.deepEqual(flows(await service.till({ date: "2026-06-08", by: "ewa" })), []);
  assert.deepEqual(flows(await service.till({ date: "2026-06-09", by: "ewa" })), ["PLN +300 -0"]);
});

test("A till without an entry is empty, and its digest is that of nothing", async () => {
  const { service } = await openTill();
  const nothing = createHash("sha256").digest("hex");
  assert.deepEqual(await service.till({ date: "2026-06-08", by: "ewa" }), {
    ...{ date: "2026-06-08", by: "ewa", currencies: [], entries: 0 },
    ...{ first: undefined, last: undefined, digest: nothing },
  });
});
