import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import type { AuditProgress } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adapters } from "../support/adapters.ts";
import { adult, now, opening, putInForce, terms, tradedRates } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";
import { counted } from "../support/service.ts";

const buy = (pesel = adult()) => ({ ...terms("buy 0.01 USD for PLN"), pesel });
const sound = { findings: [], findingsTotal: 0 };

async function ledgerOn(store: Store, accounts = 1) {
  const service = new LedgerService(store, await tradedRates(store), () => now);
  await Promise.all(
    Array.from({ length: accounts }, (_, index) => service.createAccount(opening({ index }))),
  );
  return service;
}

/** Runs `meanwhile` once, before or after the first page of accounts is read. */
function during(store: Store, when: "before" | "after", meanwhile: () => Promise<unknown>) {
  const rows = store.rows.bind(store);
  let isOver = false;
  store.rows = async (name, page) => {
    const isFirst = name === "account" && !isOver;
    if (isFirst) isOver = true;
    if (isFirst && when === "before") await meanwhile();
    const found = await rows(name, page);
    if (isFirst && when === "after") await meanwhile();
    return found;
  };
}

for (const { name, open, database } of adapters) {
  describe(`an audit over ${name}`, () => {
    test("An audit reports no entry that came after its account was read, and finds nothing in an account that came", async (t) => {
      const store = await open(t);
      const service = await ledgerOn(store);
      const meanwhile = async () => {
        for (const _ of [1, 2]) await service.exchange(buy());
        await service.createAccount(opening({ index: 1 }));
      };
      during(store, "after", meanwhile);
      assert.deepEqual(counted(await service.audit()), { accounts: 2, entries: 2, ...sound });
    });

    test("An audit knows a table that came into force after it began", async (t) => {
      const store = await open(t);
      const service = await ledgerOn(store, 2);
      await service.exchange(buy());
      const meanwhile = async () => {
        await putInForce(store, tableOf("109/C/NBP/2026", "2026-06-09"));
        await service.exchange(buy(adult(1)));
      };
      during(store, "before", meanwhile);
      assert.deepEqual(counted(await service.audit()), { accounts: 2, entries: 4, ...sound });
    });

    test("An audit finds nothing in a ledger without accounts", async (t) => {
      const service = await ledgerOn(await open(t), 0);
      assert.deepEqual(counted(await service.audit()), { accounts: 0, entries: 0, ...sound });
    });

    test("An audit tells how many of how many entries it has read", async (t) => {
      const store = await open(t);
      const service = await ledgerOn(store);
      store.journalEnd = async () => ({ position: 7, misplaced: false, entries: 7 });
      const told: unknown[] = [];
      await service.audit({ onProgress: (done) => told.push(done) });
      assert.deepEqual(told, [{ accounts: 1, entries: 1, totalEntries: 7 }]);
    });

    test("Orders go on during an audit, and disturb nothing", async (t) => {
      const service = await ledgerOn(await open(t), 3);
      let auditing = true;
      const orders = (async () => {
        for (let index = 3; auditing; index += 1) {
          await service.createAccount(opening({ index, pln: "10" }));
          await service.exchange(buy(adult(index % 3)));
        }
      })();
      for (let round = 0; round < 20; round += 1) {
        assert.deepEqual((await service.audit()).findings, []);
        await new Promise((next) => setImmediate(next));
      }
      auditing = false;
      await orders;
    });

    test("An order is answered while a long audit or a position is under way", async (t) => {
      const service = await ledgerOn(await open(t), 10_000);
      for (const read of [() => service.audit(), () => service.position()]) {
        const done: string[] = [];
        await Promise.all([
          read().then(() => done.push("read")),
          service.exchange(buy()).then(() => done.push("order")),
        ]);
        assert.deepEqual(done, ["order", "read"]);
      }
    });
  });

  if (database === undefined) continue;
  describe(`an audit over ${name}, of rows that were edited,`, () => {
    async function edited(t: TestContext, accounts = 1) {
      const { open, run } = (await database?.(t)) ?? assert.fail();
      return { run, service: await ledgerOn(await open(), accounts) };
    }

    test("An audit of several pages of accounts reads all, tells how far it is, and gives a thousand findings", async (t) => {
      const { service, run } = await edited(t, 1001);
      const told: AuditProgress[] = [];
      const report = await service.audit({ onProgress: (done) => told.push(done) });
      assert.deepEqual(counted(report), { accounts: 1001, entries: 1001, ...sound });
      const entries = told.map(({ entries }) => entries);
      assert.ok(told.length > 1);
      assert.deepEqual(
        entries,
        entries.toSorted((a, b) => a - b),
      );
      assert.deepEqual([told.at(-1)?.accounts, entries.at(-1)], [1001, 1001]);
      await run("update journal set hash = 'x'");
      const { findings, findingsTotal } = await service.audit();
      assert.deepEqual([findings.length, findingsTotal], [1000, 1001]);
      assert.deepEqual(
        findings.map(({ account }) => account),
        findings.map(({ account }) => account).sort(),
      );
    });

    test("An audit finds an edit of any character of an entry", async (t) => {
      const { service, run } = await edited(t, 3);
      for (const index of [0, 1, 2]) await service.exchange(buy(adult(index)));
      const findings = async () => (await service.audit()).findings;
      const rows = (await run("select position, entry from journal")) as {
        position: number;
        entry: string;
      }[];
      const write = (entry: string, position: number) =>
        run(
          `update journal set entry = '${entry.replaceAll("'", "''")}' where position = ${position} returning 1`,
        );
      const characters = fc.constantFrom(..."0123456789abcdefPLNUSD\":,{}- '");
      const edits = fc.asyncProperty(
        ...([fc.constantFrom(...rows), fc.nat(), characters] as const),
        async ({ position, entry }, nth, other) => {
          const at = nth % entry.length;
          fc.pre(entry[at] !== other);
          // The database refuses what is no JSON.
          const done = await write(entry.slice(0, at) + other + entry.slice(at + 1), position).catch(
            () => [],
          );
          if (done.length > 0) assert.notDeepEqual(await findings(), []);
          await write(entry, position);
        },
      );
      await fc.assert(edits, { numRuns: 50 });
      assert.deepEqual(await findings(), []);
    });

    for (const position of ["-5", "1152921504606846976"]) {
      test(`An audit finds an entry at the position ${position}, which fx does not give`, async (t) => {
        const { service, run } = await edited(t);
        const [row] = await run("delete from journal where position = 1 returning entry, hash");
        const { entry, hash } = row as { entry: string; hash: string };
        const into = "insert into journal (position, entry, hash)";
        const values = `values (${position}, '${entry}', '${hash}')`;
        // PostgreSQL gives positions itself.
        await run(`${into} ${values}`).catch(() => run(`${into} overriding system value ${values}`));
        assert.ok(
          (await service.audit()).findings.some(({ problem }) => problem === "positions in the journal"),
        );
      });
    }

    test("A position and a statement fail where an entry cannot be read", async (t) => {
      const { service, run } = await edited(t);
      await run(`update journal set entry = replace(entry, '"kind"', '"kinds"')`);
      const failure = { code: "storage-unavailable", message: /Run fx audit/ };
      await assert.rejects(service.position(), failure);
      await assert.rejects(service.statement(adult(), { limit: 10 }), failure);
    });
  });
}
