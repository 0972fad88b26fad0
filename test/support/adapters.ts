import { join } from "node:path";
import type { TestContext } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import type { OpenOptions, Store } from "../../src/ledger/store.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { newFolder } from "./folder.ts";

/** A kind of store, named as in `--db`. */
export interface Adapter {
  readonly name: string;
  /** Opens a new, empty store that lives until the end of the test. */
  open(t: TestContext): Promise<Store>;
  /** Makes a new, empty database that several stores and processes can open; undefined if the kind has none. */
  readonly database: ((t: TestContext) => Promise<SharedDatabase>) | undefined;
}

export interface SharedDatabase {
  /** The value for `--db` and `--url`. */
  readonly url: string;
  open(): Promise<Store>;
  openWith(options: OpenOptions): Promise<Store>;
  /** Runs one SQL statement behind the ledger's back, and returns its rows. */
  run(sql: string): Promise<readonly unknown[]>;
}

/** Every kind of store, for suites that hold for all; without PostgreSQL if FX_TEST_POSTGRES is "none". */
export const adapters: readonly Adapter[] = [
  { name: "memory:", open: async (t) => closing(t, openSqlite(":memory:")), database: undefined },
  adapterOf("sqlite:", async (t) => {
    const path = join(newFolder(t), "ledger.db");
    const run = async (sql: string) => {
      const database = new DatabaseSync(path);
      const rows = database.prepare(sql).all();
      database.close();
      return rows;
    };
    return { url: `sqlite:${path}`, openWith: async (options) => openSqlite(path, options), run };
  }),
  ...(process.env.FX_TEST_POSTGRES === "none" ? [] : [adapterOf("postgres:", postgresDatabase)]),
];

/** One SQLite and one PostgreSQL, for suites of what uses a store. The suites of the stores show that a file is as memory. */
export const engines = adapters.filter(({ name }) => name !== "sqlite:");

/** Two stores over one new database, as two processes have them; the same one twice where only one can be open. */
export async function openTwice(adapter: Adapter, t: TestContext): Promise<[Store, Store]> {
  if (adapter.database === undefined) {
    const store = await adapter.open(t);
    return [store, store];
  }
  const { open } = await adapter.database(t);
  return [await open(), await open()];
}

async function postgresDatabase(t: TestContext): Promise<Omit<SharedDatabase, "open">> {
  const { createDatabase } = await import("./postgres.ts");
  const { url, run, drop } = await createDatabase();
  t.after(() => drop());
  return { url, openWith: (options) => openPostgres(url, options), run };
}

function adapterOf(name: string, create: (t: TestContext) => Promise<Omit<SharedDatabase, "open">>): Adapter {
  const database = async (t: TestContext): Promise<SharedDatabase> => {
    const made = await create(t);
    const openWith = async (options: OpenOptions) => closing(t, await made.openWith(options));
    return { ...made, openWith, open: () => openWith({}) };
  };
  return { name, database, open: async (t) => (await database(t)).open() };
}

/** Closes a store after its test, before its database is deleted. A test may also close it itself. */
function closing(t: TestContext, store: Store): Store {
  t.after(() => store.close().catch(() => {}));
  return store;
}
