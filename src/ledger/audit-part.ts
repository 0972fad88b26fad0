import type { CurrencyCode } from "../core/currency.ts";
import { pln } from "../core/currency.ts";
import type { Exchange } from "../core/exchange.ts";
import { balancesJson, type Entry, parseEntry } from "../core/journal.ts";
import type { Money } from "../core/money.ts";
import type { RateTable } from "../core/rates.ts";
import type { AuditFinding } from "../core/service.ts";
import { Chain } from "./chain.ts";
import type { HeadReader, ReadHead } from "./checkpoint.ts";
import { clockToleranceMs, timeText } from "./clock.ts";
import {
  exchangeDisagreements,
  haveSameAmounts,
  misplacedWords,
  reversalDisagreements,
} from "./disagreements.ts";
import { type Pause, readableEntry, readChains, readJournal, type TableReader } from "./journal-reader.ts";
import { peselText } from "./rows.ts";
import { entryHash } from "./seal.ts";
import type { AccountRow, Disagreement, JournalRow, ListedAccountRow, Store } from "./store.ts";

const findingsKept = 1000;
const accountsPerPage = 500;
/** Accounts compared with their chains before the event loop has its turn: some 2 ms, in which orders wait. */
const comparedAtOnce = 250;
/** Rows held back for others that come later. */
const earlyAtMost = 10_000;
/** Entries between two reports of progress. */
const toldAfter = 1000;
/** To find an entry from the one after it takes as long as to look at some ten. */
const worthLookingAt = 8;
/** Of an account whose entries are read together. */
const chainAtMost = 1000;

/** What an audit makes of some accounts. */
export interface PartReport {
  readonly accounts: number;
  readonly entries: number;
  /** By PESEL, at most a thousand. */
  readonly findings: readonly AuditFinding[];
  readonly findingsTotal: number;
  /** By currency: what the rows of the accounts hold, and what the journal says they should. */
  readonly held: ReadonlyMap<string, bigint>;
  readonly journalled: ReadonlyMap<string, bigint>;
  /** By PESEL. */
  readonly heads: readonly ReadHead[];
}

interface Setting {
  readonly store: Store;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly reader: HeadReader;
  readonly tables: TableReader;
  readonly pause: Pause;
}

/** PESELs: those after `after` up to `through`, or all of them. */
export interface Range {
  readonly after: string | undefined;
  readonly through: string | undefined;
  /** How many entries the ledger has. */
  readonly totalEntries: number;
}

/** The audit of the accounts of a range, and of all entries that name one in it. */
export class AuditPart {
  readonly #setting: Setting;
  readonly #range: Range;
  /** By PESEL. */
  readonly #chains: Map<string, Chain>;
  readonly #accounts: number;
  #entries = 0;
  readonly #findings: AuditFinding[] = [];
  #findingsTotal = 0;
  readonly #held = new Map<string, bigint>();
  readonly #journalled = new Map<string, bigint>();
  /** Rows before which others of their accounts are missing. */
  readonly #early: JournalRow[] = [];

  private constructor(setting: Setting, range: Range, chains: Map<string, Chain>, stray: readonly string[]) {
    this.#setting = setting;
    this.#range = range;
    this.#chains = chains;
    this.#accounts = chains.size;
    for (const pesel of stray) this.#find(pesel, undefined, "words of the names", "some", "no account");
  }

  /** Reads the rows of the accounts, and looks for words that lead to none. */
  static async begin(setting: Setting, range: Range): Promise<AuditPart> {
    const { after, through } = range;
    const chains = new Map<string, Chain>();
    const stray: string[] = [];
    let last = after;
    for (;;) {
      const page = await setting.store.accounts({ after: last, limit: accountsPerPage });
      for (const row of page) {
        if (through === undefined || row.pesel <= through) chains.set(row.pesel, new Chain(row.pesel, row));
      }
      const end = page.at(-1)?.pesel;
      const isLast =
        page.length < accountsPerPage || (through !== undefined && end !== undefined && end >= through);
      stray.push(...(await setting.store.strayWords({ after: last, through: isLast ? through : end })));
      if (isLast) return new AuditPart(setting, range, chains, stray);
      last = end;
      await setting.pause();
    }
  }

