import { setImmediate as nextTurn } from "node:timers/promises";
import type { Holder } from "../core/account.ts";
import { type CurrencyCode, compareCurrencies, pln } from "../core/currency.ts";
import type { Exchange } from "../core/exchange.ts";
import { type Entry, parseEntry } from "../core/journal.ts";
import type { AcceptedTable } from "../core/rates.ts";
import type { AuditFinding, AuditOptions, AuditReport } from "../core/service.ts";
import { keptDiscrepancies } from "./audit-kept.ts";
import { Heads, type ReadChain } from "./checkpoint.ts";
import { identityKeyOf } from "./customer-id.ts";
import {
  balanceDiscrepancies,
  type Discrepancy,
  differing,
  exchangeDiscrepancies,
  notLater,
  reversalDiscrepancies,
  timeText,
  wordDiscrepancies,
} from "./discrepancies.ts";
import { entryWithId, type Pause, readJournal, TableReader, unlessDamaged } from "./journal-reader.ts";
import { limits } from "./limits.ts";
import { peselText } from "./rows.ts";
import { entryHash } from "./seal.ts";
import { type AccountRow, type JournalRow, type Store, schemaVersion } from "./store.ts";

/** What an audit is asked for, the clock to compare times with, in milliseconds since 1970, and how it rests. */
export interface LedgerAuditOptions extends Omit<AuditOptions, "signal"> {
  readonly now?: (() => number) | undefined;
  readonly pause?: Pause | undefined;
}

/** Accounts whose rows and chains are in memory together: 1 to 2 KB each. Of more, the journal is read again. */
const accountsAtOnce = 200_000;
const accountsPerPage = 250;
const findingsKept = 1000;

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
  const { against, onHeads, onStart, now = Date.now } = options;
  const heads = new Heads(await identityKeyOf(store), onHeads);
  if (against !== undefined) await heads.compareWith(against);
  const totalEntries = await store.lastPosition();
  onStart?.({ schemaVersion, entries: totalEntries });
  const audit = new Audit(store, heads, options);
  let after: string | undefined;
  do {
    const range = await audit.readAccounts(after);
    await audit.readJournal(range, totalEntries);
    await audit.compareAccounts();
    after = range.through;
  } while (after !== undefined);
  for await (const found of keptDiscrepancies(store, now)) audit.find("all accounts", undefined, found);
  return { ...audit.report(), ...heads.result() };
}

/** One account: its row as it was read, and its state after the entries read so far. */
class Chain implements ReadChain {
  readonly pesel: string;
  /** Undefined if the account has no row. */
  readonly account: (Holder & { readonly sequence: number }) | undefined;
  /** What is wrong with the words that the account is found by. */
  readonly words: readonly Discrepancy[];
  /** The sequence of its newest entry as its row was read, which is the last one to be checked. */
  readonly newest: number;
  customer: string | undefined;
  holdsEarlier = false;
  /** Of the last entry. */
  sequence = 0;
  hash = "";
  timeMs = 0;
  /** Whether the hash of the last entry is right. */
  isSound = true;
  /** In which the table of the last exchange was in force. */
  epoch = 0;
  isClosed = false;
  names: Holder | undefined;
  /** The first entry past the newest. */
  later: JournalRow | undefined;
  /** In the order in which an account has them. */
  readonly balances: { readonly currency: CurrencyCode; minor: bigint }[] = [];

  constructor(pesel: string, row?: AccountRow) {
    this.pesel = pesel;
    this.account = row && { name: row.name, surname: row.surname, sequence: row.sequence };
    this.words = row === undefined ? [] : wordDiscrepancies(row);
    // An account whose newest entry is lost is compared with the entries that are left.
    this.newest = row === undefined ? 0 : row.sequence || Number.POSITIVE_INFINITY;
  }

  move(currency: CurrencyCode, minor: bigint): void {
    const balance = this.balances.find((one) => one.currency === currency);
    if (balance !== undefined) {
      balance.minor += minor;
    } else {
      this.balances.push({ currency, minor });
      this.balances.sort((a, b) => compareCurrencies(a.currency, b.currency));
    }
  }
}

