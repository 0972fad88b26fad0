/** Kept in the database as `user_version`. There is no way from another version to this one. */
export const schemaVersion = 1;

/** "fx" and a mark, in the file's header: tells a database of fx from any other SQLite file. */
export const applicationId = 0x66785f33;

/** The tables that a ledger has. */
export const tables = [
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
 * The whole schema. The journal grows at its end only, and each entry names the account's entry before it: an index of
 * (pesel, sequence) would be one more page at a random place to read and write for every order. What an order does
 * write at a random place is its account's row, which is small, so that many share a page: the balances are in the
 * newest entry only.
 */
export const schema = `
  create table account (
    pesel integer primary key,
    name text not null,
    surname text not null,
    newest integer not null -- the position of the newest entry
  ) strict;

  create table journal (
    position integer primary key,
    previous integer, -- the position of the account's entry before it
    pesel integer not null,
    sequence integer not null check (sequence >= 1),
    idempotency_key text,
    entry text not null,
    hash text not null
  ) strict;
  create unique index journal_key on journal (idempotency_key, pesel) where idempotency_key is not null;

  create table reversal (
    reversed integer primary key, -- the position of the entry that is undone
    reversed_by integer not null -- the position of its reversal
  ) strict;

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
