/** Kept in the one row of `fx_schema`. There is no way from another version to this one. */
export const schemaVersion = 1;

/** The tables that a ledger has. */
export const tables = [
  "fx_schema",
  "account",
  "journal",
  "reversal",
  "refusal",
  "rate_table",
  "accepted_table",
  "name_word",
  "identity_key",
] as const;

/**
 * The whole schema. A PESEL is a bigint: as text it would sort as the database's collation has it, which is not always
 * by its digits.
 */
export const schema = `
  create table fx_schema (
    id integer not null primary key check (id = 1),
    version integer not null
  );
  insert into fx_schema values (1, ${schemaVersion});

  -- From the balances on, a copy of what the newest entry says.
  create table account (
    pesel bigint not null primary key,
    name text not null,
    surname text not null,
    balances text not null,
    sequence bigint not null check (sequence >= 1),
    hash text not null,
    time bigint not null, -- in milliseconds since 1970
    closed bigint not null check (closed in (0, 1))
  ) with (fillfactor = 70);

  create table journal (
    pesel bigint not null,
    sequence bigint not null check (sequence >= 1),
    id uuid not null,
    idempotency_key text,
    entry text not null,
    hash text not null,
    primary key (pesel, sequence)
  );
  create unique index journal_id on journal (id);
  create unique index journal_key on journal (idempotency_key, pesel) where idempotency_key is not null;

  create table reversal (
    reversed uuid not null primary key, -- the id of the entry that is undone
    reversed_by uuid not null -- the id of its reversal
  );

  create table refusal (
    position bigint not null generated always as identity primary key,
    pesel bigint not null,
    idempotency_key text not null,
    asked_by text, -- the name of the token that the request came with
    digest text not null,
    code text not null,
    message text not null,
    refused_at bigint not null -- in milliseconds since 1970
  );
  create unique index refusal_key on refusal (idempotency_key, pesel);

  create table rate_table (
    id text not null primary key,
    source text not null,
    number text not null,
    trading_date text not null,
    effective_date text not null,
    rates text not null
  );
  create index rate_table_effective_date on rate_table (source, effective_date);

  create table accepted_table (
    epoch bigint not null primary key, -- 1 for the first, then one more for each
    table_id text not null,
    accepted_at bigint not null, -- when it came into force, in milliseconds since 1970
    overridden_by text -- the operator who let it through in spite of the sanity check
  );

  -- The words of the holders' names, by which accounts are found. In the order of bytes, a range has the words with one
  -- beginning.
  create table name_word (
    pesel bigint not null,
    word text collate "C" not null,
    primary key (pesel, word)
  );
  create index name_word_word on name_word (word, pesel);

  -- The key under which a customer's id is made of a PESEL. It never leaves the ledger. Two UUIDs have 244 random bits.
  create table identity_key (
    id integer not null primary key check (id = 1),
    value text not null
  );
  insert into identity_key values (1, gen_random_uuid()::text || gen_random_uuid()::text);
`;
