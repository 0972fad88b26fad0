import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import { requestText } from "../../src/core/change.ts";
import { pln } from "../../src/core/currency.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import { positionInId } from "../../src/ledger/entry-id.ts";
import { sealEntry, sha256 } from "../../src/ledger/seal.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { migrations as postgresMigrations } from "../../src/postgres/schema.ts";
import { applicationId, migrations as sqliteMigrations } from "../../src/sqlite/schema.ts";
import { adapters, type SharedDatabase } from "../support/adapters.ts";
import { openingEntry } from "../support/entries.ts";
import { adult, decimal, fixedRates, now, opening, table, terms } from "../support/fixture.ts";
import { counted, exchangeReceipt, texts } from "../support/service.ts";

/** What an fx with schema 1 wrote: its entries, in the order of commits, and its tables. */
const before = JSON.parse(
  readFileSync(new URL("../fixtures/ledger-1.json", import.meta.url), "utf8"),
) as Before;

interface Before {
  readonly entries: readonly { readonly text: string; readonly hash: string }[];
  readonly tables: readonly Record<"number" | "trading_date" | "effective_date" | "rates", string>[];
}

const entries = before.entries.map(({ text, hash }) => {
  const { id, pesel, sequence, key, name, surname, balances } = JSON.parse(text);
  return { id, pesel, sequence, key, name, surname, balances: JSON.stringify(balances), text, hash };
});
const anna = "80010112340" as Pesel;

const quoted = (...values: unknown[]) =>
  values.map((value) => (value == null ? "null" : `'${String(value).replaceAll("'", "''")}'`)).join(", ");

/** Statements that make a database of a schema up to 4 with all of it, as the fx of that schema did. */
function statementsBefore(name: string, schema = 1): string[] {
  const tables = before.tables.map(
    ({ number, trading_date, effective_date, rates }) =>
      `insert into rate_table (number, trading_date, effective_date, rates) values (${quoted(number, trading_date, effective_date, rates)})`,
  );
  const isSqlite = name === "sqlite:";
  const rows = entries.flatMap((entry) => {
    const { id, pesel, sequence, key, name: first, surname, balances, text, hash } = entry;
    const previous = entries.find((other) => other.pesel === pesel && other.sequence === sequence - 1);
    const position = positionInId(id);
    const journal = isSqlite
      ? `(position, previous, pesel, sequence, key, entry, hash) values (${quoted(position, previous && positionInId(previous.id), pesel, sequence, key, text, hash)})`
      : `(pesel, sequence, id, key, entry, hash) values (${quoted(pesel, sequence, id, key, text, hash)})`;
    const opened = isSqlite
      ? `(pesel, name, surname, newest) values (${quoted(pesel, first, surname, position)})`
      : `(pesel, name, surname, balances, sequence, hash) values (${quoted(pesel, first, surname, balances, sequence, hash)})`;
    const moved = isSqlite
      ? `newest = ${position}`
      : `balances = '${balances}', sequence = ${sequence}, hash = '${hash}'`;
    const account =
      sequence === 1
        ? `insert into account ${opened}`
        : `update account set ${moved} where pesel = ${Number(pesel)}`;
    return [`insert into journal ${journal}`, account];
  });
  const [first, ...upgrades] = migrationsTo(name, schema);
  return [...(first ?? []), ...versionOf(name, schema), ...tables, ...rows, ...upgrades.flat()];
}

/** The statements of each step. */
function migrationsTo(name: string, schema: number): string[][] {
  return (name === "sqlite:" ? sqliteMigrations : postgresMigrations).slice(0, schema).map((migration) =>
    String(migration)
      .split(/;\n/)
      .filter((sql) => sql.trim() !== ""),
  );
}

function versionOf(name: string, schema: number): string[] {
  return name === "sqlite:"
    ? [`pragma application_id = ${applicationId}`, `pragma user_version = ${schema}`]
    : [
        "create table fx_schema (id integer not null primary key check (id = 1), version integer not null)",
        `insert into fx_schema (id, version) values (1, ${schema})`,
      ];
}

