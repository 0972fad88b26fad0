import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addDays } from "../../src/core/date.ts";
import type { TableLedger } from "../../src/core/rates.ts";
import { KeptTables } from "../../src/rates/kept-tables.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { acceptance } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

/** A ledger with a table for each fourth day of a year, and how many tables were read of it. */
async function start() {
  const store = openSqlite(":memory:");
  const days = Array.from({ length: 91 }, (_, index) => addDays("2025-06-09", 4 * index));
  const tables = days.map((day, index) => tableOf(`${String(100 + index)}/C/NBP/2026`, day));
  await store.saveTables(tables);
  const counted = { read: 0 };
  const ledger: TableLedger = new Proxy(store, {
    get: (target, name) => {
      if (name !== "tables") return Reflect.get(target, name).bind(target);
      return async (range: Parameters<TableLedger["tables"]>[0]) => {
        const found = await target.tables(range);
        counted.read += found.length;
        return found;
      };
    },
  });
  return { store, tables, counted, kept: new KeptTables(ledger) };
}

const year = { source: "fixed", since: "2025-06-09", through: "2026-06-08" };

describe("the tables that a ledger keeps", () => {
  test("are all there, in their order", async () => {
    const { kept, tables } = await start();
    assert.deepEqual(await kept.tables(year), tables);
  });

  test("are read once", async () => {
    const { kept, tables, counted } = await start();
    await kept.tables({ ...year, since: "2026-03-01" });
    await kept.tables(year);
    await kept.tables(year);
    assert.equal(counted.read, tables.length);
  });

  test("are read again when another was kept, or one came into force", async () => {
    const { kept, tables, store } = await start();
    await kept.tables(year);
    const corrected = tableOf("100/C/NBP/2026", "2025-06-09", { USD: [3.6, 3.7] });
    await store.saveTables([corrected]);
    assert.equal((await kept.tables(year)).length, tables.length + 1);
    await store.acceptTable(corrected, acceptance(0));
    assert.equal((await kept.tables(year))[1]?.id, corrected.id);
    await store.acceptTable(tables[0] as (typeof tables)[0], acceptance(1));
    assert.equal((await kept.tables(year))[1]?.id, tables[0]?.id);
  });

  test("are those of one source", async () => {
    const { kept } = await start();
    await kept.tables(year);
    assert.deepEqual(await kept.tables({ ...year, source: "demo" }), []);
  });
});