  /** @param onProgress called with how many entries were read */
  async read(onProgress: (entries: number) => void): Promise<PartReport> {
    const { store, tables, pause } = this.#setting;
    let told = 0;
    const { after, through } = this.#range;
    const chains = this.#isShort() ? store.chains?.bind(store) : undefined;
    const range = { after, through };
    for await (const rows of chains === undefined
      ? readJournal(store, range, pause)
      : readChains(chains, range, pause)) {
      tables.nextSlice();
      for (const row of rows) {
        const chain = this.#chainOf(row.pesel);
        if (row.sequence > chain.newest) chain.later ??= row;
        else if (row.sequence > chain.next && this.#early.length < earlyAtMost) this.#early.push(row);
        else {
          const more = this.#row(chain, row);
          if (more !== undefined) await more;
        }
      }
      if (this.#entries < told + toldAfter) continue;
      told = this.#entries;
      onProgress(told);
    }
    // Out of their order if they were edited, or after one that is gone.
    for (const row of this.#early.sort((a, b) => a.sequence - b.sequence)) {
      await this.#row(this.#chainOf(row.pesel), row);
    }
    onProgress(this.#entries);
    const heads: ReadHead[] = [];
    let compared = 0;
    for (const chain of this.#chains.values()) {
      if (chain.later !== undefined) await this.#later(chain, chain.later);
      if (chain.account !== undefined) this.#compare(chain, chain.account, heads);
      compared += 1;
      if (compared % comparedAtOnce === 0) await this.#setting.pause();
    }
    return {
      accounts: this.#accounts,
      entries: this.#entries,
      findings: this.#findings.sort((a, b) => (a.account < b.account ? -1 : a.account > b.account ? 1 : 0)),
      findingsTotal: this.#findingsTotal,
      held: this.#held,
      journalled: this.#journalled,
      heads,
    };
  }

  /** Whether the accounts have so few entries that it is not worth looking at all to find them. */
  #isShort(): boolean {
    let entries = 0;
    for (const { newest } of this.#chains.values()) {
      if (newest > chainAtMost) return false;
      entries += newest;
    }
    return entries * worthLookingAt <= this.#range.totalEntries;
  }

  /** Resolves when the next row may be looked at: mostly at once. */
  #row(chain: Chain, row: JournalRow): Promise<void> | undefined {
    const { tables } = this.#setting;
    const entry = readEntry(row);
    if (entry instanceof Error || entry.exchange === undefined) return this.#check(chain, row, entry);
    const { tableId } = entry.exchange;
    if (!tables.lacks(tableId, chain.epoch, entry.time.getTime())) return this.#check(chain, row, entry);
    return tables.load(tableId).then(() => this.#check(chain, row, entry));
  }

  #check(chain: Chain, row: JournalRow, entry: Entry | Error): Promise<void> | undefined {
    this.#entry(chain, row, entry);
    const undoes =
      entry instanceof Error || entry.kind !== "reversal" ? undefined : this.#reversal(row, entry);
    // Its text is most of the memory that the part would take.
    if (undoes === undefined) row.entry = "";
    return undoes;
  }

  #chainOf(pesel: string): Chain {
    const known = this.#chains.get(pesel);
    if (known !== undefined) return known;
    const chain = new Chain(pesel, undefined);
    this.#chains.set(pesel, chain);
    return chain;
  }

