import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { newIdentityKey } from "../ledger/rows.ts";
import { schemaVersion } from "../ledger/store.ts";
import { schemaOf } from "../sql/schema.ts";
import { unusable } from "./failures.ts";

/** "fx" and a mark, in the file's header: tells a database of fx from any other SQLite file. */
export const applicationId = 0x66785f36;

/** The journal grows at its end only: the columns that are computed are in its indexes, and not in its rows. */
const schema = schemaOf({
  bigint: "integer",
  uuid: "text",
  counted: "integer primary key",
  bytewise: "",
  computed: (member, type) => {
    const value = `entry ->> '${member}'`;
    return type === "bigint" ? `as (cast(${value} as integer))` : `as (${value})`;
  },
  table: " strict",
  accounts: " strict",
  words: " strict, without rowid",
});

/** The SQL that makes a ledger. */
export function creation(): string {
  const { id, value, hash } = newIdentityKey();
  return (
    `begin; ${schema} insert into identity_key values (${id}, '${value}', '${hash}'); ` +
    `pragma application_id = ${applicationId}; pragma user_version = ${schemaVersion}; commit`
  );
}

/** @throws FxError storage-unavailable unless the database has the schema of this fx */
export function requireSchema(database: DatabaseSyncInstance, path: string): void {
  if (numberOf(database, "application_id") !== applicationId) {
    throw unusable(
      `${path} is a SQLite database, but not one of fx, or one of a build before its first release. Name another file.`,
    );
  }
  const version = numberOf(database, "user_version");
  const found = definitionsIn(database);
  const expected = expectedDefinitions();
  const lacksTable = [...expected.keys()].some((what) => what.startsWith("table ") && !found.has(what));
  if (version !== schemaVersion || lacksTable) {
    throw unusable(
      `${path} was written by another version of fx (schema ${version}; this one has schema ${schemaVersion}). ` +
        "Use that version, or name another file.",
    );
  }
  for (const [what, sql] of expected) {
    if (found.get(what) === sql) continue;
    throw unusable(
      `${path} is damaged: its ${what} is ${found.has(what) ? "another than" : "missing, unlike"} in the schema of fx, ` +
        "so that what it should refuse could be done twice. Restore it from a backup.",
    );
  }
}

/** The SQL of each table and index. */
function definitionsIn(database: DatabaseSyncInstance): Map<string, string> {
  const select = "select type, name, sql from sqlite_schema where sql is not null";
  const rows = database.prepare(select).all() as { type: string; name: string; sql: string }[];
  return new Map(rows.map(({ type, name, sql }) => [`${type} ${name}`, sql]));
}

/** The definitions of fx's schema, in the text that SQLite stores. */
function expectedDefinitions(): Map<string, string> {
  const database = new DatabaseSync(":memory:");
  database.exec(schema);
  const expected = definitionsIn(database);
  database.close();
  return expected;
}

export function numberOf(database: DatabaseSyncInstance, pragma: string): number {
  return Object.values(database.prepare(`pragma ${pragma}`).get() as Record<string, number>)[0] ?? 0;
}
