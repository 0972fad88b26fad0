import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { pln } from "../../src/core/currency.ts";
import { addDays } from "../../src/core/date.ts";
import { FxError } from "../../src/core/errors.ts";
import { auditLedger } from "../../src/ledger/audit.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adapters, type SharedDatabase } from "../support/adapters.ts";
import { type Column, contentsOf, insertOf, quoted, type Row, rowIs, type Value } from "../support/damage.ts";
import {
  acceptance,
  adult,
  decimal,
  fixedRates,
  now,
  opening,
  terms,
  tradedRates,
} from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

/** Changes that an audit does not find, with the reason. */
const reasons: Readonly<Record<string, string>> = {
  "another refusal.position": "It says which refusals are deleted first, and no answer rests on it.",
  "another journal.position":
    "Only who follows the entries sees it: those of an account have kept their order.",
  "a refusal less": "Refusals are deleted after 30 days.",
  "a rate_table less": "One that was never in force is kept for the history of rates alone.",
};

/** A statement, and the one that undoes it. */
interface Edit {
  readonly what: string;
  readonly sql: string;
  readonly undo: string;
}

type Tables = ReadonlyMap<string, { readonly columns: readonly Column[]; readonly rows: readonly Row[] }>;

/** A ledger that has rows in every table, and each kind of entry. */
async function filled({ open }: SharedDatabase): Promise<void> {
  const store = await open();
  const service = new LedgerService(store, await tradedRates(store), () => now);
  const cash = { currency: pln, note: undefined };
  for (const index of [0, 1, 2]) await service.createAccount(opening({ index, key: "open" }));
  const { receiptId } = await service.exchange({
    ...terms("buy 100 USD for PLN"),
    pesel: adult(),
    key: "buy",
  });
  await service.change({ kind: "reversal", pesel: adult(), reverses: receiptId, reason: "a slip" });
  await service.change({ kind: "deposit", pesel: adult(1), amount: decimal("5"), ...cash });
  await service.change({ kind: "renaming", pesel: adult(1), name: "Ewa", surname: "Lis" });
  await service.change({ kind: "withdrawal", pesel: adult(2), amount: decimal("1000"), ...cash });
  await service.change({ kind: "closing", pesel: adult(2) });
  const later = tableOf("109/C/NBP/2026", "2026-06-08");
  await service.changeTrading({ reason: "The bank corrects its table", by: "anna" });
  await service.changeTrading({ reason: undefined, by: "ewa" });
  await store.acceptTable(later, acceptance(3, "anna@desk"));
  const next = new LedgerService(store, fixedRates(later, store), () => now);
  await next.exchange({ ...terms("sell 50 PLN for USD"), pesel: adult(1) });
  const poor = next.exchange({ ...terms("sell 9999 USD for PLN"), pesel: adult(), key: "poor", by: "anna" });
  await assert.rejects(poor, { code: "insufficient-funds" });
  await store.saveTables([tableOf("090/C/NBP/2026", addDays("2026-06-08", -20))]);
  await next.close();
}

/** Another value that a column could have. */
function otherThan(value: Value, { isNumber }: Column): Value {
  const isId = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(String(value));
  if (isId) return "01a1fc0e-8c6f-70af-a44a-e5ac3576edce";
  return isNumber ? Number(value) + 1 : `${value ?? ""}x`;
}

/** Other values in each column of the first and the last row of each table. */
function changes(tables: Tables): Edit[] {
  return [...tables].flatMap(([table, { columns, rows }]) =>
    [...new Set([rows[0] as Row, rows.at(-1) as Row])].flatMap((row) =>
      columns.flatMap((column) => {
        const value = row[column.column] ?? null;
        const numbers = [0, "9223372036854775807"];
        const others = [otherThan(value, column), null, ...(typeof value === "number" ? numbers : [""])];
        return others.flatMap((other) => {
          if (other === value) return [];
          const changed = { ...row, [column.column]: other };
          const set = (into: Value) => `update ${table} set ${column.column} = ${quoted(into)} where `;
          const sql = set(other) + rowIs(row);
          return [{ what: `another ${table}.${column.column}`, sql, undo: set(value) + rowIs(changed) }];
        });
      }),
    ),
  );
}

