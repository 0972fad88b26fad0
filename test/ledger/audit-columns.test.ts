import assert from "node:assert/strict";
import { test } from "node:test";
import { pln } from "../../src/core/currency.ts";
import { addDays } from "../../src/core/date.ts";
import { FxError } from "../../src/core/errors.ts";
import { auditLedger } from "../../src/ledger/audit.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adapters, type SharedDatabase } from "../support/adapters.ts";
import {
  contentsOf,
  type Damageable,
  damageable,
  type Edit,
  editsOf,
  insertOf,
  rowIs,
  withoutIndex,
} from "../support/damage.ts";
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
const unseen: readonly (readonly [change: RegExp, reason: string])[] = [
  [/^refusal\.position/, "It says which refusals are deleted first, and no answer rests on it."],
  [/^journal\.position/, "Only who follows the entries sees it: those of an account have kept their order."],
  [/^a refusal less/, "Refusals are deleted after 30 days."],
  [/^a rate_table less/, "One that was never in force is kept for the history of rates alone."],
];

interface Index {
  readonly index: string;
  readonly table: string;
}

/** The indexes beside primary keys. */
const catalogue: Readonly<Record<string, string>> = {
  "sqlite:": `select name as "index", tbl_name as "table" from sqlite_schema where type = 'index' and sql is not null`,
  "postgres:":
    `select relname as "index", indrelid::regclass::text as "table" from pg_index join pg_class on oid = indexrelid ` +
    "where relnamespace = current_schema()::regnamespace and not indisprimary",
};

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
  await service.change({
    ...{ kind: "reversal", pesel: adult(), reverses: receiptId, reason: "a slip", key: "undo" },
  });
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

/** Each row less; and the last row once more, with another value in each of the columns, one of which is a key. */
async function lossesAndAdditions(ledger: Damageable, table: string): Promise<Edit[]> {
  const rows = await ledger.rowsOf(table);
  const last = rows.at(-1) ?? assert.fail(`${table} has no row to change`);
  const losses = rows.map((row) => ({
    what: `a ${table} less`,
    sql: `delete from ${table} where ${rowIs(row)}`,
  }));
  const columns = ledger.columns.filter((one) => one.table === table);
  const additions = columns.map(({ column, isNumber }) => {
    const added = { ...last, [column]: isNumber ? Number(last[column]) + 1 : `${last[column] ?? ""}x` };
    return { what: `a ${table} more`, sql: insertOf(table, added) };
  });
  return [...losses, ...additions];
}

/** Whether fx refuses to open the ledger, or to audit it, or an audit of it has findings. */
async function isFound(ledger: Damageable): Promise<boolean> {
  try {
    const store = await ledger.open();
    const { findings } = await auditLedger(store, { now: () => now.getTime() }).finally(() => store.close());
    return findings.length > 0;
  } catch (error) {
    assert.ok(error instanceof FxError && error.code === "storage-unavailable", `${error}`);
    return true;
  }
}

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  /** PostgreSQL gives positions itself, unless `overriding system value` is said. */
  const overriding = (sql: string) =>
    name === "postgres:" ? sql.replace(") values (", ") overriding system value values (") : sql;

  test(`An audit over ${name} finds a row that any index lacks`, async (t) => {
    const made = await database(t);
    await filled(made);
    const service = new LedgerService(await made.open(), fixedRates(), () => now);
    const contents = await contentsOf(made);
    const indexes = (await made.run(catalogue[name] ?? "")) as Index[];
    assert.ok(indexes.length > 8);
    for (const { index, table } of indexes) {
      // The reversal is in every index of the journal.
      const rows = await contents.rowsOf(table);
      const row = rows.find(({ entry }) => String(entry).includes('"reversal"')) ?? rows.at(-1);
      assert.ok(row !== undefined);
      await made.run(`delete from ${table} where ${rowIs(row)}`);
      await withoutIndex(made, index, overriding(insertOf(table, row)));
      const { findings } = await service.audit();
      const which =
        { rate_table: `a row for table ${row.number}`, refusal: `a row for refusal ${row.position}` }[
          table
        ] ?? /^a row/;
      assert.deepEqual(
        findings.map(({ problem }) => problem),
        [`index ${index}`],
      );
      assert.match(findings[0]?.recomputed ?? "", new RegExp(which));
      await made.run(`reindex ${name === "postgres:" ? "index " : ""}${index}`);
      assert.deepEqual((await service.audit()).findings, []);
    }
  });

  test(`An audit over ${name} finds any row that is gone, added or has another value, unless there is a reason why not`, async (t) => {
    const made = await database(t);
    await filled(made);
    const ledger = await damageable(made);
    const edits: Edit[] = [];
    for (const table of new Set(ledger.columns.map(({ table }) => table))) {
      edits.push(...(await editsOf(ledger, table)), ...(await lossesAndAdditions(ledger, table)));
    }
    assert.equal(await isFound(ledger), false, "an audit finds something before any edit");
    const missed = new Set<string>();
    for (const { what, sql } of edits) {
      await ledger.restore();
      // A constraint of the database refuses some.
      if ((await ledger.edit(overriding(sql))) !== undefined) continue;
      if (!(await isFound(ledger)) && !unseen.some(([change]) => change.test(what))) missed.add(what);
    }
    assert.deepEqual([...missed], []);
  });
}