/** A time in which a table was in force. */
interface Term {
  readonly epoch: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** @param accepted oldest first */
function termsOf(accepted: readonly AcceptedTable[]): Map<string, Term[]> {
  const terms = new Map<string, Term[]>();
  for (const [index, { id, epoch, at }] of accepted.entries()) {
    const untilMs = accepted[index + 1]?.at.getTime() ?? Number.POSITIVE_INFINITY;
    terms.set(id, [...(terms.get(id) ?? []), { epoch, fromMs: at.getTime(), untilMs }]);
  }
  return terms;
}

class Audit {
  readonly #store: Store;
  readonly #heads: Heads;
  readonly #now: () => number;
  readonly #pause: Pause;
  readonly #onProgress: LedgerAuditOptions["onProgress"];
  /** Those of a range, by PESEL. */
  #chains = new Map<string, Chain>();
  /** When tables were in force, by their ids. */
  #terms: ReadonlyMap<string, readonly Term[]> = new Map();
  readonly #tables: TableReader;
  #accounts = 0;
  #entries = 0;
  readonly #findings: AuditFinding[] = [];
  #findingsTotal = 0;

  constructor(store: Store, heads: Heads, options: LedgerAuditOptions) {
    this.#store = store;
    this.#heads = heads;
    this.#tables = new TableReader(store);
    this.#now = options.now ?? Date.now;
    this.#pause = options.pause ?? nextTurn;
    this.#onProgress = options.onProgress;
  }

  /** Reads the rows of the accounts of a range, and looks for words of names that lead to none. */
  async readAccounts(first: string | undefined): Promise<Range> {
    this.#chains = new Map();
    for (let after = first; ; ) {
      await this.#pause();
      const rows = await this.#store.rows("account", { after, limit: accountsPerPage });
      for (const row of rows) this.#chains.set(row.pesel, new Chain(row.pesel, row));
      const through = rows.length < accountsPerPage ? undefined : rows.at(-1)?.pesel;
      for (const pesel of await this.#store.strayWords({ after, through })) {
        this.find(pesel, undefined, ["words of the names", "some", "no account"]);
      }
      after = through;
      if (after === undefined || this.#chains.size >= accountsAtOnce) {
        this.#accounts += this.#chains.size;
        return { after: first, through };
      }
    }
  }

  /** Checks the entries, each against its account's chain so far. */
  async readJournal({ after = "", through }: Range, totalEntries: number): Promise<void> {
    // The accounts' rows were read before, so these have the tables of all entries that are checked.
    this.#terms = termsOf(await this.#store.acceptedTables());
    for await (const rows of readJournal(this.#store, this.#pause)) {
      for (const row of rows) {
        if (row.pesel <= after || (through !== undefined && row.pesel > through)) continue;
        const chain = this.#chainOf(row.pesel);
        if (row.sequence > chain.newest) chain.later ??= row;
        else await this.#check(chain, row);
      }
      this.#onProgress?.({ accounts: this.#accounts, entries: this.#entries, totalEntries });
    }
  }

  #chainOf(pesel: string): Chain {
    const known = this.#chains.get(pesel);
    if (known !== undefined) return known;
    const chain = new Chain(pesel);
    this.#chains.set(pesel, chain);
    return chain;
  }

  async #check(chain: Chain, row: JournalRow): Promise<void> {
    const entry = readEntry(row);
    const before = chain.hash;
    const find = (found: Discrepancy) => this.find(row.pesel, row, found);
    this.#entries += 1;
    differing("gap in the sequence", `${row.sequence}`, `${chain.sequence + 1}`).forEach(find);
    chain.sequence = row.sequence;
    chain.hash = row.hash;
    this.#heads.see(chain);
    if (entry instanceof Error) {
      find(["unreadable entry", entry.message, "a whole entry"]);
      return;
    }
    const hash = entryHash(row.entry, before);
    differing("broken hash chain", row.hash, hash).forEach(find);
    (await this.#figures(chain, entry)).forEach(find);
    this.#changes(chain, entry, hash === row.hash).forEach(find);
  }

