import { randomUUID } from "node:crypto";
import type { Entry } from "../core/journal.ts";
import { holderWords } from "../core/names.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable } from "../core/rates.ts";
import { entryId } from "../ledger/entry-id.ts";
import {
  decodeAccount,
  decodeEntry,
  decodeRefusal,
  encodeAcceptance,
  encodeAccount,
  encodeRefusal,
  encodeTable,
  foundEntry,
} from "../ledger/rows.ts";
import type {
  AccountRow,
  Decision,
  JournalRow,
  Loaded,
  Refusal,
  RefusalRow,
  SealedEntry,
  Touch,
  Writes,
} from "../ledger/store.ts";
import {
  type Connection,
  ConnectionLost,
  type ListType,
  listOf,
  listText,
  type Parameter,
  type Row,
} from "./connection.ts";
import { isRolledBack } from "./failures.ts";
import { readInForce, tableColumns } from "./rate-tables.ts";

const typeOf: Readonly<Record<string, ListType>> = {
  pesel: "bigint",
  sequence: "bigint",
  id: "uuid",
  refused_at: "bigint",
  time: "bigint",
  closed: "bigint",
  reversed: "uuid",
  reversed_by: "uuid",
};

const movingColumns = ["pesel", "balances", "sequence", "hash", "time", "closed"] as const;
/** Of an account's row, as `decodeAccount` takes it. */
export const accountColumns = ["name", "surname", ...movingColumns] as const;
const journalColumns = ["pesel", "sequence", "id", "idempotency_key", "entry", "hash"] as const;
const reversalColumns = ["reversed", "reversed_by"] as const;
const wordColumns = ["pesel", "word"] as const;

const accountList = accountColumns.join(", ");
export const journalList = journalColumns.join(", ");
/** Entries as `foundEntry` reads them. */
export const selectFound =
  `select ${journalColumns.map((column) => `journal.${column}`).join(", ")}, reversed_by ` +
  "from journal left join reversal on reversed = journal.id";

/** The newest entries of a list of PESELs. */
export const selectNewest =
  `${selectFound} where (pesel, sequence) in ` +
  `(select pesel, sequence from account where pesel = any(${listOf(1, "bigint")}))`;

/** Rows as parameters, a column each: one statement, prepared once, takes any number of them. */
const unnest = (columns: readonly string[], types = typeOf): string =>
  `unnest(${columns.map((column, index) => listOf(index + 1, types[column] ?? "text")).join(", ")})`;

/**
 * Holds inside the transaction whose token the parameter of this number is, and is an error everywhere else. So a write
 * that a driver repeats, or a pooler hands to another session, writes nothing, and the COMMIT after it rolls back.
 */
const inTransaction = (number: number): string =>
  `(case when current_setting('fx.transaction', true) = $${number} then 'true' ` +
  "else 'a write outside of its transaction; a pooler must be in session mode' end)::boolean";

const insertInto = (table: string, columns: readonly string[], types = typeOf): string =>
  `insert into ${table} (${columns.join(", ")}) select * from ${unnest(columns, types)} ` +
  `where ${inTransaction(columns.length + 1)}`;

/** Whether a word begins as the parameter does: no letter sorts after the one added to the end of the range. */
const begins = (nth: number): string => `word >= $${nth} and word < $${nth} || chr(${0x10ffff})`;
/** Takes the PESEL to go on after, the limit, and as many words. */
export const pageAccounts = (words: number): string =>
  `select ${accountList}, coalesce((select string_agg(word, ' ') from name_word as own ` +
  "where own.pesel = account.pesel), '') as words from account where pesel > $1" +
  Array.from(
    { length: words },
    (_, index) =>
      ` and exists (select 1 from name_word where name_word.pesel = account.pesel and ${begins(index + 3)})`,
  ).join("") +
  " order by pesel limit $2";
export const spanOfAccounts =
  "select count(*) as count, max(pesel) as through from " +
  "(select pesel from account where pesel > $1 order by pesel limit $2) as span";
const findAccounts = `select ${accountList} from account where pesel = any(${listOf(1, "bigint")}) order by pesel`;
const lockAccounts = `${findAccounts} for update`;
const findKeys =
  `select ${journalColumns.map((column) => `j.${column}`).join(", ")} ` +
  `from ${unnest(["pesel", "key"])} as k (pesel, key) join journal j on j.pesel = k.pesel and j.idempotency_key = k.key`;
