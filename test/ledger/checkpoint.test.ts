import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { headText, isClean } from "../../src/core/checkpoint.ts";
import type { AccountHead, AuditReport, LostHead } from "../../src/core/service.ts";
import { customerId, identityKeyOf } from "../../src/ledger/ids.ts";
import { entryHash } from "../../src/ledger/rows.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store, StoredAccount } from "../../src/ledger/store.ts";
import { adapters, type SharedDatabase } from "../support/adapters.ts";
import { adult, now, opening, terms, tradedRates } from "../support/fixture.ts";

const serviceOn = async (store: Store) => new LedgerService(store, await tradedRates(store), () => now);

/** The heads that an audit gives, and its report. */
async function checkpointOf(
  service: LedgerService,
): Promise<{ readonly heads: readonly AccountHead[]; readonly report: AuditReport }> {
  const heads: AccountHead[] = [];
  const onHeads = async (some: readonly AccountHead[]) => void heads.push(...some);
  return { heads, report: await service.audit({ onHeads }) };
}

async function lostSince(
  service: LedgerService,
  heads: readonly AccountHead[],
): Promise<readonly LostHead[] | undefined> {
  return (await service.audit({ against: chunked(heads) })).against?.lost;
}

async function* chunked(heads: readonly AccountHead[]) {
  for (let start = 0; start < heads.length; start += 100) yield heads.slice(start, start + 100);
}

/** Three accounts, of which the first two have exchanged. */
async function ledgerOn(store: Store): Promise<LedgerService> {
  const service = await serviceOn(store);
  for (const index of [0, 1, 2]) await service.createAccount(opening({ index }));
  for (const index of [0, 1]) await exchange(service, index);
  return service;
}

function exchange(service: LedgerService, index: number) {
  return service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult(index) });
}

for (const { name, open, database } of adapters) {
  describe(`a checkpoint, ${name}`, () => {
    test("A checkpoint has the number of entries and the last hash of each account, by PESEL, and a digest of its lines", async (t) => {
      const store = await open(t);
      const { heads, report } = await checkpointOf(await ledgerOn(store));
      const rows = (await store.accounts({ limit: 10 })) as StoredAccount[];
      const key = await identityKeyOf(store);
      assert.deepEqual(
        heads,
        rows.map(({ pesel, sequence, hash }) => ({
          customer: customerId(pesel, key),
          entries: sequence,
          hash,
        })),
      );
      const lines = heads.map((head) => `${headText(head)}\n`).join("");
      assert.equal(report.digest, createHash("sha256").update(lines).digest("hex"));
      assert.deepEqual([report.accounts, report.entries], [3, 5]);
    });

    test("A checkpoint from another ledger is reported as such, and not as lost accounts", async (t) => {
      const { heads } = await checkpointOf(await ledgerOn(await open(t)));
      const report = await (await ledgerOn(await open(t))).audit({ against: chunked(heads) });
      assert.deepEqual(report.against, { accounts: 3, found: 0, lost: [] });
      assert.equal(isClean(report), false);
    });

    test("A checkpoint is taken while orders go on", async (t) => {
      const service = await ledgerOn(await open(t));
      const orders = [0, 1, 2, 0, 1].map((index) => exchange(service, index));
      const { heads, report } = await checkpointOf(service);
      await Promise.all(orders);
      assert.deepEqual([report.findings, await lostSince(service, heads)], [[], []]);
    });

    if (database !== undefined) {
      test("A checkpoint shows an entry that was changed together with all hashes after it", async (t) => {
        const shared = await database(t);
        const service = await ledgerOn(await shared.open());
        const { heads } = await checkpointOf(service);
        await forge(shared, adult(0));
        // The forger knows how hashes are made: only what is kept elsewhere shows it.
        const forged = await serviceOn(await shared.open());
        assert.deepEqual((await forged.audit()).findings, []);
        const lost = await lostSince(forged, heads);
        assert.deepEqual(
          lost?.map(({ account, entries, entriesNow }) => [account, entries, entriesNow]),
          [[adult(0), 2, 2]],
        );
      });
    }
  });
}

/** Gives the newest entry of an account another key, and the hash that goes with it. */
async function forge({ run }: SharedDatabase, pesel: string): Promise<void> {
  const where = `where pesel = ${Number(pesel)}`;
  const read = (sequence: number) =>
    run(`select entry, hash from journal ${where} and sequence = ${sequence}`).then(
      ([row]) => row as { entry: string; hash: string },
    );
  const before = await read(1);
  const { entry } = await read(2);
  const forged = entry.replace('"key":null', '"key":"forged"');
  const hash = entryHash(forged, before.hash);
  await run(
    `update journal set entry = '${forged}', hash = '${hash}' ${where} and sequence = 2 returning pesel`,
  );
}

const database = (name: string) => adapters.find((adapter) => adapter.name === name)?.database;
const postgres = database("postgres:");

test("the digest of the same chains is the same in SQLite and PostgreSQL, in whatever order accounts were written", {
  skip: postgres === undefined,
}, async (t) => {
  const sqlite = (await database("sqlite:")?.(t)) as SharedDatabase;
  const service = await ledgerOn(await sqlite.open());
  const { heads, report } = await checkpointOf(service);
  for (const order of ["position", "sequence, position desc"]) {
    const shared = (await postgres?.(t)) as SharedDatabase;
    const store = await shared.open();
    await copyLedger(sqlite, shared, order);
    const copy = await (await serviceOn(store)).audit({ against: chunked(heads) });
    assert.deepEqual(copy, { ...report, against: { accounts: 3, found: 3, lost: [] } });
  }
});

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  for (const [sql, problem] of [
    ["update identity_key set value = 'x' || value", "hash of the key of the customers' ids"],
    ["delete from identity_key", "key of the customers' ids"],
  ] as const) {
    test(`An audit over ${name} reports the key of ids after: ${sql}; what needs the key fails`, async (t) => {
      const { open, run } = await database(t);
      const service = await ledgerOn(await open());
      const { heads } = await checkpointOf(service);
      await run(sql);
      const { findings, entries, digest } = await service.audit();
      assert.deepEqual([findings.map((found) => found.problem), entries > 0], [[problem], true]);
      assert.equal(digest, createHash("sha256").digest("hex"));
      await assert.rejects(service.audit({ against: chunked(heads) }), { code: "storage-unavailable" });
      await assert.rejects(checkpointOf(service), { code: "storage-unavailable" });
    });
  }
}

/** Copies a ledger from SQLite to an empty one in PostgreSQL, its entries in that order. */
async function copyLedger(from: SharedDatabase, to: SharedDatabase, order: string): Promise<void> {
  const tables = {
    identity_key: "select * from identity_key",
    journal: `select entry, hash from journal order by ${order}`,
    account: "select * from account",
    name_word: "select * from name_word",
    rate_table: "select * from rate_table",
    accepted_table: "select * from accepted_table",
  };
  await to.run("delete from identity_key returning id");
  for (const [table, select] of Object.entries(tables)) {
    for (const row of (await from.run(select)) as Record<string, unknown>[]) {
      const values = Object.values(row).map((value) =>
        value === null ? "null" : `'${String(value).replaceAll("'", "''")}'`,
      );
      await to.run(`insert into ${table} (${Object.keys(row)}) values (${values}) returning 1`);
    }
  }
}
