import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { entryId } from "./entry-id.ts";
import {
  type Connection,
  ConnectionLost,
  type ListType,
  listOf,
  listText,
  type Parameter,
  type Row,
} from "./postgres-connection.ts";
import { isRolledBack } from "./postgres-failures.ts";
import {
  type AccountRow,
  decodeAccount,
  decodeEntry,
  encodeAccount,
  encodeTable,
  type JournalRow,
} from "./rows.ts";
import type { Decision, Loaded, SealedEntry, StoredAccount, Touch, Writes } from "./store.ts";

const typeOf = { pesel: "bigint", sequence: "bigint", id: "uuid" } as Readonly<Record<string, ListType>>;

const accountColumns = ["pesel", "name", "surname", "balances", "sequence", "hash"] as const;
const journalColumns = ["pesel", "sequence", "id", "key", "entry", "hash"] as const;
const movingColumns = ["pesel", "balances", "sequence", "hash"] as const;

export const accountList = accountColumns.join(", ");
export const journalList = journalColumns.join(", ");

/** Rows as parameters, a column each: one statement, prepared once, takes any number of them. */
const unnest = (columns: readonly string[]): string =>
  `unnest(${columns.map((column, index) => listOf(index + 1, typeOf[column] ?? "text")).join(", ")})`;

/** The accounts of a list of PESELs. */
export const selectAccounts = `select ${accountList} from account where pesel = any(${listOf(1, "bigint")})`;
const lockAccounts = `${selectAccounts} order by pesel for update`;
const findKeys =
  `select ${journalColumns.map((column) => `j.${column}`).join(", ")} ` +
  `from ${unnest(["pesel", "key"])} as k (pesel, key) join journal j on j.pesel = k.pesel and j.key = k.key`;
const findEntries = `select id, hash from journal where id = any(${listOf(1, "uuid")})`;
const insertAccounts = `insert into account (${accountList}) select * from ${unnest(accountColumns)}`;
const updateAccounts =
  "update account set balances = n.balances, sequence = n.sequence, hash = n.hash " +
  `from ${unnest(movingColumns)} as n (${movingColumns.join(", ")}) where account.pesel = n.pesel`;
const insertEntries = `insert into journal (${journalList}) select * from ${unnest(journalColumns)}`;
const insertTable =
  "insert into rate_table (number, trading_date, effective_date, rates) values ($1, $2, $3, $4) on conflict do nothing";

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
 * whoever it wrote about is locked, so it has ended; or is not there, and then the one of two tries at an opening that
 * commits last fails on the account's key.
 */
export class Transaction<T> {
  readonly #touched: readonly Touch[];
  readonly #decide: (loaded: Loaded) => Decision<T>;
  readonly #begin: string;
  readonly #savedTables: Set<string>;
  readonly #sent: Sent<T>[] = [];

  constructor(
    touched: readonly Touch[],
    decide: (loaded: Loaded) => Decision<T>,
    { serializable, savedTables }: { serializable: boolean; savedTables: Set<string> },
  ) {
    this.#touched = touched;
    this.#decide = decide;
    this.#begin = `begin isolation level ${serializable ? "serializable" : "read committed"}`;
    this.#savedTables = savedTables;
  }

  /** Whether it may be committed although no try said so. */
  get mayBeDone(): boolean {
    return this.#sent.length > 0;
  }

  /**
   * @throws ConnectionLost, postgres.PostgresError, and whatever `decide` throws
   */
  async try(connection: Connection): Promise<T> {
    try {
      const { loaded, done } = await this.#load(connection);
      if (done !== undefined) {
        // The commit of nothing waits until a standby has what the answer rests on.
        await commit(connection, []);
        return done.answer;
      }
      const { writes, answer } = this.#decide(loaded);
      const hashes = new Map(writes.entries.map(({ entry, hash }) => [entry.id, hash]));
      this.#sent.push({ hashes, answer });
      try {
        await commit(connection, this.#statements(writes, loaded));
      } catch (error) {
        if (hashes.size === 0 || !(error instanceof ConnectionLost)) this.#sent.pop();
        throw error;
      }
      for (const { number } of writes.tables) this.#savedTables.add(number);
      return answer;
    } catch (error) {
      if (connection.usable) await connection.query("rollback").catch(() => {});
      throw error;
    }
  }

  async #load(connection: Connection): Promise<{ loaded: Loaded; done: Sent<T> | undefined }> {
    const keyed = this.#touched.filter(({ key }) => key !== undefined);
    const ids = this.#sent.flatMap(({ hashes }) => [...hashes.keys()]);
    const none: Row[] = [];
    const [, accountRows, keyRows, foundRows] = await Promise.all([
      connection.query(this.#begin),
      this.#touched.length === 0
        ? none
        : connection.query(lockAccounts, [listText([...new Set(this.#touched.map(({ pesel }) => pesel))])]),
      keyed.length === 0
        ? none
        : connection.query(findKeys, [
            listText(keyed.map(({ pesel }) => pesel)),
            listText(keyed.map(({ key = null }) => key)),
          ]),
      ids.length === 0 ? none : connection.query(findEntries, [listText(ids)]),
    ]);
    const accounts = accountsByPesel(accountRows);
    const entries = new Map(
      keyRows.map((row): [string, Entry] => {
        const { entry } = decodeEntry(row as unknown as JournalRow);
        return [`${entry.pesel}${entry.key}`, entry];
      }),
    );
    return {
      loaded: {
        account: (pesel) => accounts.get(pesel),
        keysFirst: true,
        entryByKey: (pesel, key) => entries.get(`${pesel}${key}`),
        nextId: () => entryId(),
      },
      done: this.#sent.find(({ hashes }) =>
        foundRows.some(({ id, hash }) => hashes.get(String(id)) === hash),
      ),
    };
  }

  #statements({ accounts, entries, tables }: Writes, loaded: Loaded): Statement[] {
    const rows = accounts.map(encodeAccount).sort((a, b) => (a.pesel < b.pesel ? -1 : 1));
    const isNew = ({ pesel }: AccountRow) => loaded.account(pesel as Pesel) === undefined;
    return [
      ...tables
        .filter(({ number }) => !this.#savedTables.has(number))
        .map(encodeTable)
        .map(
          (row): Statement => [insertTable, [row.number, row.trading_date, row.effective_date, row.rates]],
        ),
      ...rowsStatement(
        updateAccounts,
        movingColumns,
        rows.filter((row) => !isNew(row)),
      ),
      ...rowsStatement(insertAccounts, accountColumns, rows.filter(isNew)),
      ...rowsStatement(insertEntries, journalColumns, entries.map(encodeEntry)),
    ];
  }
}

function encodeEntry({ entry, text, hash }: SealedEntry) {
  const { pesel, sequence, id, key = null } = entry;
  return { pesel, sequence, id, key, entry: text, hash };
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

/**
 * Sends the statements and COMMIT without waiting in between.
 * @throws ConnectionLost if it may be committed; postgres.PostgresError if it certainly is not
 */
async function commit(connection: Connection, statements: readonly Statement[]): Promise<void> {
  const sent = [...statements, ["commit", []] as const].map(([text, parameters]) =>
    connection.query(text, parameters),
  );
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

/** Accounts as `accountList` reads them. */
export function accountsByPesel(rows: readonly Row[]): Map<Pesel, StoredAccount> {
  const accounts = rows.map((row) => decodeAccount(row as unknown as AccountRow));
  return new Map(accounts.map((account) => [account.pesel, account]));
}
