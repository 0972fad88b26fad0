import { endOfTime } from "../core/date.ts";
import { lastHouseNumber } from "../core/house.ts";
import type { Pesel } from "../core/pesel.ts";
import type { Acceptance, AcceptedTable, RateTable, TableInForce, TableLedger } from "../core/rates.ts";
import {
  type AuditedRow,
  type AuditedRows,
  DamagedLedger,
  decodeRefusal,
  decodeTable,
  lagging,
  portRow,
  type RateTableRow,
  type RefusalRow,
} from "../ledger/rows.ts";
import type {
  AccountsPage,
  DamagedAccount,
  Decision,
  FoundEntry,
  IdRange,
  JournalEnd,
  JournalPage,
  LedgerView,
  Lookup,
  PlacedEntry,
  RowsPage,
  Store,
  StoredAccount,
} from "../ledger/store.ts";
import { decodeInForce, foundEntry, listedAccount, requireChain } from "./found.ts";
import {
  auditedColumns,
  type ByIndex,
  type SqlRow,
  type SqlStatement,
  selectAccounts,
  selectEntries,
  selectInForce,
} from "./statements.ts";

const [least, greatest] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
/** An expression is in no index, so a rate table that its index lacks is read, too. */
const primaryKeys: Readonly<Record<keyof AuditedRows, string>> = {
  account: "pesel",
  journal: "position",
  accepted_table: "epoch",
  identity_key: "id",
  rate_table: "id || ''",
  refusal: "position",
};

/** No letter sorts after it. */
const lastLetter = "\u{10ffff}";

const tablesOfDays =
  "from rate_table left join " +
  "(select table_id, max(epoch) as epoch from accepted_table group by table_id) as accepted on table_id = id " +
  "where source = ?1 and effective_date >= ?2 and effective_date";
const oldestFirst = "order by effective_date, number, coalesce(epoch, 0)";

/** The reading half of a store. */
export abstract class SqlReader {
  /**
   * Reads rows, as of one moment. A patient read scans many rows, and so may take longer. One by index goes by indexes,
   * however few rows there are.
   */
  protected abstract select(
    statement: SqlStatement,
    how?: "patient" | "by index",
  ): Promise<readonly SqlRow[]>;
  /** See `ByIndex`. */
  protected abstract byIndex(...terms: Parameters<ByIndex>): string;
  abstract account(pesel: Pesel): Promise<StoredAccount | undefined>;
  abstract transact<T>(lookups: readonly Lookup[], decide: (view: LedgerView) => Decision<T>): Promise<T>;

  async accounts({ after, limit, name = [] }: AccountsPage): Promise<(StoredAccount | DamagedAccount)[]> {
    // The longest word is most likely the one that the fewest accounts have.
    const words = name.toSorted((a, b) => b.length - a.length).flatMap((word) => [word, word + lastLetter]);
    const last = Math.max(Number(after ?? 0), Number(lastHouseNumber));
    const rows = await this.select([accountsPage(name.length), [last, limit, ...words]]);
    return rows.map(listedAccount);
  }

  async statement(
    pesel: Pesel,
    { before, limit }: { before?: number | undefined; limit: number },
  ): Promise<readonly FoundEntry[]> {
    const sql = `${selectEntries} where journal.pesel = ?1 and journal.sequence < ?2 order by journal.sequence desc limit ?3`;
    const read = async () =>
      (await this.select([sql, [Number(pesel), before ?? greatest, limit]])).map(foundEntry);
    let found = await read();
    if (before !== undefined && (found[0]?.entry.sequence ?? 0) < before - 1) {
      // Another server may answer since a failover, or than answered before, and lag behind.
      const account = await this.account(pesel);
      if ((account?.sequence ?? 0) < before - 1) throw lagging();
      found = await read();
    }
    return requireChain(pesel, found, { before, limit });
  }

  async entries({ after, through = greatest, limit }: JournalPage): Promise<PlacedEntry[]> {
    const sql = `${selectEntries} where journal.position > ?1 and journal.position <= ?2 order by journal.position limit ?3`;
    const entries: PlacedEntry[] = [];
    for (const row of await this.select([sql, [after, through, limit]])) {
      try {
        entries.push({ position: Number(row.position), ...foundEntry(row) });
      } catch (error) {
        if (entries.length === 0 || !(error instanceof DamagedLedger)) throw error;
        break;
      }
    }
    return entries;
  }

  async journalEnd(): Promise<JournalEnd> {
    // Each is one look into an index, also before a database has statistics.
    const sql =
      "select (select min(position) from journal) as lowest, (select max(position) from journal) as highest, " +
      `(select coalesce(max(position), 0) from journal where position <= ${greatest}) as position, ` +
      // As a double: the sum of a damaged ledger may be more than a bigint holds.
      "(select coalesce(sum(cast(sequence as double precision)), 0) from account) as entries";
    const [row] = await this.select([sql, []], "patient");
    return {
      position: Number(row?.position),
      misplaced: Number(row?.lowest ?? 1) < 1 || Number(row?.highest ?? 1) > greatest,
      entries: Number(row?.entries),
    };
  }

