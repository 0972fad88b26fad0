import { FxError } from "../core/errors.ts";
import { newIdentityKey } from "../ledger/rows.ts";
import { type Access, schemaVersion } from "../ledger/store.ts";
import type { SqlRow } from "../sql/statements.ts";
import type { Connection } from "./connection.ts";
import { schema } from "./schema.ts";
import { inTransaction } from "./transaction.ts";

/** PostgreSQL adds these when it words a definition. */
const additions = /[()"]|::\w+| using btree/g;
const createTable = /create table (\w+) \((.*?)\n {2}\)(.*?)(?=\n\n|$)/gs;
const columnType = /^ +(\w+) (bigint|integer|text|uuid)( collate c)?( not null)?/;
const computed = / generated always as entry.* stored/;
/** A primary key with the names of its columns; without them, if it stands in its column's line. */
const primaryKey = /primary key(?: (\w+, \w+))?/;
const createIndex = /create .*index .*(?=;)/g;

/** The definitions of each table's columns and indexes, as `selectDefinitions` has them of a database. */
const definitions = new Map(
  [...schema.toLowerCase().matchAll(createTable)].map(([, table = "", body = "", rest = ""]) => [
    table,
    [
      ...body
        .replace(additions, "")
        .split("\n")
        .flatMap((line) => definitionsIn(line, table)),
      ...(rest.replace(additions, "").match(createIndex) ?? []),
    ],
  ]),
);

/** The definitions in a line of a table's body: that of a column, and that of the index of its primary key. */
function definitionsIn(line: string, table: string): string[] {
  const [column, name] = columnType.exec(line) ?? [];
  const [expression = ""] = computed.exec(line) ?? [];
  const [key, columns = name] = primaryKey.exec(line) ?? [];
  return [
    ...(column === undefined ? [] : [column.trim() + expression]),
    ...(key === undefined ? [] : [`create unique index ${table}_pkey on ${table} ${columns}`]),
  ];
}

/** Takes the names of tables. Leaves out an index that is being built, or whose building failed. */
const selectDefinitions = `
  with relation as (
    select oid, relname, relpersistence, relrowsecurity from pg_class
    where relnamespace = to_regnamespace(quote_ident(current_schema())) and relname = any($1::text[])
  ), definition as (
    select relname, attname || ' ' || format_type(atttypid, atttypmod) ||
      coalesce((select ' collate ' || collname from pg_collation where oid = attcollation and collname <> 'default'), '') ||
      case when attnotnull then ' not null' else '' end ||
      case attgenerated when '' then '' else ' generated always as ' || pg_get_expr(adbin, adrelid) || ' stored' end as words
    from relation join pg_attribute on attrelid = relation.oid
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attnum > 0 and not attisdropped
    union all
    select relname, replace(pg_get_indexdef(indexrelid), format(' ON %I.', current_schema()), ' ON ')
    from relation join pg_index on indrelid = relation.oid where indisvalid and indisready
    union all
    select relname, 'unlogged' from relation where relpersistence <> 'p'
    union all
    select relname, 'row level security' from relation where relrowsecurity
  )
  select relname, regexp_replace(lower(words), $2, '', 'g') as definition from definition`;

/** A ledger in a later schema of the search path: a second one before it would hide it. */
const selectElsewhere = `
  select current_schema() as own, nspname as other from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where relname = 'fx_schema' and nspname = any(current_schemas(false)) and nspname <> current_schema()`;

/**
 * Makes sure that the database holds a ledger of this schema, and makes one where `access` allows it. Any number of
 * processes may do so at once: one of them makes the tables, the others fail with a conflict, and find them when they
 * are called again.
 * @throws FxError storage-unavailable if the database holds something else, or nothing that `access` allows
 */
export function prepareLedger(connection: Connection, access: Access): Promise<void> {
  return inTransaction(connection, () => findOrCreate(connection, access));
}

async function findOrCreate(connection: Connection, access: Access): Promise<void> {
  const { rows } = await connection.query(selectDefinitions, [[...definitions.keys()], additions.source]);
  const tables = new Set(rows.map(({ relname }) => String(relname)));
  if (tables.has("fx_schema")) {
    const [row] = (await connection.query("select version from fx_schema")).rows;
    const version = Number(row?.version ?? 0);
    if (version === schemaVersion && tables.size === definitions.size) return requireDefinitions(rows);
    throw unusable(
      `The database was written by another version of fx (schema ${version}; this one has schema ${schemaVersion}). ` +
        "Use that version, or name another database.",
    );
  }
  const [other] = tables;
  if (other !== undefined) {
    throw unusable(`The database has a table "${other}" that is not fx's. Name another database.`);
  }
  const elsewhere = (await connection.query(selectElsewhere)).rows[0];
  if (elsewhere !== undefined) {
    throw unusable(
      `The schema "${elsewhere.own}" has no ledger, and comes before "${elsewhere.other}", which has one, in the search_path of ` +
        `this role. Set the path to the schema that is meant: alter role … set search_path = "${elsewhere.other}".`,
    );
  }
  if (access !== "create") {
    throw unusable("The database holds no ledger yet. fx serve, fx account create and fx batch create one.");
  }
  await createLedger(connection);
}

/** An operator may add indexes, which change no answer. */
function requireDefinitions(found: readonly SqlRow[]): void {
  for (const [table, expected] of definitions) {
    const there = found
      .filter(({ relname }) => relname === table)
      .map(({ definition }) => String(definition));
    const missing = expected.find((definition) => !there.includes(definition));
    if (missing !== undefined) {
      throw damaged(
        `its table ${table} lacks "${missing}", so that what it should refuse could be done twice`,
      );
    }
    const other = there.find((definition) => !expected.includes(definition) && !/^create /.test(definition));
    if (other !== undefined) throw damaged(`its table ${table} has "${other}", which is not of fx`);
  }
}

function damaged(what: string): FxError {
  return unusable(`The database is damaged: ${what}. Undo the change, or restore a backup.`);
}

async function createLedger(connection: Connection): Promise<void> {
  const [encoding] = (await connection.query("show server_encoding")).rows;
  if (!/^utf-?8$/i.test(String(encoding?.server_encoding))) {
    throw unusable(
      `The database's encoding is ${encoding?.server_encoding}, which does not hold every name. Create one with UTF8.`,
    );
  }
  const { id, value, hash } = newIdentityKey();
  await connection.query(schema);
  await connection.query("insert into identity_key values ($1, $2, $3)", [id, value, hash]);
}

function unusable(message: string): FxError {
  return new FxError("storage-unavailable", message);
}
