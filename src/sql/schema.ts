/** The words of one database for the schema. */
export interface SchemaWords {
  readonly bigint: string;
  readonly uuid: string;
  /** A primary key that counts the rows. */
  readonly counted: string;
  /**
   * The collation of text that is indexed: by its bytes. All words with the same beginning are one range, and no update of
   * the system's collations changes the order of an index.
   */
  readonly bytewise: string;
  /** A column of this type that is computed from the member of the entry's JSON. */
  readonly computed: (member: string, type: "bigint" | "text" | "uuid") => string;
  /** Options of `create table`: for most tables, for the accounts, and for the words of names. */
  readonly table: string;
  readonly accounts: string;
  readonly words: string;
}

/**
 * The whole schema of a ledger. What an entry is found by is computed from its text, so that it cannot differ from it. A
 * PESEL is a number: as text it would sort as the database's collation has it, which is not always by its digits.
 */
export function schemaOf(words: SchemaWords): string {
  return `${journalTables(words)}${otherTables(words)}`;
}

function journalTables({ bigint, uuid, counted, bytewise, computed, ...words }: SchemaWords): string {
  return `
  create table account (
    pesel ${bigint} not null primary key,
    name text not null,
    surname text not null,
    sequence ${bigint} not null check (sequence >= 1) -- of the newest entry
  )${words.accounts};

  create table journal (
    position ${counted}, -- of each account, in the order of its entries
    entry text not null,
    hash text not null,
    id ${uuid} not null ${computed("id", "uuid")},
    pesel ${bigint} not null ${computed("pesel", "bigint")},
    sequence ${bigint} not null ${computed("sequence", "bigint")},
    idempotency_key text${bytewise} ${computed("key", "text")},
    reverses ${uuid} ${computed("reverses", "uuid")} -- the id of the entry that is undone
  )${words.table};
  create unique index journal_id on journal (id);
  create unique index journal_account on journal (pesel, sequence);
  create unique index journal_key on journal (idempotency_key, pesel) where idempotency_key is not null;
  create unique index journal_reverses on journal (reverses) where reverses is not null;

  create table refusal (
    position ${counted},
    pesel ${bigint} not null,
    idempotency_key text${bytewise} not null,
    asked_by text, -- the name of the token that the request came with
    digest text not null,
    code text not null,
    message text not null,
    refused_at ${bigint} not null, -- in milliseconds since 1970
    hash text not null -- of all of it but the position
  )${words.table};
  create unique index refusal_key on refusal (idempotency_key, pesel);
  create index refusal_time on refusal (refused_at);
`;
}

function otherTables({ bigint, bytewise, ...words }: SchemaWords): string {
  return `
  create table rate_table (
    id text${bytewise} not null,
    source text${bytewise} not null,
    number text not null,
    trading_date text not null,
    effective_date text${bytewise} not null,
    rates text not null
  )${words.table};
  create unique index rate_table_id on rate_table (id);
  create index rate_table_effective_date on rate_table (source, effective_date);

  create table accepted_table (
    epoch ${bigint} not null primary key, -- 1 for the first, then one more for each
    table_id text not null,
    accepted_at ${bigint} not null, -- when it came into force, in milliseconds since 1970
    overridden_by text, -- the operator who let it through in spite of the sanity check
    suspended_for text, -- why trading is suspended; null if it is not
    suspended_at ${bigint}, -- since when, in milliseconds since 1970
    actor text, -- the name of the token that suspended or resumed trading
    hash text not null -- of all of it
  )${words.table};

  -- The words of the holders' names, by which accounts are found.
  create table name_word (
    pesel ${bigint} not null,
    word text${bytewise} not null,
    primary key (pesel, word)
  )${words.words};
  create index name_word_word on name_word (word, pesel);

  -- The key under which a customer's id is made of a PESEL. It never leaves the ledger.
  create table identity_key (
    id integer not null primary key check (id = 1),
    value text not null,
    hash text not null -- of the value
  )${words.table};
`;
}