/** What an fx with schema 3 wrote: its entries, in the order of commits, and the rows of the other tables. */
const third = JSON.parse(readFileSync(new URL("../fixtures/ledger-3.json", import.meta.url), "utf8")) as Pick<
  Before,
  "entries"
> &
  Record<"rate_table" | "accepted_table" | "refusal", Record<string, unknown>[]>;

/** Statements that make a database of schema 3 with all of it. */
function statementsOf3(name: string): string[] {
  const insert = (into: string, row: Record<string, unknown>) =>
    `insert into ${into} (${Object.keys(row).join(", ")}) values (${quoted(...Object.values(row))})`;
  const holders = new Map<string, object>();
  const newest = new Map<string, string>();
  const positions = new Map<string, number>();
  const journal = third.entries.map(({ text, hash }) => {
    const { id, pesel, sequence, key, name: first, surname, balances } = JSON.parse(text);
    const position = positionInId(id);
    const common = { pesel, sequence, idempotency_key: key, entry: text, hash };
    const holder = { name: first, surname };
    const account = { pesel, ...(sequence === 1 ? holder : holders.get(pesel)) };
    if (sequence === 1) holders.set(pesel, holder);
    const isSqlite = name === "sqlite:";
    const head = isSqlite ? { newest: position } : { balances: JSON.stringify(balances), sequence, hash };
    newest.set(pesel, insert("account", { ...account, ...head }));
    const previous = positions.get(pesel);
    positions.set(pesel, position);
    return insert("journal", isSqlite ? { position, previous, ...common } : { id, ...common });
  });
  const others = (["rate_table", "accepted_table", "refusal"] as const).flatMap((table) =>
    third[table].map((row) => insert(table, row)),
  );
  return [...migrationsTo(name, 3).flat(), ...versionOf(name, 3), ...journal, ...newest.values(), ...others];
}

