import assert from "node:assert/strict";
import { copyFileSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import type { Store } from "../../src/ledger/store.ts";
import type { SharedDatabase } from "./adapters.ts";

export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;

/** A column that SQL can change: not a generated one. */
export interface Column {
  readonly table: string;
  readonly column: string;
  readonly isNumber: boolean;
  readonly mayBeNull: boolean;
}

/** A change of one column in one row. */
export interface Edit {
  readonly what: string;
  readonly sql: string;
}

/** The contents of a ledger's database. */
export interface Contents {
  readonly columns: readonly Column[];
  rowsOf(table: string): Promise<readonly Row[]>;
}

/** A ledger that can be changed behind fx's back and restored. */
export interface Damageable extends Contents {
  readonly isPostgres: boolean;
  /** @returns the database's refusal; undefined if the edit is done */
  edit(sql: string): Promise<string | undefined>;
  restore(): Promise<void>;
  open(): Promise<Store>;
  /** Counts the pairs of account and sequence number that more than one entry has. */
  doubled(): Promise<number>;
}

const catalogue = {
  sqlite:
    `select m.name as "table", p.name as "column", p.type like 'int%' as is_number, ` +
    `p."notnull" = 0 and p.pk = 0 as may_be_null from sqlite_schema as m join pragma_table_info(m.name) as p ` +
    "where m.type = 'table' order by 1, p.cid",
  postgres:
    `select table_name as "table", column_name as "column", data_type like '%int%' as is_number, ` +
    "is_nullable = 'YES' as may_be_null from information_schema.columns " +
    "where table_schema = current_schema() and is_generated = 'NEVER' order by 1, ordinal_position",
};

export async function contentsOf(database: SharedDatabase): Promise<Contents> {
  const isPostgres = !database.url.startsWith("sqlite:");
  const found = await database.run(isPostgres ? catalogue.postgres : catalogue.sqlite);
  const columns = (
    found as { table: string; column: string; is_number: unknown; may_be_null: unknown }[]
  ).map(
    ({ table, column, is_number, may_be_null }): Column => ({
      table,
      column,
      isNumber: Boolean(is_number),
      mayBeNull: Boolean(may_be_null),
    }),
  );
  const names = (table: string) => columns.filter((one) => one.table === table).map(({ column }) => column);
  const rowsOf = async (table: string) =>
    (await database.run(`select ${names(table).join(", ")} from ${table}`)) as readonly Row[];
  return { columns, rowsOf };
}

/** Runs an insert that one index misses. */
export async function withoutIndex({ url, run }: SharedDatabase, index: string, sql: string): Promise<void> {
  if (!url.startsWith("sqlite:")) {
    const ready = (is: boolean) =>
      run(`update pg_index set indisready = ${is} where indexrelid = '${index}'::regclass`);
    await ready(false);
    await run(sql);
    await ready(true);
    return;
  }
  /** Edits sqlite_schema and reloads it. */
  const onSchema = (change: string) => {
    const database = new DatabaseSync(url.slice("sqlite:".length));
    database.enableDefensive(false);
    database.exec(`pragma writable_schema = on; ${change}; pragma writable_schema = reset`);
    database.close();
  };
  const [row = {}] = (await run(`select * from sqlite_schema where name = '${index}'`)) as Row[];
  onSchema(`delete from sqlite_schema where name = '${index}'`);
  await run(sql);
  onSchema(insertOf("sqlite_schema", row));
}

/** Takes a snapshot. Nobody may have the ledger open. */
export async function damageable(database: SharedDatabase): Promise<Damageable> {
  const isPostgres = !database.url.startsWith("sqlite:");
  const { columns, rowsOf } = await contentsOf(database);
  return {
    isPostgres,
    columns,
    rowsOf,
    edit: async (sql) => {
      try {
        await database.run(sql);
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    },
    restore: isPostgres ? await postgresSnapshot(database, columns, rowsOf) : sqliteSnapshot(database),
    open: () => database.open(),
    doubled: async () => {
      const sql = "select count(*) as n from journal group by pesel, sequence having count(*) > 1";
      return (await database.run(sql)).length;
    },
  };
}

function sqliteSnapshot({ url }: SharedDatabase): () => Promise<void> {
  const path = url.slice("sqlite:".length);
  copyFileSync(path, `${path}.before`);
  return async () => {
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
    // A new inode: a closed connection holds its locks until its statements are collected.
    copyFileSync(`${path}.before`, `${path}.again`);
    renameSync(`${path}.again`, path);
  };
}

async function postgresSnapshot(
  { run }: SharedDatabase,
  columns: readonly Column[],
  rowsOf: (table: string) => Promise<readonly Row[]>,
): Promise<() => Promise<void>> {
  const tables = [...new Set(columns.map(({ table }) => table))];
  // Not truncate, which would make new files for each table and index.
  let sql = tables.map((table) => `delete from ${table};`).join("");
  for (const table of tables) {
    for (const row of await rowsOf(table)) {
      sql += `${insertOf(table, row).replace(") values (", ") overriding system value values (")};`;
    }
  }
  return async () => {
    await run(sql);
  };
}

export function insertOf(table: string, row: Row): string {
  return `insert into ${table} (${Object.keys(row).join(", ")}) values (${Object.values(row).map(quoted).join(", ")})`;
}

/** A WHERE condition that matches exactly this row. */
export function rowIs(row: Row): string {
  const same = (value: Value) => (value === null ? "is null" : `= ${quoted(value)}`);
  return Object.entries(row)
    .map(([column, value]) => `${column} ${same(value)}`)
    .join(" and ");
}

export function quoted(value: Value): string {
  return value === null || typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;
}

/**
 * Edits of each column of each row: no value, another row's value, a dangling reference, and garbage. In PostgreSQL only
 * the first and the last row are edited: both stores' rows are read by the same code, and only their columns differ.
 */
export async function editsOf(ledger: Damageable, table: string): Promise<Edit[]> {
  const rows = await ledger.rowsOf(table);
  const columns = ledger.columns.filter((one) => one.table === table);
  const edited = ledger.isPostgres ? [...new Set([...rows.slice(0, 1), ...rows.slice(-1)])] : rows;
  return columns.flatMap(({ column, isNumber, mayBeNull }) =>
    edited.flatMap((row) => {
      const now = row[column] ?? null;
      const others = rows.map((other) => other[column] ?? null).filter((other) => other !== now);
      const values = new Set<Value>([
        ...(mayBeNull ? [null] : []),
        ...others.slice(0, 1),
        ...others.slice(-1),
        ...(isNumber ? [Number(now) + 1, Number(now) - 1, 99, "9223372036854775807"] : ["x", "", `${now}x`]),
      ]);
      values.delete(now);
      return [...values].map((value) => {
        return {
          what: `${table}.${column} ${shown(now)} -> ${shown(value)}`,
          sql: `update ${table} set ${column} = ${quoted(value)} where ${rowIs(row)}`,
        };
      });
    }),
  );
}

function shown(value: Value): string {
  return String(value).slice(0, 40);
}

/** The outcome of a request, as text without volatile parts. */
export async function outcomeOf(asked: Promise<unknown>): Promise<string> {
  try {
    return text(await asked);
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    assert.ok(code !== undefined, `an error without a code: ${(error as Error).stack}`);
    return `${code}: ${message}`;
  }
}

function text(answer: unknown): string {
  return JSON.stringify(answer, (_, value: unknown) =>
    typeof value === "bigint" ? `${value}n` : value instanceof Map ? [...value] : value,
  );
}

/** Masks the ids of new entries. */
export function withoutIds(outcome: string, known: ReadonlySet<string>): string {
  return outcome.replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, (id) => (known.has(id) ? id : "new"));
}
