import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import type { AccountHead, AuditProgress, AuditReport } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import {
  checkpointEnd,
  checkpointHeads,
  checkpointStart,
  readCheckpoint,
} from "../../src/wire/checkpoint.ts";
import { adapters, type SharedDatabase } from "../support/adapters.ts";
import {
  adult,
  fixedRates,
  now,
  opening,
  putInForce,
  table,
  terms,
  tradedRates,
} from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";
import { counted } from "../support/service.ts";

const holder = adult(0);

/** An audit in the lines of a checkpoint, where one that could not be written or read would hide all findings. */
async function auditOverTheWire(service: LedgerService): Promise<AuditReport> {
  const lines = [checkpointStart({ time: now.toISOString(), fx: "", schemaVersion: 1, entries: 0 })];
  const onHeads = async (heads: readonly AccountHead[]) => void lines.push(checkpointHeads(heads));
  lines.push(checkpointEnd(await service.audit({ onHeads })));
  const reading = readCheckpoint(Readable.from(lines.map((line) => Buffer.from(line))));
  for (;;) {
    const { value, done } = await reading.next();
    if (done) return value;
  }
}

/** A ledger with three accounts and six exchanges, and a way to edit it behind the ledger's back. */
async function ledgerOn(database: SharedDatabase) {
  const store = await database.open();
  const service = new LedgerService(store, await tradedRates(store), () => now);
  for (const index of [0, 1, 2]) await service.createAccount(opening({ index, pln: "1000" }));
  for (const order of ["buy 100 USD for PLN", "sell 50 USD for EUR"]) {
    for (const index of [0, 1, 2]) await service.exchange({ ...terms(order), pesel: adult(index) });
  }
  return {
    service,
    async tamper(sql: string, rows = 1) {
      const edited = await database.run(`${sql.replace("?", `'${adult(0)}'`)} returning pesel`);
      assert.equal(edited.length, rows);
    },
    run: database.run,
    async problems() {
      const { findings } = await auditOverTheWire(service);
      return findings.map(({ account, entry, problem }) => `${account} ${entry ?? "-"} ${problem}`);
    },
  };
}