const refusalColumns = [
  "pesel",
  "idempotency_key",
  "digest",
  "code",
  "message",
  "refused_at",
  "asked_by",
  "hash",
] as const;
const findRefusals =
  `select ${refusalColumns.map((column) => `r.${column}`).join(", ")} ` +
  `from ${unnest(["pesel", "key"])} as k (pesel, key) join refusal r on r.pesel = k.pesel and r.idempotency_key = k.key`;
const insertRefusals =
  `${insertInto("refusal", refusalColumns)} on conflict (idempotency_key, pesel) do update set ` +
  "position = default, digest = excluded.digest, code = excluded.code, message = excluded.message, refused_at = excluded.refused_at, " +
  "asked_by = excluded.asked_by, hash = excluded.hash";
/** Deletes some of the oldest: more than a batch adds, and few enough that orders do not wait. */
const deleteRefusals =
  "delete from refusal where position in (select position from refusal order by position limit 512) " +
  "and (refused_at < $1::bigint or position <= (select max(position) from refusal) - $2::bigint) " +
  `and ${inTransaction(3)}`;
const findEntries = `select id, hash from journal where id = any(${listOf(1, "uuid")})`;
const insertAccounts = insertInto("account", accountColumns);
const updateOf = (columns: readonly string[]): string =>
  `update account set ${columns
    .filter((column) => column !== "pesel")
    .map((column) => `${column} = n.${column}`)
    .join(", ")} ` +
  `from ${unnest(columns)} as n (${columns.join(", ")}) where account.pesel = n.pesel ` +
  `and ${inTransaction(columns.length + 1)}`;
const updateAccounts = updateOf(movingColumns);
const renameAccounts = updateOf(["pesel", "name", "surname"]);
const insertReversals = insertInto("reversal", reversalColumns);
const deleteWords = `delete from name_word where pesel = any(${listOf(1, "bigint")}) and ${inTransaction(2)}`;
const insertWords = insertInto("name_word", wordColumns);
const findReversed = `${selectFound} where journal.id = any(${listOf(1, "uuid")})`;
const insertEntries = insertInto("journal", journalColumns);
const insertAccepted =
  "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) " +
  `select $1::bigint, $2::text, $3::bigint, $4::text, $5::text where ${inTransaction(6)}`;
const insertTables = `${insertInto("rate_table", tableColumns, {})} on conflict do nothing`;
/** Keeps tables, where they are not kept yet. */
export async function saveTables(connection: Connection, tables: readonly RateTable[]): Promise<void> {
  const token = randomUUID();
  await begin(connection, "read committed", token);
  await commit(connection, rowsStatement(insertTables, tableColumns, tables.map(encodeTable)), token);
}

/** A decision whose COMMIT was sent and not answered. */
interface Sent<T> {
  /** By id. The hash tells this decision's entries from those of another try under the same ids. */
  readonly hashes: ReadonlyMap<string, string>;
  readonly answer: T;
}

/**
 * One `transact`, tried until it is known to be committed. Two round trips: one loads and locks, one writes and commits.
 *
 * After a lost COMMIT the next try looks for its entries. By then it cannot be committed any more behind our back:
 * its accounts are locked, so it has ended; or an account is new, and then the one of two tries at an opening that
 * commits last fails on the account's key.
 */
export class Transaction<T> {
  readonly #touched: readonly Touch[];
  readonly #decide: (loaded: Loaded) => Decision<T>;
  #isolation: string;
  #findAccounts = lockAccounts;
  readonly #tables: Map<string, RateTable>;
  readonly #sent: Sent<T>[] = [];

  constructor(
    touched: readonly Touch[],
    decide: (loaded: Loaded) => Decision<T>,
    { serializable, tables }: { serializable: boolean; tables: Map<string, RateTable> },
  ) {
    this.#touched = touched;
    this.#decide = decide;
    this.#isolation = serializable ? "serializable" : "read committed";
    this.#tables = tables;
  }

  /** Whether it may be committed although no try said so. */
  get mayBeDone(): boolean {
    return this.#sent.length > 0;
  }