  #entry(chain: Chain, row: JournalRow, entry: Entry | Error): void {
    this.#entries += 1;
    const find = ([problem, recorded, recomputed]: Disagreement) =>
      this.#find(row.pesel, row, problem, recorded, recomputed);
    const { last: before, next: expected } = chain;
    chain.last = row;
    chain.head = this.#setting.reader.see(chain.head, row);
    if (row.sequence !== expected) find(["gap in the sequence", String(row.sequence), String(expected)]);
    let isSound = false;
    try {
      if (entry instanceof Error) throw entry;
      const hash = entryHash(row.entry, before?.hash ?? "");
      isSound = hash === row.hash;
      if (!isSound) find(["broken hash chain", row.hash, hash]);
      this.#disagreements(chain, entry).forEach(find);
    } catch (error) {
      find(["unreadable entry", (error as Error).message, "a whole entry"]);
      return;
    }
    const { kind, holder, debited, credited } = entry;
    const isFirst = row.sequence === 1;
    if (kind === "opening" ? !isFirst && !chain.isClosed : isFirst) {
      find(
        isFirst
          ? ["first entry", kind, "opening"]
          : ["opening after the first entry", `${row.sequence}`, "1"],
      );
    }
    if (chain.isClosed && kind !== "opening") find(["entry of a closed account", kind, "opening"]);
    chain.names = holder ?? chain.names;
    chain.isClosed = kind === "closing";
    if (isSound) this.#time(chain, entry.time.getTime()).forEach(find);
    chain.timeMs = entry.time.getTime();
    chain.isSound = isSound;
    if (debited !== undefined) this.#move(chain, debited.currency, -debited.minor);
    if (credited !== undefined) this.#move(chain, credited.currency, credited.minor);
    if (chain.isClosed && chain.balances.some(({ minor }) => minor !== 0n)) {
      find(["closing", "an account that holds money", "an empty account"]);
    }
    if (!haveSameAmounts(entry.balances, chain.balances)) {
      find(["balances after the entry", balancesJson(entry.balances), balancesJson(chain.balances)]);
    }
    for (const { currency, minor } of chain.balances) {
      if (minor < 0n) find(["negative balance", `${minor} minor units`, `at least 0 ${currency}`]);
    }
  }

  /** An entry is no earlier than a sound one before it, and not later than now. */
  #time(chain: Chain, timeMs: number): Disagreement[] {
    const found: Disagreement[] = [];
    if (chain.isSound && timeMs < chain.timeMs) {
      found.push(["time of the entry", timeText(timeMs), `not before ${timeText(chain.timeMs)}`]);
    }
    if (timeMs > this.#setting.now() + clockToleranceMs) {
      found.push(["time of the entry", timeText(timeMs), "not later than now"]);
    }
    return found;
  }

  /** What is wrong with the figures of one entry. */
  #disagreements(chain: Chain, { kind, credited, exchange, time }: Entry): Disagreement[] {
    if (kind === "opening" && credited !== undefined && credited.currency !== pln) {
      return [["opening currency", credited.currency, pln]];
    }
    return kind === "exchange" && exchange !== undefined ? this.#exchange(chain, exchange, time) : [];
  }

  /** Computes an exchange again, from the order and the stored table, which has to have been in force. */
  #exchange(chain: Chain, exchange: Exchange, time: Date): Disagreement[] {
    const id = exchange.tableId;
    const table = this.#tableOf(id);
    if (table === undefined) return [["rate table", id, "no such table in the store"]];
    return [...this.#outOfForce(chain, exchange, time), ...exchangeDisagreements(exchange, table)];
  }

  #tableOf(id: string): RateTable | undefined {
    try {
      return this.#setting.tables.loaded(id);
    } catch {
      return undefined;
    }
  }

  async #reversal(row: JournalRow, reversal: Entry): Promise<void> {
    const undone = await readableEntry(this.#setting.store, reversal.reverses ?? "");
    for (const [problem, recorded, right] of reversalDisagreements(reversal, undone)) {
      this.#find(row.pesel, row, problem, recorded, right);
    }
  }

  /** An account's exchanges are settled at the tables that were in force at the time, in their order. */
  #outOfForce(chain: Chain, { tableId, table }: Exchange, time: Date): Disagreement[] {
    const epoch = this.#setting.tables.epoch(tableId, chain.epoch, time.getTime());
    if (epoch === undefined) return [["rate table in force", table, "not in force then"]];
    chain.epoch = epoch;
    return [];
  }

  /** An entry newer than the row that was read is no fault, if the account has it now. */
  async #later({ pesel, account }: Chain, later: JournalRow): Promise<void> {
    // The row itself: a store may know the account as it was before somebody edited its row.
    const before = peselText(Number(pesel) - 1);
    const [row] = await this.#setting.store.accounts({ after: before, limit: 1 });
    const sequence = row?.pesel === pesel ? row.sequence : undefined;
    if (sequence !== undefined && sequence >= later.sequence) return;
    this.#find(
      pesel,
      later,
      account === undefined ? "entry without an account" : "entry after the account's last",
      `sequence ${later.sequence}`,
      `last sequence ${sequence ?? "none"}`,
    );
  }

  /** Compares an account's row with the end of its chain. */
  #compare(chain: Chain, row: ListedAccountRow, heads: ReadHead[]): void {
    for (const { currency, minor } of readBalances(row)) addTo(this.#held, currency, minor);
    const { last, names } = chain;
    if (last === undefined) {
      this.#find(row.pesel, undefined, "account without entries", "an account", "no entries");
      return;
    }
    heads.push(this.#setting.reader.end(chain.head, last));
    const pairs: Disagreement[] = [
      ["number of entries", String(row.sequence), String(last.sequence)],
      ["name", row.name, names?.name ?? ""],
      ["surname", row.surname, names?.surname ?? ""],
      ...misplacedWords(row),
    ];
    for (const [problem, recorded, recomputed] of pairs) {
      if (recorded !== recomputed) this.#find(row.pesel, undefined, problem, recorded, recomputed);
    }
  }

  #move(chain: Chain, currency: CurrencyCode, minor: bigint): void {
    chain.move(currency, minor);
    addTo(this.#journalled, currency, minor);
  }

  #find(
    pesel: string,
    at: JournalRow | undefined,
    problem: string,
    recorded: string,
    recomputed: string,
  ): void {
    this.#findingsTotal += 1;
    if (this.#findings.length >= findingsKept) return;
    const entry = at && readEntry(at);
    this.#findings.push({
      account: pesel,
      entry: at?.sequence,
      ...(entry instanceof Error ? { id: undefined } : { id: entry?.id, by: entry?.by }),
      problem,
      recorded,
      recomputed,
    });
  }
}

function readEntry({ entry }: JournalRow): Entry | Error {
  try {
    return parseEntry(entry);
  } catch (error) {
    return error as Error;
  }
}

/** The balances after the newest entry, if it can be read. */
function readBalances({ entry }: AccountRow): readonly Money[] {
  try {
    return entry === null ? [] : parseEntry(entry).balances;
  } catch {
    return [];
  }
}

export function addTo(totals: Map<string, bigint>, currency: string, minor: bigint): void {
  totals.set(currency, (totals.get(currency) ?? 0n) + minor);
}
