import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { headText } from "../../src/core/checkpoint.ts";
import type { AccountHead } from "../../src/core/service.ts";
import { auditLedger } from "../../src/ledger/audit.ts";
import { tableOf } from "../../src/ledger/checkpoint.ts";
import { sha256 } from "../../src/ledger/seal.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adapters } from "../support/adapters.ts";
import { adult, fixedRates, now, opening, terms } from "../support/fixture.ts";

const accounts = 2000;
const order = (index: number) => ({ ...terms("buy 0.01 USD for PLN"), pesel: adult(index) });

/** Of so many accounts that an audit takes them a tenth at a time, and looks for each one's few entries along its chain. */
async function ledger(t: TestContext) {
  const sqlite = adapters.find(({ name }) => name === "sqlite:");
  const database = await sqlite?.database?.(t);
  assert.ok(database !== undefined);
  const store = Object.assign(await database.open(), { accountsTogether: 200 });
  const service = new LedgerService(store, fixedRates(), () => now);
  const indexes = Array.from({ length: accounts }, (_, index) => index);
  await Promise.all(indexes.map((index) => service.createAccount(opening({ index }))));
  await Promise.all(indexes.slice(0, 300).map((index) => service.exchange(order(index))));
  const read = { journal: 0, chains: 0 };
  const watched = (hasChains: boolean): Store =>
    new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (name === "chains" && !hasChains) return undefined;
        if (typeof member !== "function") return member;
        return (...page: readonly unknown[]) => {
          if (name === "journal" || name === "chains") read[name] += 1;
          return member.apply(target, page);
        };
      },
    });
  const lookingAtAll = () => auditLedger(watched(false));
  return { ...database, service, store: watched(true), read, lookingAtAll };
}

const columns = "pesel, sequence, idempotency_key, entry, hash";
const edits: Readonly<Record<string, string>> = {
  "an entry of an account to which none leads": `insert into journal (position, previous, ${columns})
    select 900000, null, ${columns} from journal where position = 7`,
  "an entry without an account": `insert into journal (position, previous, ${columns})
    select 900000, null, 44444444444, sequence, idempotency_key, entry, hash from journal where position = 7`,
  "an account that is gone": `delete from account where pesel = ${adult(5)}`,
  "an entry that is gone": `delete from journal where pesel = ${adult(5)} and sequence = 1`,
  "an entry that does not lead to the one before": `update journal set previous = null where pesel = ${adult(5)}`,
  "an entry that leads to itself": `update journal set previous = position where pesel = ${adult(5)} and sequence = 2`,
  "an entry that leads to another account's": `update journal set previous = 9 where pesel = ${adult(5)} and sequence = 2`,
  "an account that leads to another's entry": `update account set newest = 9 where pesel = ${adult(5)}`,
  "an entry that was changed": `update journal set entry = replace(entry, '"USD"', '"EUR"') where pesel = ${adult(5)}`,
  "an entry that moved to another account": `update journal set pesel = ${adult(6)} where pesel = ${adult(5)}`,
};

describe("an audit of many accounts", () => {
  test("finds their entries along their chains, and says the same as one that looks at all of them", async (t) => {
    const { store, read, lookingAtAll } = await ledger(t);
    const report = await auditLedger(store);
    assert.equal(report.entries, accounts + 300);
    assert.equal(report.findingsTotal, 0);
    assert.equal(read.journal, 0);
    assert.deepEqual(report, await lookingAtAll());
  });

  test("gives out their heads, and finds them in a checkpoint, along their chains, too", async (t) => {
    const { store, read } = await ledger(t);
    const heads: AccountHead[] = [];
    const onHeads = async (some: readonly AccountHead[]) => void heads.push(...some);
    const { digest } = await auditLedger(store, { onHeads });
    assert.equal(heads.length, accounts);
    const table = await tableOf(Readable.from([heads]));
    const compared = await auditLedger(store, { against: table });
    assert.deepEqual(compared.against, { accounts, found: accounts, lost: [] });
    assert.equal(compared.digest, digest);
    assert.equal(read.journal, 0);
  });

  test("gives out heads once, and their digest, if it has to look at all entries after all", async (t) => {
    const { store, run, read } = await ledger(t);
    await run(`${edits["an entry of an account to which none leads"]} returning pesel`);
    const heads: AccountHead[] = [];
    const onHeads = async (some: readonly AccountHead[]) => void heads.push(...some);
    const { digest, findingsTotal } = await auditLedger(store, { onHeads });
    assert.ok(read.journal > 0);
    assert.ok(findingsTotal > 0);
    assert.equal(new Set(heads.map(({ customer }) => customer)).size, heads.length);
    assert.equal(digest, sha256(heads.map((head) => `${headText(head)}\n`).join("")));
  });

  test("is clean while orders go on", async (t) => {
    const { store, service, read } = await ledger(t);
    let placed = 0;
    let isOver = false;
    const orders = (async () => {
      for (; !isOver; placed += 1) {
        await service.exchange(order(placed % accounts));
        await service.createAccount(opening({ index: accounts + placed }));
      }
    })();
    const report = await auditLedger(store);
    isOver = true;
    await orders;
    assert.ok(placed > 10, `${placed} orders`);
    assert.equal(report.findingsTotal, 0);
    assert.equal(read.journal, 0);
  });

  for (const [what, sql] of Object.entries(edits)) {
    test(`finds ${what} as one that looks at all entries does`, async (t) => {
      const { store, run, read, lookingAtAll } = await ledger(t);
      assert.ok((await run(`${sql} returning pesel`)).length > 0);
      const report = await auditLedger(store);
      assert.ok(read.chains > 0, "it follows the chains first");
      assert.ok(read.journal > 0, "then it looks at all entries");
      assert.ok(report.findingsTotal > 0);
      assert.deepEqual(report, await lookingAtAll());
    });
  }
});