  /**
   * @throws ConnectionLost, postgres.PostgresError, and whatever `decide` throws
   */
  async try(connection: Connection): Promise<T> {
    const token = randomUUID();
    try {
      const { loaded, done } = await this.#load(connection, token);
      if (done !== undefined) {
        // The commit of nothing waits until a standby has what the answer rests on.
        await commit(connection, [], token);
        return done.answer;
      }
      const { writes, answer } = this.#decide(loaded);
      const hashes = new Map(writes.entries.map(({ entry, hash }) => [entry.id, hash]));
      this.#sent.push({ hashes, answer });
      try {
        await commit(connection, this.#statements(writes, loaded), token);
      } catch (error) {
        if (hashes.size === 0 || !(error instanceof ConnectionLost)) this.#sent.pop();
        throw error;
      }
      if (writes.accepted !== undefined) this.#tables.set(writes.accepted.table.id, writes.accepted.table);
      return answer;
    } catch (error) {
      if (connection.usable) await connection.query("rollback").catch(() => {});
      throw error;
    }
  }

  /** Gives `see` what `try` would load, as of one moment, without locks. */
  static async look<T>(
    connection: Connection,
    touched: readonly Touch[],
    see: (loaded: Loaded) => T,
    tables: Map<string, RateTable>,
  ): Promise<T> {
    const reading = new Transaction<T>(touched, neverDecides, { serializable: false, tables });
    reading.#isolation = "repeatable read, read only";
    reading.#findAccounts = findAccounts;
    try {
      const { loaded } = await reading.#load(connection, randomUUID());
      return see({ ...loaded, nextId: () => "" });
    } finally {
      if (connection.usable) await connection.query("rollback").catch(() => {});
    }
  }

  async #load(connection: Connection, token: string): Promise<{ loaded: Loaded; done: Sent<T> | undefined }> {
    const keyed = this.#touched.filter(({ key }) => key !== undefined);
    const ids = this.#sent.flatMap(({ hashes }) => [...hashes.keys()]);
    const none: Row[] = [];
    const keys = [listText(keyed.map(({ pesel }) => pesel)), listText(keyed.map(({ key = null }) => key))];
    const reversed = this.#touched.flatMap(({ reverses = [] }) => reverses);
    const [, accountRows, keyRows, refusalRows, reversedRows, foundRows, inForce] = await Promise.all([
      begin(connection, this.#isolation, token),
      this.#touched.length === 0
        ? none
        : connection.query(this.#findAccounts, [
            listText([...new Set(this.#touched.map(({ pesel }) => pesel))]),
          ]),
      keyed.length === 0 ? none : connection.query(findKeys, keys),
      keyed.length === 0 ? none : connection.query(findRefusals, keys),
      reversed.length === 0 ? none : connection.query(findReversed, [listText(reversed)]),
      ids.length === 0 ? none : connection.query(findEntries, [listText(ids)]),
      readInForce(connection, this.#tables),
    ]);
    const accounts = new Map(
      accountRows
        .map((row) => decodeAccount(row as unknown as AccountRow))
        .map((account) => [account.pesel, account]),
    );
    const answers = [
      ...refusalRows.map((row) => decodeRefusal(row as unknown as RefusalRow)),
      ...keyRows.map((row) => decodeEntry(row as unknown as JournalRow).entry),
    ];
    const answered = new Map(
      answers.map((answer): [string, Entry | Refusal] => [`${answer.pesel}${answer.key}`, answer]),
    );
    const entries = new Map(reversedRows.map(foundEntry).map((found) => [found.entry.id, found]));
    return {
      loaded: {
        inForce,
        account: (pesel) => accounts.get(pesel),
        answered: (pesel, key) => answered.get(`${pesel}${key}`),
        entry: (id) => entries.get(id),
        nextId: () => entryId(),
      },
      done: this.#sent.find(({ hashes }) =>
        foundRows.some(({ id, hash }) => hashes.get(String(id)) === hash),
      ),
    };
  }

  #statements({ accounts, entries, accepted, refusals }: Writes, loaded: Loaded): Statement[] {
    const rows = accounts.map(encodeAccount).sort((a, b) => (a.pesel < b.pesel ? -1 : 1));
    const isNew = ({ pesel }: AccountRow) => loaded.account(pesel as Pesel) === undefined;
    const named = new Set(entries.filter(({ entry }) => entry.holder).map(({ entry }) => entry.pesel));
    const renamed = rows.filter((row) => !isNew(row) && named.has(row.pesel as Pesel));
    const words = [...rows.filter(isNew), ...renamed].flatMap(wordRows);
    return [
      // First, so that of two processes that put a table in force only one commits.
      ...(accepted === undefined ? [] : acceptStatements(accepted, (loaded.inForce?.epoch ?? 0) + 1)),
      ...rowsStatement(
        updateAccounts,
        movingColumns,
        rows.filter((row) => !isNew(row)),
      ),
      ...rowsStatement(insertAccounts, accountColumns, rows.filter(isNew)),
      ...rowsStatement(renameAccounts, ["pesel", "name", "surname"], renamed),
      ...rowsStatement(deleteWords, ["pesel"], renamed),
      ...rowsStatement(insertWords, wordColumns, words),
      ...rowsStatement(insertEntries, journalColumns, entries.map(encodeEntry)),
      ...rowsStatement(insertReversals, reversalColumns, entries.flatMap(reversalOf)),
      ...(refusals === undefined ? [] : refusalStatements(refusals)),
    ];
  }
}

function neverDecides(): never {
  throw new Error("what only looks decides nothing");
}

function encodeEntry({ entry, text, hash }: SealedEntry) {
  const { pesel, sequence, id, key = null } = entry;
  return { pesel, sequence, id, idempotency_key: key, entry: text, hash };
}

function wordRows(account: AccountRow) {
  return holderWords(account).map((word) => ({ pesel: account.pesel, word }));
}

function reversalOf({ entry: { id, reverses } }: SealedEntry) {
  return reverses === undefined ? [] : [{ reversed: reverses, reversed_by: id }];
}

function acceptStatements(accepted: NonNullable<Writes["accepted"]>, newEpoch: number): Statement[] {
  const { epoch, table_id, accepted_at, overridden_by, hash } = encodeAcceptance(newEpoch, accepted);
  return [
    ...rowsStatement(insertTables, tableColumns, [encodeTable(accepted.table)]),
    [insertAccepted, [epoch, table_id, accepted_at, overridden_by, hash]],
  ];
}

function refusalStatements({ kept, limits }: NonNullable<Writes["refusals"]>): Statement[] {
  return [
    ...rowsStatement(insertRefusals, refusalColumns, kept.map(encodeRefusal)),
    [deleteRefusals, [limits.since.getTime(), limits.most]],
  ];
}

type Statement = readonly [text: string, parameters: readonly Parameter[]];

function rowsStatement<Column extends string>(
  text: string,
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, Parameter>>[],
): Statement[] {
  if (rows.length === 0) return [];
  return [[text, columns.map((column) => listText(rows.map((row) => row[column])))]];
}

/** Says for the transaction what is said for the session: a pooler may have put another one in its place. */
function begin(connection: Connection, isolation: string, token: string): Promise<unknown> {
  return connection.query(
    `begin isolation level ${isolation}; set local fx.transaction = '${token}'; ` +
      `set local synchronous_commit = ${connection.synchronousCommit}`,
  );
}

/**
 * Sends the statements, each with the token of its transaction, and COMMIT, without waiting in between.
 * @throws ConnectionLost if it may be committed; postgres.PostgresError if it certainly is not
 */
async function commit(
  connection: Connection,
  statements: readonly Statement[],
  token: string,
): Promise<void> {
  const sent = [
    ...statements.map(([text, parameters]) => connection.query(text, [...parameters, token])),
    connection.query("commit"),
  ];
  const results = await Promise.allSettled(sent);
  const last = results.pop();
  const failed = results.find(
    (result): result is PromiseRejectedResult =>
      result.status === "rejected" && !(result.reason instanceof ConnectionLost),
  );
  // After a statement that failed, COMMIT rolls back.
  if (failed !== undefined) throw failed.reason;
  if (last?.status === "rejected" && isRolledBack(last.reason)) throw last.reason;
  if (last?.status === "fulfilled" && last.value.command === "COMMIT" && !connection.unreplicated) return;
  connection.destroy(
    connection.unreplicated
      ? "the commit did not wait for the standby"
      : `the commit failed: ${last?.status === "rejected" ? last.reason.message : "it was rolled back"}`,
  );
  throw connection.lost;
}