/** Each table without each of its rows. */
function losses(tables: Tables): Edit[] {
  return [...tables].flatMap(([table, { rows }]) =>
    rows.map((row) => ({
      what: `a ${table} less`,
      sql: `delete from ${table} where ${rowIs(row)}`,
      undo: insertOf(table, row),
    })),
  );
}

/** Each table with its last row once more, under another primary key. */
function additions(tables: Tables): Edit[] {
  return [...tables].flatMap(([table, { columns, rows }]) =>
    columns.map((column) => {
      const row = rows.at(-1) as Row;
      const added = { ...row, [column.column]: otherThan(row[column.column] ?? null, column) };
      const what = `a ${table} more`;
      return { what, sql: insertOf(table, added), undo: `delete from ${table} where ${rowIs(added)}` };
    }),
  );
}

for (const { name, database } of adapters) {
  if (database === undefined) continue;

  /** PostgreSQL gives positions itself, unless `overriding system value` is said. */
  const overriding = (edit: string) =>
    name.startsWith("postgres:") ? edit.replace(") values (", ") overriding system value values (") : edit;

  /** Makes each of the edits alone, and requires an audit to find it, or a reason. */
  async function requireFound(t: TestContext, edits: (tables: Tables) => readonly Edit[]): Promise<void> {
    const made = await (database as NonNullable<typeof database>)(t);
    await filled(made);
    const tables = await contents(made);
    const store = await made.open();
    const isFound = () => hasFindings(store);
    assert.equal(await isFound(), false, "an audit finds something before any edit");
    const missed = new Set<string>();
    for (const { what, sql, undo } of edits(tables)) {
      // A constraint of the database refuses some.
      const isDone = await made.run(overriding(sql)).then(
        () => true,
        () => false,
      );
      if (!isDone) continue;
      if (!(await isFound()) && !(await isRefused(made))) missed.add(what);
      await made.run(overriding(undo));
    }
    assert.equal(await isFound(), false, "an audit finds something when every edit is undone");
    assert.deepEqual(
      [...missed].filter((what) => !(what in reasons)),
      [],
    );
  }

  describe(`an audit over ${name}`, () => {
    test("An audit finds another value in any column of any table, unless there is a reason why not", (t) =>
      requireFound(t, changes));
    test("An audit finds that any row of any table is gone, unless there is a reason why not", (t) =>
      requireFound(t, losses));
    test("An audit finds any row that was added to any table", (t) => requireFound(t, additions));
  });
}

/** Every table that the database's catalogue has. */
async function contents(database: SharedDatabase): Promise<Tables> {
  const { columns, rowsOf } = await contentsOf(database);
  const tables = new Map<string, { columns: Column[]; rows: readonly Row[] }>();
  for (const name of new Set(columns.map(({ table }) => table))) {
    const rows = (await rowsOf(name)).map((row) => ({ ...row }));
    assert.ok(rows.length > 0, `${name} has no row to change`);
    tables.set(name, { columns: columns.filter(({ table }) => table === name), rows });
  }
  return tables;
}

/** Whether an audit has findings, or cannot be made on such a ledger. */
async function hasFindings(store: Store): Promise<boolean> {
  try {
    const { findings } = await auditLedger(store, { now: () => now.getTime() });
    return findings.length > 0;
  } catch (error) {
    assert.ok(error instanceof FxError && error.code === "storage-unavailable", `${error}`);
    return true;
  }
}

/** Whether fx refuses to open such a ledger. */
async function isRefused({ open }: SharedDatabase): Promise<boolean> {
  try {
    await (await open()).close();
    return false;
  } catch (error) {
    assert.ok(error instanceof FxError && error.code === "storage-unavailable", `${error}`);
    return true;
  }
}