for (const adapter of adapters) {
  if (adapter.database === undefined) continue;
  const openDatabase = adapter.database;

  describe(`a ledger of schema 1 over ${adapter.name}`, () => {
    async function database(t: TestContext): Promise<SharedDatabase> {
      const made = await openDatabase(t);
      for (const sql of statementsBefore(adapter.name)) await made.run(sql);
      return made;
    }

    test("has every entry as it was, character by character, and a clean audit", async (t) => {
      const store = await (await database(t)).open();
      const service = new LedgerService(store, fixedRates());
      for (const { id, text, hash } of entries) {
        const kept = await store.entry(id);
        assert.deepEqual([kept?.text, kept?.hash], [text, hash]);
      }
      assert.deepEqual(counted(await service.audit()), {
        accounts: 2,
        entries: 5,
        findings: [],
        findingsTotal: 0,
      });
      const { currencies, spreadEarned } = await service.position();
      assert.deepEqual(
        currencies.map(({ house }) => house),
        [224_814n, -2132n, -12_149n, -40_000n],
      );
      assert.equal(spreadEarned.minor, 3071n);
    });

    test("answers a key from before with what it answered then", async (t) => {
      const service = new LedgerService(await (await database(t)).open(), fixedRates());
      const order = { ...terms("buy 500 USD for PLN"), pesel: anna, key: "order-1" };
      const { receiptId, replayed } = await service.exchange(order);
      assert.deepEqual([receiptId, replayed], [entries[2]?.id, true]);
    });

    test("trades at nothing that it had before: the first exchange says what is in force", async (t) => {
      const store = await (await database(t)).open();
      assert.equal(await store.inForce(), undefined);
      const service = new LedgerService(store, fixedRates(), () => now);
      const { receiptId } = await service.exchange({ ...terms("buy 1 USD for PLN"), pesel: anna });
      assert.equal((await exchangeReceipt(service, receiptId)).tableId, table.id);
      assert.deepEqual(await store.inForce(), { epoch: 1, table });
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("is refused for reading, and left as it is", async (t) => {
      const { openWith, run } = await database(t);
      await assert.rejects(openWith({ access: "read" }), {
        code: "storage-unavailable",
        message: /older fx \(schema 1; this one reads \d+\)\. fx serve upgrades it/,
      });
      assert.equal((await run("select key from journal")).length, entries.length);
    });

    test("is upgraded once for writing, which is told", async (t) => {
      const { openWith } = await database(t);
      const told: number[] = [];
      const onUpgrade = (from: number, to: number) => told.push(from, to);
      const stores = [await openWith({ onUpgrade }), await openWith({ onUpgrade })];
      assert.deepEqual(told, [1, stores[0]?.schemaVersion]);
    });

    test("cannot be written any more by an fx of that schema", async (t) => {
      const { open, run } = await database(t);
      await open();
      const writes = statementsBefore(adapter.name).filter((sql) =>
        /^insert into (journal|rate_table)/.test(sql),
      );
      assert.ok(writes.length > 5);
      for (const sql of writes)
        await assert.rejects(
          run(sql),
          /no column named key|column "key" .*does not exist|rate_table\.id|column "id"/,
        );
    });
  });

  describe(`a ledger of schema 2 over ${adapter.name}`, () => {
    async function database(t: TestContext): Promise<SharedDatabase> {
      const made = await openDatabase(t);
      for (const sql of statementsBefore(adapter.name, 2)) await made.run(sql);
      return made;
    }

    test("is upgraded, has every entry as it was, and answers a key from before", async (t) => {
      const { openWith } = await database(t);
      const told: number[] = [];
      const store = await openWith({ onUpgrade: (from, to) => told.push(from, to) });
      assert.deepEqual(told, [2, store.schemaVersion]);
      const service = new LedgerService(store, fixedRates(), () => now);
      assert.deepEqual(counted(await service.audit()), {
        accounts: 2,
        entries: 5,
        findings: [],
        findingsTotal: 0,
      });
      const order = { ...terms("buy 500 USD for PLN"), pesel: anna, key: "order-1" };
      assert.equal((await service.exchange(order)).replayed, true);
    });

    test("keeps refusals from now on", async (t) => {
      const service = new LedgerService(await (await database(t)).open(), fixedRates(), () => now);
      const order = { ...terms("buy 9999 USD for PLN"), pesel: anna, key: "refused" };
      await assert.rejects(service.exchange(order), { code: "insufficient-funds", replayed: false });
      await assert.rejects(service.exchange(order), { code: "insufficient-funds", replayed: true });
    });

    test("can still be written by an fx of that schema, which was open before", async (t) => {
      const { open, run } = await database(t);
      await open();
      const columns =
        adapter.name === "sqlite:"
          ? "position, pesel, sequence, idempotency_key, entry, hash) values (99, 1"
          : "id, pesel, sequence, idempotency_key, entry, hash) values ('0190b2c4-0000-7000-8000-000000000000', 1";
      await run(`insert into journal (${columns}, 1, 'k', '{}', '')`);
    });
  });
  describe(`a ledger of schema 4 over ${adapter.name}`, () => {
    async function database(t: TestContext): Promise<SharedDatabase> {
      const made = await openDatabase(t);
      for (const sql of statementsBefore(adapter.name, 4)) await made.run(sql);
      return made;
    }
    const found = async (store: Store, name: string) =>
      (await store.accounts({ limit: 10, name: [name] })).map(({ surname }) => surname);

    test("finds its accounts by name once it is upgraded, and has a clean audit", async (t) => {
      const store = await (await database(t)).open();
      assert.deepEqual(await found(store, "now"), ["Nowak"]);
      assert.deepEqual((await new LedgerService(store, fixedRates()).audit()).findings, []);
    });

    test("finds each account by name, however many there are", async (t) => {
      const { run, open } = await database(t);
      const more =
        adapter.name === "sqlite:"
          ? "(pesel, name, surname, newest) with recursive n (n) as (select 1 union all select n + 1 from n where n < 12000) " +
            "select n, 'Jan', 'Łęcki' || n, 1 from n"
          : "(pesel, name, surname, balances, sequence, hash) select n, 'Jan', 'Łęcki' || n, '{}', 1, '' from generate_series(1, 12000) as n";
      await run(`insert into account ${more}`);
      const store = await open();
      assert.deepEqual(await found(store, "lecki1200"), ["Łęcki1200", "Łęcki12000"]);
      for (const n of [1, 5000, 5001, 12000]) assert.equal((await found(store, `lecki${n}`))[0], `Łęcki${n}`);
    });
  });

  describe(`a ledger of schema 6 over ${adapter.name}`, () => {
    const buy = { ...terms("buy 1 USD for PLN"), pesel: adult(), key: "done" };
    const refused = { ...terms("sell 999 EUR for PLN"), pesel: adult(), key: "refused" };
    const serviceOn = (store: Store) => new LedgerService(store, fixedRates(table, store), () => now);

    /** With an entry and a refusal, as the fx of that schema wrote them. */
    async function database(t: TestContext): Promise<SharedDatabase> {
      const made = await openDatabase(t);
      const service = serviceOn(await made.open());
      await service.createAccount(opening());
      await service.exchange(buy);
      await assert.rejects(service.exchange(refused), { code: "insufficient-funds" });
      await service.close();
      await made.run("alter table refusal drop column asked_by");
      await made.run(
        adapter.name === "sqlite:" ? "pragma user_version = 6" : "update fx_schema set version = 6",
      );
      return made;
    }

    test("is upgraded, and answers its keys with any token", async (t) => {
      const { openWith } = await database(t);
      const told: number[] = [];
      const store = await openWith({ onUpgrade: (from, to) => told.push(from, to) });
      assert.deepEqual(told, [6, store.schemaVersion]);
      const service = serviceOn(store);
      for (const by of [undefined, "anna", "jan"]) {
        assert.equal((await service.exchange({ ...buy, by })).replayed, true);
        const sent = service.exchange({ ...refused, by });
        await assert.rejects(sent, { code: "insufficient-funds", replayed: true });
      }
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("keeps refusals by token from now on", async (t) => {
      const service = serviceOn(await (await database(t)).open());
      const sell = (by: string) => service.exchange({ ...refused, key: "another", by });
      await assert.rejects(sell("anna"), { code: "insufficient-funds" });
      await assert.rejects(sell("jan"), { code: "idempotency-key-reused" });
    });

    test("can still be written by an fx of that schema, which was open before", async (t) => {
      const { open, run } = await database(t);
      const service = serviceOn(await open());
      const digest = sha256(requestText({ kind: "exchange", ...refused }));
      await run(
        "insert into refusal (pesel, idempotency_key, digest, code, message, refused_at) " +
          `values (${Number(adult())}, 'late', '${digest}', 'insufficient-funds', 'No.', ${now.getTime()})`,
      );
      const sent = service.exchange({ ...refused, key: "late", by: "anna" });
      await assert.rejects(sent, { code: "insufficient-funds", replayed: true, message: "No." });
    });
  });

  describe(`a ledger of schema 3 over ${adapter.name}`, () => {
    const later = new Date("2026-06-08T15:00:00Z");

    async function database(t: TestContext): Promise<SharedDatabase> {
      const made = await openDatabase(t);
      for (const sql of statementsOf3(adapter.name)) await made.run(sql);
      return made;
    }

    async function upgraded(t: TestContext, clock = later) {
      const store = await (await database(t)).open();
      return { store, service: new LedgerService(store, fixedRates(table, store), () => clock) };
    }

    test("is upgraded, and has every entry as it was, the table in force, and a clean audit", async (t) => {
      const { openWith } = await database(t);
      const told: number[] = [];
      const store = await openWith({ onUpgrade: (from, to) => told.push(from, to) });
      assert.deepEqual(told, [3, store.schemaVersion]);
      for (const { text, hash } of third.entries) {
        const kept = await store.entry(JSON.parse(text).id);
        assert.deepEqual([kept?.text, kept?.hash, kept?.reversedBy], [text, hash, undefined]);
      }
      assert.deepEqual(await store.inForce(), { epoch: 1, table });
      const service = new LedgerService(store, fixedRates(table, store), () => later);
      assert.deepEqual(counted(await service.audit()), {
        accounts: 2,
        entries: 5,
        findings: [],
        findingsTotal: 0,
      });
    });

    test("answers keys from before, done or refused, with what it answered then", async (t) => {
      const { service } = await upgraded(t);
      const buy = { ...terms("buy 500 USD for PLN"), pesel: anna, key: "order-1" };
      assert.equal((await service.exchange(buy)).replayed, true);
      const zaneta = "02291234562" as Pesel;
      const deposit = {
        kind: "deposit",
        pesel: zaneta,
        amount: decimal("10"),
        currency: pln,
        note: undefined,
      } as const;
      await service.change(deposit);
      const refused = { ...terms("buy 1 USD for PLN"), pesel: zaneta, key: "refused" };
      await assert.rejects(service.exchange(refused), { code: "insufficient-funds", replayed: true });
    });

    test("takes every kind of change, and reverses an exchange from before", async (t) => {
      const { service } = await upgraded(t);
      const ids = third.entries.map(({ text }) => JSON.parse(text)).filter(({ kind }) => kind === "exchange");
      for (const { id } of ids.toReversed()) {
        await service.change({ kind: "reversal", pesel: anna, reverses: id, reason: "a slip" });
      }
      const { balances } = await service.account(anna);
      assert.deepEqual(texts(balances), ["10000.00 PLN", "0.00 EUR", "0 JPY", "0.00 USD"]);
      assert.equal((await service.position()).spreadEarned.minor, 0n);
      await service.change({ kind: "renaming", pesel: anna, name: "Anna", surname: "Lis" });
      const all = { pesel: anna, amount: decimal("10000"), currency: pln, note: undefined };
      await service.change({ kind: "withdrawal", ...all });
      await service.change({ kind: "closing", pesel: anna });
      assert.equal((await service.account(anna)).closed, true);
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("makes no entry that is earlier than the account's last from before", async (t) => {
      const { service } = await upgraded(t, new Date("2026-06-08T01:00:00Z"));
      const { receiptId } = await service.exchange({ ...terms("buy 1 USD for PLN"), pesel: anna });
      const [made, last] = (await service.statement(anna, { limit: 2 })).items;
      assert.equal(made?.id, receiptId);
      assert.equal(made?.time.getTime(), last?.time.getTime());
    });

    test("can still be written by an fx of that schema, which was open before", async (t) => {
      const { open, run } = await database(t);
      const service = new LedgerService(await open(), fixedRates(), () => later);
      const id = "0190b2c4-0000-7000-8000-000000000063";
      const pesel = "75061598768" as Pesel;
      const { text, hash } = sealEntry(openingEntry(pesel, { id, minor: 100n }), "");
      const isSqlite = adapter.name === "sqlite:";
      const common = `${pesel}, 1, null, '${text}', '${hash}'`;
      await run(
        isSqlite
          ? `insert into journal (position, pesel, sequence, idempotency_key, entry, hash) values (99, ${common})`
          : `insert into journal (id, pesel, sequence, idempotency_key, entry, hash) values ('${id}', ${common})`,
      );
      const columns = isSqlite ? "newest" : "balances, sequence, hash";
      const values = isSqlite ? "99" : `'{"PLN":100}', 1, '${hash}'`;
      await run(
        `insert into account (pesel, name, surname, ${columns}) values (${pesel}, 'Jan', 'Kowalski', ${values})`,
      );
      assert.deepEqual(texts((await service.account(pesel)).balances), ["1.00 PLN"]);
      await service.change({ kind: "deposit", pesel, amount: decimal("1"), currency: pln, note: undefined });
      assert.deepEqual((await service.audit()).findings, []);
      // That fx wrote nothing to find it by.
      const found = async () =>
        (await service.accounts({ limit: 9, name: ["kow"] })).items.map((one) => one.pesel);
      assert.deepEqual(await found(), []);
      await service.change({ kind: "renaming", pesel, name: "Jan", surname: "Kowalski" });
      assert.deepEqual([await found(), (await service.audit()).findings], [[pesel], []]);
    });
  });
}