/** Puts one text in the place of another in an entry. */
const edit = (sequence: number, from: string, to: string) =>
  `update journal set entry = replace(entry, '${from}', '${to}') where pesel = ? and sequence = ${sequence}`;

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  const openDatabase = database;
  const ledger = async (t: TestContext) => ledgerOn(await database(t));
  describe(`an audit over ${name}`, () => {
    test("a ledger that nobody edited is clean", async (t) => {
      const { service } = await ledger(t);
      assert.deepEqual(counted(await service.audit()), {
        accounts: 3,
        entries: 9,
        findings: [],
        findingsTotal: 0,
      });
    });

    test("a ledger of several pages of accounts is read whole, and tells how far it is", async (t) => {
      const { open, run } = await openDatabase(t);
      const service = new LedgerService(await open(), fixedRates(), () => now);
      await Promise.all(
        Array.from({ length: 1001 }, (_, index) => service.createAccount(opening({ index }))),
      );
      const told: AuditProgress[] = [];
      const report = await service.audit({ onProgress: (done) => told.push(done) });
      assert.deepEqual(counted(report), { accounts: 1001, entries: 1001, findings: [], findingsTotal: 0 });
      assert.ok(told.length > 1);
      assert.deepEqual(
        told.map(({ entries }) => entries),
        told.map(({ entries }) => entries).sort((a, b) => a - b),
      );
      assert.deepEqual([told.at(-1)?.accounts, told.at(-1)?.entries], [1001, 1001]);
      await run("update journal set hash = 'x' returning pesel");
      const { findings, findingsTotal } = await service.audit();
      assert.equal(findings.length, 1000);
      assert.ok(findingsTotal > 1000);
      assert.deepEqual([findings[0]?.recorded, findings[0]?.recomputed.length], ["x", 64]);
    });

    describe("an edit behind the ledger's back is found", () => {
      const edits: [what: string, sql: string, finding: string][] = [
        ["the number", edit(2, '"sequence":2', '"sequence":9'), `${holder} 9 entry after the account's last`],
        [
          "a token's name that is a number",
          edit(2, '"key":null', '"key":null,"by":5'),
          `${holder} 2 unreadable entry`,
        ],
        [
          "a table's number that is null",
          edit(2, '"table":"', '"table":null,"tables":"'),
          `${holder} 2 unreadable entry`,
        ],
        [
          "an entry's hash",
          "update journal set hash = 'x' where pesel = ? and sequence = 2",
          `${holder} 2 broken hash chain`,
        ],
        [
          "the last entry's hash",
          "update journal set hash = 'x' where pesel = ? and sequence = 3",
          `${holder} 3 broken hash chain`,
        ],
        [
          "the last entry's number",
          edit(3, '"sequence":3', '"sequence":-3'),
          `${holder} -3 gap in the sequence`,
        ],
        [
          "a missing entry",
          "delete from journal where pesel = ? and sequence = 2",
          `${holder} 3 gap in the sequence`,
        ],
        [
          "an account set back by an entry",
          "update account set sequence = 2 where pesel = ?",
          `${holder} 3 entry after the account's last`,
        ],
      ];
      for (const [what, sql, finding] of edits) {
        test(`An edit behind the ledger's back is found: ${what}`, async (t) => {
          const { tamper, problems } = await ledger(t);
          await tamper(sql);
          const found = await problems();
          assert.ok(found.includes(finding), found.join("\n"));
          assert.ok(
            found.every((line) => line.startsWith(holder) || line.startsWith("all accounts")),
            found.join("\n"),
          );
        });
      }

      test("An edit behind the ledger's back of any character of an entry is found", async (t) => {
        const { run, problems } = await ledger(t);
        const rows = (await run("select position, entry from journal")) as {
          position: number;
          entry: string;
        }[];
        const write = (entry: string, position: number) =>
          run(
            `update journal set entry = '${entry.replaceAll("'", "''")}' where position = ${position} returning 1`,
          );
        const characters = fc.constantFrom(..."0123456789abcdefPLNUSD\":,{}- '");
        await fc.assert(
          fc.asyncProperty(
            fc.constantFrom(...rows),
            fc.nat(),
            characters,
            async ({ position, entry }, nth, other) => {
              const at = nth % entry.length;
              fc.pre(entry[at] !== other);
              // The database refuses what is no JSON.
              const edited = await write(entry.slice(0, at) + other + entry.slice(at + 1), position).catch(
                () => [],
              );
              if (edited.length > 0) assert.notDeepEqual(await problems(), []);
              await write(entry, position);
            },
          ),
          { numRuns: 50 },
        );
        assert.deepEqual(await problems(), []);
      });

      const places = { "before the first": "-5", "that is no exact number": "1152921504606846976" };
      for (const [what, position] of Object.entries(places)) {
        test(`an entry at a position ${what}`, async (t) => {
          const { run, problems } = await ledger(t);
          // PostgreSQL gives positions itself.
          const [first] = await run("delete from journal where position = 1 returning entry, hash");
          const { entry, hash } = first as { entry: string; hash: string };
          const row = `'${entry}', '${hash}'`;
          const into = "insert into journal (position, entry, hash)";
          await run(`${into} values (${position}, ${row})`).catch(() =>
            run(`${into} overriding system value values (${position}, ${row})`),
          );
          const found = await problems();
          assert.ok(found.includes("all accounts - positions in the journal"), found.join("\n"));
        });
      }

      test("an entry that cannot be read is not read around", async (t) => {
        const { service, tamper } = await ledger(t);
        await tamper(edit(2, '"kind"', '"kinds"'));
        const failure = { code: "storage-unavailable", message: /Run fx audit/ };
        await assert.rejects(service.position(), failure);
        await assert.rejects(service.statement(adult(0), { limit: 10 }), failure);
      });

      test("figures as long as a PESEL are named too", async (t) => {
        const { service, tamper } = await ledger(t);
        await tamper(edit(2, '"debited":"37000', '"debited":"44051401359'));
        const { findings } = await service.audit();
        assert.equal(
          findings.find(({ problem }) => problem === "debited in the entry")?.recorded,
          "440514013.59 PLN",
        );
        await tamper(edit(2, '"PLN":63000', '"PLN":44051401359'));
        const figures = (await service.audit()).findings.find(
          ({ problem }) => problem === "balances in the entry",
        );
        assert.match(figures?.recorded ?? "", /^\{"PLN":44051401359,/);
      });

      test("the first broken entry of a chain is the edited one, and the later ones are not blamed", async (t) => {
        const { tamper, problems } = await ledger(t);
        await tamper(edit(2, '"time":1', '"time":2'));
        assert.deepEqual(await problems(), [`${holder} 2 broken hash chain`]);
      });
    });

    describe("a table that was tampered with is found", () => {
      test("A rate table that was changed is found by its id, even if no exchange used the changed part", async (t) => {
        const { run, problems } = await ledger(t);
        await run("update rate_table set rates = replace(rates, '0.011793', '0.011794')");
        const all = await problems();
        assert.ok(all.includes(`all accounts - content of table ${table.number}`));
        assert.equal(all.filter((problem) => problem.endsWith(" rate table")).length, 6);
      });

      test("An exchange whose rate table never was in force is found", async (t) => {
        const { run, problems } = await ledger(t);
        await run("delete from accepted_table");
        assert.equal(
          (await problems()).filter((problem) => problem.endsWith("rate table in force")).length,
          6,
        );
      });

      test("An exchange that comes after one at a later rate table is found", async (t) => {
        const database = await openDatabase(t);
        const store = await database.open();
        await putInForce(store, table);
        const service = new LedgerService(store, fixedRates(), () => now);
        await service.createAccount(opening());
        await service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult() });
        await putInForce(store, tableOf("109/C/NBP/2026", "2026-06-09"));
        await service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult() });
        await database.run("update accepted_table set epoch = 3 where epoch = 1");
        const { findings } = await service.audit();
        assert.deepEqual(
          findings.map(({ entry, problem }) => [entry, problem]),
          [
            [3, "rate table in force"],
            [undefined, "number of a table in force"],
            [undefined, "hash of table in force 3"],
          ],
        );
      });
    });

    test("orders go on during an audit, and disturb nothing", async (t) => {
      const { service } = await ledger(t);
      let auditing = true;
      const orders = (async () => {
        for (let index = 3; auditing; index += 1) {
          await service.createAccount(opening({ index, pln: "10" }));
          await service.exchange({ ...terms("buy 0.01 USD for PLN"), pesel: adult(index % 3) });
        }
      })();
      for (let round = 0; round < 20; round += 1) {
        const { findings } = await service.audit();
        assert.deepEqual(findings, []);
        await new Promise((next) => setImmediate(next));
      }
      auditing = false;
      await orders;
    });
  });
}

for (const { name, open } of adapters) {
  test(`an order is answered while a long audit or a position is under way, ${name}`, async (t) => {
    const store = await open(t);
    const service = new LedgerService(store, await tradedRates(store), () => now);
    for (let first = 0; first < 10_000; first += 1000) {
      await Promise.all(
        Array.from({ length: 1000 }, (_, index) => service.createAccount(opening({ index: first + index }))),
      );
    }
    for (const read of [() => service.audit(), () => service.position()]) {
      const done: string[] = [];
      await Promise.all([
        read().then(() => done.push("read")),
        service.exchange({ ...terms("buy 0.01 USD for PLN"), pesel: adult() }).then(() => done.push("order")),
      ]);
      assert.deepEqual(done, ["order", "read"]);
    }
  });
}
