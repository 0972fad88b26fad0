import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from "@photostructure/sqlite";
import { newIdentityKey } from "../ledger/rows.ts";
import { schemaVersion } from "../ledger/store.ts";
import { unusable } from "./failures.ts";

/** "fx" and a mark, in the file's header: tells a database of fx from any other SQLite file. */
export const applicationId = 0x66785f33;

/**
 * The whole schema. What an entry is found by is computed from its text, so that it cannot differ from it. The journal
 * grows at its end only. The columns that are computed are in its indexes, and not in its rows.
 */
export const schema = `
  create table account (
    pesel integer primary key,
    name text not null,
    surname text not null,
    sequence integer not null check (sequence >= 1) -- of the newest entry
  ) strict;

  create table journal (
    position integer primary key, -- in the order of commits
    entry text not null,
    hash text not null,
    id text not null as (entry ->> 'id'),
    pesel integer not null as (cast(entry ->> 'pesel' as integer)),
    sequence integer not null as (entry ->> 'sequence'),
    idempotency_key text as (entry ->> 'key'),
    reverses text as (entry ->> 'reverses'), -- the id of the entry that is undone
    name text as (entry ->> 'name') -- of the holder, where the entry changes it
  ) strict;
  create unique index journal_id on journal (id);
  create unique index journal_account on journal (pesel, sequence);
  create unique index journal_key on journal (idempotency_key, pesel) where idempotency_key is not null;
  create unique index journal_reverses on journal (reverses) where reverses is not null;
  create unique index journal_name on journal (pesel, sequence) where name is not null;

  create table refusal (
    position integer primary key,
    pesel integer not null,
    idempotency_key text not null,
    asked_by text, -- the name of the token that the request came with
    digest text not null,
    code text not null,
    message text not null,
    refused_at integer not null, -- in milliseconds since 1970
    hash text not null -- of all of it but the position
  ) strict;
  create unique index refusal_key on refusal (idempotency_key, pesel);

  create table rate_table (
    id text not null primary key,
    source text not null,
    number text not null,
    trading_date text not null,
    effective_date text not null,
    rates text not null
  ) strict;
  create index rate_table_effective_date on rate_table (source, effective_date);

  create table accepted_table (
    epoch integer not null primary key, -- 1 for the first, then one more for each
    table_id text not null,
    accepted_at integer not null, -- when it came into force, in milliseconds since 1970
    overridden_by text, -- the operator who let it through in spite of the sanity check
    hash text not null -- of all of it
  ) strict;

  -- The words of the holders' names, by which accounts are found.
  create table name_word (
    pesel integer not null,
    word text not null,
    primary key (pesel, word)
  ) strict, without rowid;
  create index name_word_word on name_word (word, pesel);

  -- The key under which a customer's id is made of a PESEL. It never leaves the ledger.
  create table identity_key (
    id integer primary key check (id = 1),
    value text not null,
    hash text not null -- of the value
  ) strict;
`;

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
    throw unusable(`${path} is a SQLite database, but not one of fx. Name another file.`);
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

/** As SQLite keeps the schema. */
function expectedDefinitions(): Map<string, string> {
  const database = new DatabaseSync(":memory:");
  database.exec(schema);
  const expected = definitionsIn(database);
  database.close();
  return expected;
}

export function numberOf(database: DatabaseSyncInstance, pragma: string): number {
  return numberFrom(database.prepare(`pragma ${pragma}`));
}

/** What a pragma answers. */
export function numberFrom(pragma: StatementSyncInstance): number {
  return Object.values(pragma.get() as Record<string, number>)[0] ?? 0;
}