  async entriesBetween({ first, last }: IdRange, limit: number): Promise<FoundEntry[]> {
    const sql = `${selectEntries} where journal.id between ?1 and ?2 limit ?3`;
    return (await this.select([sql, [first, last, limit]])).map(foundEntry);
  }

  async positionsBetween({ first, last }: IdRange): ReturnType<Store["positionsBetween"]> {
    // With "+ 0", a database does not look for the ids by going through the journal from either end.
    const sql =
      "select min(position + 0) as first, max(position + 0) as last from journal where id between ?1 and ?2";
    const [row] = await this.select([sql, [first, last]], "patient");
    return row?.first == null ? undefined : { first: Number(row.first), last: Number(row.last) };
  }

  async rows<Name extends keyof AuditedRows>(
    name: Name,
    { after, through, limit }: RowsPage,
  ): Promise<AuditedRow<Name>[]> {
    const place = primaryKeys[name];
    const bounds = [
      { sign: ">", value: after },
      { sign: "<=", value: through },
    ].filter((bound): bound is { sign: string; value: string | number } => bound.value !== undefined);
    const where = bounds.map(({ sign }, index) => `and ${place} ${sign} ?${index + 2}`).join(" ");
    const columns = `${place} as place, ${auditedColumns(name, this.byIndex)}`;
    const sql = `select ${columns} from ${name} where true ${where} order by ${place} limit ?1`;
    const rows = await this.select([sql, [limit, ...bounds.map(({ value }) => value)]], "by index");
    return rows.map((row) => portRow<AuditedRow<Name>>(row));
  }

  async orphanWords({ after, through }: Parameters<Store["orphanWords"]>[0]): Promise<string[]> {
    const sql =
      "select distinct pesel from name_word where pesel > ?1 and pesel <= ?2 " +
      "and not exists (select 1 from account where account.pesel = name_word.pesel and pesel > ?1 and pesel <= ?2)";
    const rows = await this.select([sql, [Number(after ?? least), Number(through ?? greatest)]]);
    return rows.map((row) => portRow<{ pesel: string }>(row).pesel);
  }

  async besideEntries(pesel: Pesel): ReturnType<Store["besideEntries"]> {
    const of = (sql: string) => this.select([sql, [Number(pesel)]]);
    const refusals = await of("select * from refusal where pesel = ?1 order by position");
    const words = await of("select word from name_word where pesel = ?1 order by word");
    return {
      refusals: refusals.map((row) => decodeRefusal(row as unknown as RefusalRow)),
      words: words.map(({ word }) => String(word)),
    };
  }

  async inForce(): Promise<TableInForce | undefined> {
    const [row] = await this.select([selectInForce, []]);
    return row && decodeInForce(row);
  }

  async acceptedTables(): Promise<readonly AcceptedTable[]> {
    const sql =
      "select id, source, number from accepted_table join rate_table on id = table_id order by epoch";
    return (await this.select([sql, []])).map((row) => row as unknown as AcceptedTable);
  }

  acceptTable(table: RateTable, { epoch, ...acceptance }: Acceptance): Promise<boolean> {
    return this.transact([], ({ inForce }) => {
      const isCurrent = (inForce()?.epoch ?? 0) === epoch;
      const accepted = isCurrent ? { table, ...acceptance, suspension: inForce()?.suspension } : undefined;
      return { writes: { accounts: [], entries: [], accepted }, answer: isCurrent };
    });
  }

  async saveTables(tables: readonly RateTable[]): Promise<void> {
    await this.transact([], () => ({ writes: { accounts: [], entries: [], tables }, answer: undefined }));
  }

  async tables({
    source,
    since,
    before = endOfTime,
  }: Parameters<TableLedger["tables"]>[0]): Promise<RateTable[]> {
    const sql = `select rate_table.* ${tablesOfDays} < ?3 ${oldestFirst}`;
    const rows = await this.select([sql, [source, since, before]]);
    return rows.map((row) => decodeTable(row as unknown as RateTableRow));
  }

  async table(id: string): Promise<RateTable | undefined> {
    const [row] = await this.select(["select * from rate_table where id = ?1", [id]]);
    return row && decodeTable(row as unknown as RateTableRow);
  }
}

/**
 * Takes the PESEL to go on after, the limit, and for each word what it begins with and what comes after all such words.
 * Accounts are found by the first word, and looked at for the others.
 */
function accountsPage(words: number): string {
  const begins = (nth: number) => `word >= ?${2 * nth + 3} and word < ?${2 * nth + 4}`;
  const others = Array.from(
    { length: words - 1 },
    (_, index) =>
      "and exists (select 1 from name_word as other " +
      `where other.pesel = name_word.pesel and ${begins(index + 1)}) `,
  );
  const where =
    words === 0
      ? "wanted.pesel > ?1"
      : `wanted.pesel in (select pesel from name_word where ${begins(0)} and pesel > ?1 ` +
        `group by pesel having true ${others.join("")}order by pesel limit ?2)`;
  return `${selectAccounts("account as wanted")} where ${where} order by wanted.pesel limit ?2`;
}
