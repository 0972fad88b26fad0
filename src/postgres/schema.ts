import { holderWords } from "../core/names.ts";
import { type Connection, listOf, listText } from "./connection.ts";

/** SQL, or what takes more than SQL. Both run in the transaction of the upgrade. */
export type Migration = string | ((connection: Connection) => Promise<void>);

/**
 * The steps that bring a database from version n to n + 1, for n = 0, 1, …; the one row of `fx_schema` holds n.
 * A step that has been released is never changed: add one. A step runs in one transaction.
 *
 * A PESEL is a bigint: as text it would sort as the database's collation has it, which is not always by its digits.
 */
export const migrations: readonly Migration[] = [
  `
  create table if not exists account (
    pesel bigint not null primary key,
    name text not null,
    surname text not null,
    balances text not null,
    sequence bigint not null check (sequence >= 1),
    hash text not null
  ) with (fillfactor = 70);

  create table if not exists journal (
    pesel bigint not null,
    sequence bigint not null check (sequence >= 1),
    id uuid not null,
    key text,
    entry text not null,
    hash text not null,
    primary key (pesel, sequence)
  );

  create unique index if not exists journal_id on journal (id);
  create unique index if not exists journal_key on journal (key, pesel) where key is not null;

  create table if not exists rate_table (
    number text not null primary key,
    trading_date text not null,
    effective_date text not null,
    rates text not null
  );

  create index if not exists rate_table_effective_date on rate_table (effective_date, number);
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
  );
  insert into rate_table
    select 'unknown/' || number, 'unknown', number, trading_date, effective_date, rates from older_table;
  drop table older_table;
  create index rate_table_effective_date on rate_table (source, effective_date);

  create table accepted_table (
    epoch bigint not null primary key,
    table_id text not null,
    vouched bigint not null check (vouched in (0, 1))
  );

  alter table journal rename column key to idempotency_key;
  `,
  `
  create table refusal (
    position bigint not null generated always as identity primary key,
    pesel bigint not null,
    idempotency_key text not null,
    digest text not null,
    code text not null,
    message text not null,
    refused_at bigint not null
  );

  create unique index refusal_key on refusal (idempotency_key, pesel);
  `,
  // What the newest entry says, and the ids of an entry and of its reversal.
  `
  alter table account add column time bigint not null default 0;
  alter table account add column closed bigint not null default 0 check (closed in (0, 1));
  update account set time = (
    select (newest.entry::json ->> 'time')::bigint from journal as newest
    where newest.pesel = account.pesel and newest.sequence = account.sequence
  );

  create table reversal (
    id uuid not null primary key,
    reversed_by uuid not null
  );
  `,
  // The key under which a customer's id is made of a PESEL. It never leaves the ledger. Two UUIDs have 244 random bits.
  `
  create table identity_key (
    id integer not null primary key check (id = 1),
    value text not null
  );
  insert into identity_key values (1, gen_random_uuid()::text || gen_random_uuid()::text);
  `,
  // What accounts are found by: see `nameWords`. In the order of bytes, a range has the words with one beginning.
  async (connection) => {
    await connection.query(`
      create table name_word (
        pesel bigint not null,
        word text collate "C" not null,
        primary key (pesel, word)
      )
    `);
    await fillNameWords(connection);
    await connection.query("create index name_word_word on name_word (word, pesel); analyze name_word");
  },
  // The name of the token that the request came with.
  "alter table refusal add column asked_by text",
];

const accountsAtOnce = 5000;

async function fillNameWords(connection: Connection): Promise<void> {
  const page = "select pesel, name, surname from account where pesel > $1 order by pesel limit $2";
  const insert =
    "insert into name_word (pesel, word) " +
    `select * from unnest(${listOf(1, "bigint")}, ${listOf(2, "text")})`;
  for (let after = -1; ; ) {
    const accounts = await connection.query(page, [after, accountsAtOnce]);
    const words = accounts.flatMap(({ pesel, name, surname }) =>
      holderWords({ name: String(name), surname: String(surname) }).map(
        (word) => [Number(pesel), word] as const,
      ),
    );
    await connection.query(insert, [
      listText(words.map(([pesel]) => pesel)),
      listText(words.map(([, word]) => word)),
    ]);
    if (accounts.length < accountsAtOnce) return;
    after = Number(accounts.at(-1)?.pesel);
  }
}