  /** What is wrong with the figures of one entry. */
  async #figures(chain: Chain, entry: Entry): Promise<readonly Discrepancy[]> {
    const { kind, credited, exchange, time, reverses = "" } = entry;
    if (kind === "opening" && credited !== undefined) {
      return differing("opening currency", credited.currency, pln);
    }
    if (kind === "reversal") {
      return reversalDiscrepancies(entry, await unlessDamaged(entryWithId(this.#store, reverses)));
    }
    if (kind !== "exchange" || exchange === undefined) return [];
    return this.#exchange(chain, exchange, time.getTime());
  }

  /** Computes an exchange again, from the order and the stored rate table, which has to have been in force. */
  async #exchange(chain: Chain, exchange: Exchange, timeMs: number): Promise<readonly Discrepancy[]> {
    const { tableId } = exchange;
    const table = await unlessDamaged(this.#tables.find(tableId));
    if (table === undefined) return [["rate table", tableId, "no such table in the store"]];
    const found = exchangeDiscrepancies(exchange, table);
    const epoch = this.#epochOf(tableId, chain.epoch, timeMs);
    if (epoch === undefined) return [["rate table in force", exchange.table, "not in force then"], ...found];
    chain.epoch = epoch;
    return found;
  }

  /** The first epoch, from `least` on, in which a table was in force at a time. */
  #epochOf(tableId: string, least: number, timeMs: number): number | undefined {
    return this.#terms
      .get(tableId)
      ?.find(
        ({ epoch, fromMs, untilMs }) =>
          epoch >= least &&
          timeMs >= fromMs - limits.clockToleranceMs &&
          timeMs <= untilMs + limits.clockToleranceMs,
      )?.epoch;
  }

  /** Moves the chain on by an entry, and tells what cannot follow the entries before it. */
  #changes(chain: Chain, entry: Entry, isSound: boolean): Discrepancy[] {
    const { kind, holder, debited, credited, sequence } = entry;
    const found: Discrepancy[] = [];
    const isFirst = chain.sequence === 1;
    if (isFirst && kind !== "opening") found.push(["first entry", kind, "opening"]);
    if (!isFirst && kind === "opening" && !chain.isClosed) {
      found.push(["opening after the first entry", `${sequence}`, "1"]);
    }
    if (chain.isClosed && kind !== "opening") found.push(["entry of a closed account", kind, "opening"]);
    if (isSound) found.push(...this.#time(chain, entry.time.getTime()));
    chain.names = holder ?? chain.names;
    chain.isClosed = kind === "closing";
    chain.timeMs = entry.time.getTime();
    chain.isSound = isSound;
    if (debited !== undefined) chain.move(debited.currency, -debited.minor);
    if (credited !== undefined) chain.move(credited.currency, credited.minor);
    if (chain.isClosed && chain.balances.some(({ minor }) => minor !== 0n)) {
      found.push(["closing", "an account that holds money", "an empty account"]);
    }
    found.push(...balanceDiscrepancies(entry.balances, chain.balances));
    for (const { currency, minor } of chain.balances) {
      if (minor < 0n) found.push(["negative balance", `${minor} minor units`, `at least 0 ${currency}`]);
    }
    return found;
  }

  /** An entry is no earlier than a sound one before it, and not later than now. */
  #time(chain: Chain, timeMs: number): Discrepancy[] {
    const found = notLater("time of the entry", timeMs, this.#now());
    if (chain.isSound && timeMs < chain.timeMs) {
      found.unshift(["time of the entry", timeText(timeMs), `not before ${timeText(chain.timeMs)}`]);
    }
    return found;
  }

  /** Compares the accounts' rows with the ends of their chains, and gives out the heads. */
  async compareAccounts(): Promise<void> {
    const chains = [...this.#chains.values()];
    for (let start = 0; start < chains.length; start += accountsPerPage) {
      await this.#pause();
      const some = chains.slice(start, start + accountsPerPage);
      for (const chain of some) {
        if (chain.later !== undefined) await this.#later(chain, chain.later);
        this.#compare(chain);
      }
      await this.#heads.take(some);
    }
  }

  #compare({ pesel, account, sequence, names, words }: Chain): void {
    if (account === undefined) return;
    const found =
      sequence === 0
        ? [["account without entries", "an account", "no entries"] as const]
        : [
            ...differing("number of entries", `${account.sequence}`, `${sequence}`),
            ...differing("name", account.name, names?.name ?? ""),
            ...differing("surname", account.surname, names?.surname ?? ""),
            ...words,
          ];
    for (const each of found) this.find(pesel, undefined, each);
  }

  /** An entry newer than the account's row as it was read is no fault, if the account has it now. */
  async #later({ pesel, account }: Chain, later: JournalRow): Promise<void> {
    // The row itself: a store may know the account as it was before somebody edited its row.
    const [row] = await this.#store.rows("account", { after: peselText(Number(pesel) - 1), limit: 1 });
    const sequence = row?.pesel === pesel ? row.sequence : undefined;
    if (sequence !== undefined && sequence >= later.sequence) return;
    const problem = account === undefined ? "entry without an account" : "entry after the account's last";
    const last = `last sequence ${sequence ?? "none"}`;
    this.find(pesel, later, [problem, `sequence ${later.sequence}`, last]);
  }

  find(account: string, at: JournalRow | undefined, [problem, recorded, recomputed]: Discrepancy): void {
    this.#findingsTotal += 1;
    if (this.#findings.length >= findingsKept) return;
    const entry = at && readEntry(at);
    const { id, by } = entry === undefined || entry instanceof Error ? {} : entry;
    this.#findings.push({ account, entry: at?.sequence, id, by, problem, recorded, recomputed });
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

function readEntry({ entry }: JournalRow): Entry | Error {
  try {
    return parseEntry(entry);
  } catch (error) {
    return error as Error;
  }
}
