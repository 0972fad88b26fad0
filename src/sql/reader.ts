import { endOfTime } from "../core/date.ts";
import type { Pesel } from "../core/pesel.ts";
import type {
  Acceptance,
  AcceptedTable,
  RateOfTable,
  RateTable,
  TableInForce,
  TableLedger,
} from "../core/rates.ts";
import { decodeTable, portRow } from "../ledger/rows.ts";
import {
  type AccountsPage,
  type AnsweredEntry,
  type Decision,
  type FoundEntry,
  type JournalRow,
  type KeptRows,
  type Loaded,
  pagedBy,
  type RateTableRow,
  type Store,
  type StoredAccount,
  type Touch,
} from "../ledger/store.ts";
import {
  answeredEntry,
  decodeAcceptedTable,
  decodeAccount,
  decodeInForce,
  decodeRate,
  foundEntry,
  missingEntry,
  requireChain,
} from "./found.ts";
import {
  entriesBetween,
  entryOfAccount,
  lastPosition,
  oneAccount,
  pageAccounts,
  pageJournal,
  pageStatement,
  selectAccepted,
  selectInForce,
  selectRates,
  selectRows,
  selectTable,
  selectTables,
  strayWords,
} from "./statements.ts";

/** A row of a database. Whole numbers come as numbers. */
export type SqlRow = Readonly<Record<string, unknown>>;
export type SqlValue = string | number;

const [least, greatest] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
/** No letter sorts after it. */
const lastLetter = "\u{10ffff}";

/** The reading half of a store. */
export abstract class SqlReader {
  /** Reads rows, as of one moment. The statement's parameters are ?1, ?2 and so on. */
  protected abstract select(sql: string, ...parameters: SqlValue[]): Promise<readonly SqlRow[]>;
  abstract transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T>;

  async account(pesel: Pesel): Promise<StoredAccount | undefined> {
    const [row] = await this.select(oneAccount, Number(pesel));
    return row && decodeAccount(row);
  }

  async accounts({ after, limit, name = [] }: AccountsPage): Promise<StoredAccount[]> {
    // The longest word is most likely the one that the fewest accounts have.
    const words = name.toSorted((a, b) => b.length - a.length).flatMap((word) => [word, word + lastLetter]);
    const rows = await this.select(pageAccounts(name.length), Number(after ?? least), limit, ...words);
    // Each is there: the statement goes by the accounts' rows.
    return rows.map((row) => decodeAccount(row) as StoredAccount);
  }

  async statement(
    pesel: Pesel,
    { before, limit }: { before?: number | undefined; limit: number },
  ): Promise<readonly FoundEntry[]> {
    const rows = await this.select(pageStatement, Number(pesel), before ?? greatest, limit);
    return requireChain(pesel, rows.map(foundEntry), { before, limit });
  }

  async entryOf(pesel: Pesel, sequence: number): Promise<AnsweredEntry> {
    const [row] = await this.select(entryOfAccount, Number(pesel), sequence);
    if (row === undefined) throw missingEntry(pesel, sequence);
    return answeredEntry(row);
  }

  async journal({
    after = least,
    through = greatest,
    limit,
  }: Parameters<Store["journal"]>[0]): Promise<JournalRow[]> {
    const rows = await this.select(pageJournal, after, through, limit);
    return rows.map((row) => portRow<JournalRow>(row));
  }

  async lastPosition(): Promise<number> {
    const [row] = await this.select(lastPosition);
    return Number(row?.position);
  }

  async entriesBetween(first: string, last: string, limit: number): Promise<FoundEntry[]> {
    return (await this.select(entriesBetween, first, last, limit)).map(foundEntry);
  }

  async rows<Name extends keyof KeptRows>(
    name: Name,
    { after, limit }: { after?: string | number | undefined; limit: number },
  ): Promise<KeptRows[Name][]> {
    const key = pagedBy[name];
    const [where, place] = after === undefined ? ["", []] : [`where ${key} > ?2`, [after]];
    const rows = await this.select(`${selectRows(name)} ${where} order by ${key} limit ?1`, limit, ...place);
    return rows.map((row) => portRow<KeptRows[Name]>(row));
  }

  async strayWords({ after, through }: Parameters<Store["strayWords"]>[0]): Promise<string[]> {
    const rows = await this.select(strayWords, Number(after ?? least), Number(through ?? greatest));
    return rows.map((row) => portRow<{ pesel: string }>(row).pesel);
  }

  async inForce(): Promise<TableInForce | undefined> {
    const [row] = await this.select(selectInForce);
    return row && decodeInForce(row);
  }

  async acceptedTables(): Promise<readonly AcceptedTable[]> {
    const rows = await this.select(selectAccepted);
    return rows.map(decodeAcceptedTable);
  }

  acceptTable(table: RateTable, { epoch, ...acceptance }: Acceptance): Promise<boolean> {
    return this.transact([], ({ inForce }) => {
      const isCurrent = (inForce()?.epoch ?? 0) === epoch;
      const accepted = isCurrent ? { table, ...acceptance } : undefined;
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
    const rows = await this.select(selectTables, source, since, before);
    return rows.map((row) => decodeTable(row as unknown as RateTableRow));
  }

  async table(id: string): Promise<RateTable | undefined> {
    const [row] = await this.select(selectTable, id);
    return row && decodeTable(row as unknown as RateTableRow);
  }

  async rateHistory({
    source,
    currency,
    since,
    until,
  }: Parameters<TableLedger["rateHistory"]>[0]): Promise<readonly RateOfTable[]> {
    const rows = (await this.select(selectRates, source, since, until)) as unknown as RateTableRow[];
    // The last of several rows under one number is the one that was in force last.
    const lastOfNumber = new Map(rows.map((row) => [row.number, row]));
    return [...lastOfNumber.values()].flatMap((row) => decodeRate(row, currency) ?? []);
  }
}
