import { setImmediate as nextTurn } from "node:timers/promises";
import { type Entry, parseEntry } from "../core/journal.ts";
import type { AuditFinding, AuditOptions, AuditReport } from "../core/service.ts";
import { Chain, type Discrepancy, differing, type Evidence, type InForce, notLater } from "./chain.ts";
import { Heads } from "./heads.ts";
import { identityKeyOf } from "./ids.ts";
import { entryWithId, type Pause, pageSize, readRows, TableReader } from "./journal-reader.ts";
import {
  type AcceptedTableRow,
  acceptanceHash,
  encodeTable,
  type JournalRow,
  peselText,
  type RateTableRow,
  readTable,
  refusalHash,
  sha256,
  unlessDamaged,
} from "./rows.ts";
import { type Store, schemaVersion } from "./store.ts";

/** Options of an audit in this process. */
export interface LedgerAuditOptions extends Omit<AuditOptions, "signal"> {
  /** The clock that times are compared with, in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  readonly pause?: Pause | undefined;
}

/** Accounts in memory at once, at 1 to 2 KB each. The journal is read once for each such range of accounts. */
const accountsAtOnce = 200_000;
const findingsKept = 1000;
const allAccounts = "all accounts";

/** PESELs: those after `after` up to `through`. */
interface Range {
  readonly after: string | undefined;
  readonly through: string | undefined;
}

/**
 * Recomputes the ledger from its journal and rate tables: each account's chain of hashes, each exchange from the order
 * and the rate table, and each balance. Then it compares the accounts' rows with the ends of their chains, and checks
 * every other table. Orders may go on meanwhile: an account is checked as it was when its row was read, which is before
 * the journal is.
 */
export async function auditLedger(store: Store, options: LedgerAuditOptions = {}): Promise<AuditReport> {
  const { against, onHeads, onStart } = options;
  const key = identityKeyOf(store);
  const heads = new Heads(
    await (against === undefined && onHeads === undefined ? unlessDamaged(key) : key),
    onHeads,
  );
  if (against !== undefined) await heads.compareWith(against);
  const { entries: totalEntries, misplaced } = await store.journalEnd();
  onStart?.({ schemaVersion, entries: totalEntries });
  const audit = new Audit(store, heads, options);
  if (misplaced) audit.findMisplaced();
  let after: string | undefined;
  do {
    const range = await audit.readAccounts(after);
    await audit.readJournal(range, totalEntries);
    await audit.compareAccounts();
    after = range.through;
  } while (after !== undefined);
  await audit.readRateTables();
  await audit.readOtherTables();
  return { ...audit.report(), ...heads.result() };
}

class Audit {
  readonly #store: Store;
  readonly #heads: Heads;
  readonly #now: () => number;
  readonly #pause: Pause;
  readonly #onProgress: LedgerAuditOptions["onProgress"];
  /** Chains of a range, by PESEL. */
  #chains = new Map<string, Chain>();
  /** The record of the tables in force, oldest first. */
  #accepted: AcceptedTableRow[] = [];
  /** When rate tables were in force, by their ids. */
  #inForce: ReadonlyMap<string, readonly InForce[]> = new Map();
  readonly #tables: TableReader;
  #accounts = 0;
  #entries = 0;
  readonly #findings: AuditFinding[] = [];
  #findingsTotal = 0;

  constructor(
    store: Store,
    heads: Heads,
    { now = Date.now, pause = nextTurn, onProgress }: LedgerAuditOptions,
  ) {
    this.#store = store;
    this.#tables = new TableReader(store);
    this.#heads = heads;
    this.#now = now;
    this.#pause = pause;
    this.#onProgress = onProgress;
  }

  /** Reads of the journal go from position to position: an entry outside of the usual range could hide from them. */
  findMisplaced(): void {
    this.#findInTable([["positions in the journal", "some that fx does not give", "none of those"]]);
  }

