import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { holderWords } from "../core/names.ts";

/** SQL, or what takes more than SQL. Both run in the transaction of the upgrade. */
export type Migration = string | ((database: DatabaseSyncInstance) => void);

/**
 * The journal is a table that grows at its end only, and each entry names the account's entry before it: an index of
 * (pesel, sequence) would be one more page at a random place to read and write for every order. What an order does
 * write at a random place is its account's row, which is small, so that many share a page: the balances are in the
 * newest entry only.
 *
 * The steps that bring a database from version n to n + 1, for n = 0, 1, …; `PRAGMA user_version` holds n.
 * A step that has been released is never changed: add one.
 */
export const migrations: readonly Migration[] = [
  `
  create table account (
    pesel integer primary key,
    name text not null,
    surname text not null,
    newest integer not null
  ) strict;

  create table journal (
    position integer primary key,
    previous integer,
    pesel integer not null,
    sequence integer not null check (sequence >= 1),
    key text,
    entry text not null,
    hash text not null
  ) strict;

  create unique index journal_key on journal (key, pesel) where key is not null;

  create table rate_table (
    number text not null primary key,
    trading_date text not null,
    effective_date text not null,
    rates text not null
  ) strict;

  create index rate_table_effective_date on rate_table (effective_date, number);
  `,
  // Before this step a table was known by its number alone. The journal's column gets another name so that an older fx
  // that is still running cannot write: it would settle at tables that this one does not follow.
  `
  drop index rate_table_effective_date;
  alter table rate_table rename to older_table;
  create table rate_table (
    id text not null primary key,
    source text not null,
    number text not null,
    trading_date text not null,
    effective_date text not null,
    rates text not null
  ) strict;
  insert into rate_table
    select 'unknown/' || number, 'unknown', number, trading_date, effective_date, rates from older_table;
  drop table older_table;
  create index rate_table_effective_date on rate_table (source, effective_date);

  create table accepted_table (
    epoch integer not null primary key,
    table_id text not null,
    vouched integer not null check (vouched in (0, 1))
  ) strict;

  alter table journal rename column key to idempotency_key;
  `,
  `
  create table refusal (
    position integer primary key,
    pesel integer not null,
    idempotency_key text not null,
    digest text not null,
    code text not null,
    message text not null,
    refused_at integer not null
  ) strict;

  create unique index refusal_key on refusal (idempotency_key, pesel);
  `,
  // The positions of an entry and of its reversal.
  `
  create table reversal (
    position integer primary key,
    reversed_by integer not null
  ) strict;
  `,
  // The key under which a customer's id is made of a PESEL. It never leaves the ledger.
  `
  create table identity_key (
    id integer primary key check (id = 1),
    value text not null
  ) strict;
  insert into identity_key values (1, hex(randomblob(32)));
  `,
  // What accounts are found by: see `nameWords`.
  (database) => {
    database.function("words_of", (name: string, surname: string) =>
      JSON.stringify(holderWords({ name, surname })),
    );
    database.exec(`
      create table name_word (
        pesel integer not null,
        word text not null,
        primary key (pesel, word)
      ) strict, without rowid;
      insert into name_word select pesel, value from account, json_each(words_of(name, surname));
      create index name_word_word on name_word (word, pesel);
    `);
  },
  // The name of the token that the request came with.
  "alter table refusal add column asked_by text;",
];

/** "fx" and a version mark, in the file's header: tells a database of fx from any other SQLite file. */
export const applicationId = 0x66785f33;
