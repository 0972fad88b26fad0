import type { AuditedRows } from "../ledger/rows.ts";

/** The SQL that both stores share. Its parameters are ?1, ?2 and so on. */

/** PostgreSQL takes a list as one parameter, too. */
export type SqlParameter = string | number | null | readonly (string | number | null)[];

export type SqlStatement = readonly [text: string, parameters: readonly SqlParameter[]];

/** A row of a database. Whole numbers come as numbers. */
export type SqlRow = Readonly<Record<string, unknown>>;

/**
 * Makes a table `given` of rows: the SQL for the `from` clause, and the statement's parameters.
 * @param columns as in "pesel bigint, key text"; of bigint, text and uuid
 */
export type GivenTable = (columns: string, rows: readonly object[]) => SqlStatement;

/** The name and type of each column. */
export function columnsOf(columns: string): (readonly [name: string, type: string])[] {
  return columns.split(", ").map((column) => column.split(" ") as [string, string]);
}

/** The values of a column. */
export function valuesOf(rows: readonly object[], name: string): (string | number | null)[] {
  return rows.map((row) => (row as Readonly<Record<string, string | number | null>>)[name] ?? null);
}

/**
 * The indexes beside primary keys, each with columns that identify a row. `content` identifies a row by what is in no
 * index, so that the row itself is read.
 */
const indexed = {
  journal: {
    content: "hash",
    indexes: {
      journal_id: ["id"],
      journal_account: ["pesel", "sequence"],
      journal_key: ["idempotency_key", "pesel"],
      journal_reverses: ["reverses"],
    },
  },
  refusal: {
    content: "hash",
    indexes: { refusal_key: ["idempotency_key", "pesel"], refusal_time: ["refused_at", "position"] },
  },
  name_word: { content: "pesel + 0", indexes: { name_word_word: ["word", "pesel"] } },
  rate_table: {
    content: "id || ''",
    indexes: { rate_table_id: ["id"], rate_table_effective_date: ["source", "effective_date", "id"] },
  },
} as const;
/** Partial indexes: they have only the rows with a value in the first column. */
const partial = ["journal_key", "journal_reverses"];

/**
 * The database's SQL after `from … as one`, which finds by this index alone the row with the columns of `own`.
 * @param isIndexed the condition of a partial index, or true
 */
export type ByIndex = (index: string, one: string, own: string, isIndexed: string) => string;

/** An expression for the names of the indexes, each after a space, that do not find a row of the table. */
function lackingIn(table: keyof typeof indexed, by: ByIndex): string {
  const { content, indexes } = indexed[table];
  const names = Object.entries<readonly string[]>(indexes).map(([index, columns]) => {
    const of = (row: string) => columns.map((column) => `${row}.${column}`).join(", ");
    const isIndexed = partial.includes(index) ? `one.${columns[0]} is not null` : "true";
    const found = `(select one.${content} from ${table} as one ${by(index, of("one"), of(table), isIndexed)})`;
    const isExpected = `${table}.${columns[0]} is not null`;
    return `case when ${isExpected} and ${found} is distinct from ${table}.${content} then ' ${index}' else '' end`;
  });
  return names.join(" || ");
}

/** The columns of each table, as an audit reads them, with the names of indexes that lack the row as `lacking`. */
export function auditedColumns(table: keyof AuditedRows, by: ByIndex): string {
  switch (table) {
    case "account": {
      const lacking = `max(${lackingIn("name_word", by)})`;
      const ofWords = (column: string) =>
        `coalesce((select ${column} from name_word where name_word.pesel = account.pesel), '')`;
      return `account.*, ${ofWords("string_agg(word, ' ')")} as words, ${ofWords(lacking)} as lacking`;
    }
    case "journal":
      return `position, pesel, sequence, entry, hash, ${lackingIn(table, by)} as lacking`;
    case "refusal":
    case "rate_table":
      return `${table}.*, ${lackingIn(table, by)} as lacking`;
    default:
      return "*, '' as lacking";
  }
}

/** The hash of the entry before this one in its account. */
const hashBefore = (entry: string): string =>
  `(select one.hash from journal as one where one.pesel = ${entry}.pesel and one.sequence = ${entry}.sequence - 1)`;

/** The columns of `journal` and of the entry that undoes it, as `foundEntry` reads them. */
export const entryColumns =
  "journal.position, journal.id, journal.entry, journal.hash, " +
  `${hashBefore("journal")} as hash_before, later.id as reversed_by, later.pesel as reversed_for`;
export const withReversals = "left join journal as later on later.reverses = journal.id";
export const selectEntries = `select ${entryColumns} from journal ${withReversals}`;

/** Accounts as `decodeAccount` reads them, of the PESELs in the table `wanted`. */
export function selectAccounts(wanted: string): string {
  const newest = (column: string, offset = 0): string =>
    `(select one.${column} from journal as one where one.pesel = wanted.pesel ` +
    `order by one.sequence desc limit 1 offset ${offset})`;
  return (
    "select wanted.pesel, account.name, account.surname, account.sequence, " +
    `${newest("entry")} as entry, ${newest("hash")} as hash, ${newest("hash", 1)} as hash_before ` +
    `from ${wanted} left join account on account.pesel = wanted.pesel`
  );
}

/** The rate table in force, as `decodeInForce` reads it. */
export const selectInForce =
  "select accepted_table.*, (select count(*) from accepted_table) as accepted, rate_table.* " +
  "from accepted_table left join rate_table on id = table_id order by epoch desc limit 1";