  /** Reads the rows of a range of accounts, and looks for words of names that lead to none. */
  async readAccounts(after: string | undefined): Promise<Range> {
    this.#chains = new Map();
    let last = after;
    for await (const rows of readRows(this.#store, "account", this.#pause, { after })) {
      for (const row of rows) {
        this.#chains.set(row.pesel, new Chain(row.pesel, row, this.#heads.earlierOf(row.pesel)));
        this.#findLacking(row.pesel, row.lacking, "a row for each word");
      }
      this.#accounts += rows.length;
      const through = rows.at(-1)?.pesel;
      await this.#findOrphans({ after: last, through });
      last = through;
      if (this.#chains.size >= accountsAtOnce) return { after, through };
    }
    await this.#findOrphans({ after: last, through: undefined });
    return { after, through: undefined };
  }

  async #findOrphans(range: Range): Promise<void> {
    for (const pesel of await this.#store.orphanWords(range)) {
      this.#find(pesel, ["words of the names", "some", "no account"]);
    }
  }

  /** Checks the entries of the range's accounts, each against its account's chain so far. */
  async readJournal({ after = "", through }: Range, totalEntries: number): Promise<void> {
    // The accounts' rows were read before, so these have the tables of all entries that are checked.
    this.#accepted = [];
    for await (const rows of readRows(this.#store, "accepted_table", this.#pause))
      this.#accepted.push(...rows);
    this.#inForce = timesInForce(this.#accepted);
    const { position } = await this.#store.journalEnd();
    for await (const rows of readRows(this.#store, "journal", this.#pause, { through: position })) {
      for (const row of rows) {
        // Once, although the journal is read for each range.
        if (after === "" && row.lacking !== "") {
          this.#findLacking(row.pesel, row.lacking, "a row", row.sequence, readEntry(row));
        }
        if (row.pesel > after && (through === undefined || row.pesel <= through)) await this.#checkRow(row);
      }
      this.#onProgress?.({ accounts: this.#accounts, entries: this.#entries, totalEntries });
    }
  }

  async #checkRow(row: JournalRow): Promise<void> {
    const chain = this.#chains.get(row.pesel) ?? new Chain(row.pesel);
    this.#chains.set(row.pesel, chain);
    if (row.sequence > (chain.row?.sequence ?? 0)) chain.later ??= row;
    else await this.#check(chain, row);
  }

  async #check(chain: Chain, row: JournalRow): Promise<void> {
    this.#entries += 1;
    const entry = readEntry(row);
    const found = chain.append(row, entry, await this.#evidenceOf(entry));
    for (const each of found) this.#find(row.pesel, each, row.sequence, entry);
  }

  async #evidenceOf(entry: Entry | Error): Promise<Evidence> {
    const nowMs = this.#now();
    if (entry instanceof Error) return { nowMs };
    if (entry.kind === "reversal") {
      return { undone: await unlessDamaged(entryWithId(this.#store, entry.reverses ?? "")), nowMs };
    }
    if (entry.exchange === undefined) return { nowMs };
    const { tableId } = entry.exchange;
    const table = await unlessDamaged(this.#tables.find(tableId));
    return { table, inForce: this.#inForce.get(tableId), nowMs };
  }

  /** Reports indexes that lack a row: a request that looks by one would not find it, and could be done twice. */
  #findLacking(account: string, lacking: string, row: string, sequence?: number, at?: Entry | Error): void {
    for (const index of lacking.split(" ").slice(1)) {
      this.#find(account, [`index ${index}`, "no row", row], sequence, at);
    }
  }

  /** Compares the accounts' rows with the ends of their chains, and reports the heads. */
  async compareAccounts(): Promise<void> {
    const chains = [...this.#chains.values()];
    for (let start = 0; start < chains.length; start += pageSize) {
      await this.#pause();
      const some = chains.slice(start, start + pageSize);
      for (const chain of some) {
        if (chain.later !== undefined) await this.#checkLater(chain, chain.later);
        for (const found of chain.compareRow()) this.#find(chain.pesel, found);
      }
      await this.#heads.take(some);
    }
  }

  /** An entry that is newer than the account's row is no fault if the row, read again, has it now. */
  async #checkLater({ pesel, row: account }: Chain, later: JournalRow): Promise<void> {
    // The row itself: a store may have the account in a cache, as it was before somebody edited its row. A PESEL that was
    // edited may be none that a database can look for.
    const after = Number(pesel) > 0 ? peselText(Number(pesel) - 1) : undefined;
    const [row] = (await unlessDamaged(this.#store.rows("account", { after, limit: 1 }))) ?? [];
    const sequence = row?.pesel === pesel ? row.sequence : undefined;
    if (sequence !== undefined && sequence >= later.sequence) return;
    const problem = account === undefined ? "entry without an account" : "entry after the account's last";
    const found = [problem, `sequence ${later.sequence}`, `last sequence ${sequence ?? "none"}`] as const;
    this.#find(pesel, found, later.sequence, readEntry(later));
  }

  async readRateTables(): Promise<void> {
    const ids = new Set<string>();
    for await (const rows of readRows(this.#store, "rate_table", this.#pause)) {
      for (const row of rows) {
        ids.add(row.id);
        this.#findLacking(allAccounts, row.lacking, `a row for table ${row.number}`);
        this.#findInTable(tableDiscrepancies(row));
      }
    }
    for (const [index, row] of this.#accepted.entries()) this.#checkAccepted(row, index, ids);
  }

  /** The epochs are numbered without gaps, and their tables are all kept. */
  #checkAccepted(row: AcceptedTableRow, index: number, tables: ReadonlySet<string>): void {
    const name = `table in force ${row.epoch}`;
    const earlier = this.#accepted[index - 1]?.epoch ?? 0;
    this.#findInTable([
      ...differing("number of a table in force", `${row.epoch}`, `${earlier + 1}`),
      ...differing(`hash of ${name}`, row.hash, acceptanceHash(row)),
      ...notLater(`time of ${name}`, row.accepted_at, this.#now()),
    ]);
    if (!tables.has(row.table_id)) this.#findInTable([[name, row.table_id, "a table that is kept"]]);
  }

  async readOtherTables(): Promise<void> {
    for await (const rows of readRows(this.#store, "refusal", this.#pause)) {
      for (const row of rows) {
        const name = `refusal ${row.position}`;
        this.#findLacking(row.pesel, row.lacking, `a row for ${name}`);
        this.#findInTable([
          ...differing(`hash of ${name}`, row.hash, refusalHash(row)),
          ...notLater(`time of ${name}`, row.refused_at, this.#now()),
        ]);
      }
    }
    const [key] = await this.#store.rows("identity_key", { limit: 1 });
    this.#findInTable(
      key === undefined
        ? [["key of the customers' ids", "none", "a key"]]
        : differing("hash of the key of the customers' ids", key.hash, sha256(key.value)),
    );
  }

  #findInTable(found: readonly Discrepancy[]): void {
    for (const each of found) this.#find(allAccounts, each);
  }

  #find(
    account: string,
    [problem, recorded, recomputed]: Discrepancy,
    sequence?: number,
    at?: Entry | Error,
  ): void {
    this.#findingsTotal += 1;
    if (this.#findings.length >= findingsKept) return;
    const { id, by } = at === undefined || at instanceof Error ? {} : at;
    this.#findings.push({ account, entry: sequence, id, by, problem, recorded, recomputed });
  }

  report(): Omit<AuditReport, "digest"> {
    const findings = this.#findings.sort((a, b) =>
      a.account < b.account ? -1 : a.account > b.account ? 1 : 0,
    );
    return {
      accounts: this.#accounts,
      entries: this.#entries,
      findings,
      findingsTotal: this.#findingsTotal,
    };
  }
}

/**
 * When each rate table was in force. Where a clock was set back, an epoch counts as begun no later than the one after it.
 * @param accepted oldest first
 */
function timesInForce(accepted: readonly AcceptedTableRow[]): Map<string, InForce[]> {
  const times = new Map<string, InForce[]>();
  let untilMs = Number.POSITIVE_INFINITY;
  for (const { table_id, epoch, accepted_at, suspended_for } of accepted.toReversed()) {
    const fromMs = Math.min(accepted_at, untilMs);
    const isSuspended = suspended_for !== null;
    times.set(table_id, [{ epoch, fromMs, untilMs, isSuspended }, ...(times.get(table_id) ?? [])]);
    untilMs = fromMs;
  }
  return times;
}

function readEntry({ entry }: JournalRow): Entry | Error {
  try {
    return parseEntry(entry);
  } catch (error) {
    return error as Error;
  }
}

/** A rate table's id stands for its content, and its rates are written as fx writes them. */
function tableDiscrepancies(row: RateTableRow): Discrepancy[] {
  const name = `table ${row.number}`;
  try {
    const table = readTable(row);
    return [
      ...differing(`content of ${name}`, row.id, table.id),
      ...differing(`text of ${name}`, row.rates, encodeTable(table).rates),
    ];
  } catch (error) {
    return [[`content of ${name}`, (error as Error).message, "a whole table"]];
  }
}
