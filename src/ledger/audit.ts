import { setImmediate as nextTurn } from "node:timers/promises";
import type { Holder } from "../core/account.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { compareCurrencies, pln } from "../core/currency.ts";
import type { Exchange } from "../core/exchange.ts";
import { balancesJson, balancesOf, type Entry, parseEntry } from "../core/journal.ts";
import type { Money } from "../core/money.ts";
import { holderWords } from "../core/names.ts";
import type { Pesel } from "../core/pesel.ts";
import { identifyTable, type RateTable, unknownSource } from "../core/rates.ts";
import type { AuditFinding, AuditReport } from "../core/service.ts";
import { type BooksAuditOptions, type ChainHead, Heads } from "./checkpoint.ts";
import { exchangeDisagreements, misplaced, reversalDisagreements } from "./disagreements.ts";
import { readJournal, TableReader, tableIdOf } from "./journal-reader.ts";
import { entryHash, sha256 } from "./seal.ts";
import type { AccountRow, Disagreement, JournalRow, ListedAccountRow, Store } from "./store.ts";

const findingsKept = 1000;
const accountsPerPage = 500;

/**
 * Recomputes the ledger from its journal and tables: each account's chain of hashes, each exchange from the order
 * and the table, each balance, and the conservation of every currency. Orders may go on meanwhile: an account is
 * checked as it was when its row was read.
 */
export async function auditLedger(store: Store, options: BooksAuditOptions = {}): Promise<AuditReport> {
  const heads = new Heads(await store.identityKey(), options);
  const audit = new Audit(store, heads);
  const totalEntries = await store.entryCount();
  let after: string | undefined;
  for (;;) {
    const page = await store.accounts({ after, limit: accountsPerPage });
    const isLast = page.length < accountsPerPage;
    const through = isLast ? undefined : page.at(-1)?.pesel;
    await audit.accounts(page, { after, through });
    await heads.give();
    options.onProgress?.({ accounts: audit.accountsRead, entries: audit.entriesRead, totalEntries });
    if (isLast) break;
    after = through;
    await nextTurn();
  }
  await audit.reversals();
  audit.conservation();
  return audit.report();
}

class Audit {
  accountsRead = 0;
  entriesRead = 0;
  readonly #store: Store;
  readonly #heads: Heads;
  readonly #tables: TableReader;
  readonly #checkedTables = new Set<string>();
  readonly #findings: AuditFinding[] = [];
  #findingsTotal = 0;
  /** Per currency: what the rows of the accounts hold, and what the journal says they should. */
  readonly #held = new Map<string, bigint>();
  readonly #journalled = new Map<string, bigint>();

  constructor(store: Store, heads: Heads) {
    this.#store = store;
    this.#heads = heads;
    this.#tables = new TableReader(store);
  }

  /** Checks one page of accounts against all journal entries in their range of PESELs. */
  async accounts(
    page: readonly ListedAccountRow[],
    { after, through }: { after: string | undefined; through: string | undefined },
  ): Promise<void> {
    const rows = new Map(page.map((row) => [row.pesel, row]));
    let chain: Chain | undefined;
    let account: ListedAccountRow | undefined;
    const end = after === undefined ? undefined : { pesel: after, sequence: Number.MAX_SAFE_INTEGER };
    for await (const entries of readJournal(this.#store, { after: end, through })) {
      this.#tables.nextSlice();
      for (const row of entries) {
        if (chain?.pesel !== row.pesel) {
          if (chain !== undefined) await this.#finish(chain, account);
          chain = new Chain(row.pesel, this.#heads.begin(row.pesel));
          account = rows.get(row.pesel);
        }
        // An account whose newest entry is lost is compared with the entries that are left.
        const newest = account?.sequence || Number.POSITIVE_INFINITY;
        if (account !== undefined && row.sequence <= newest) {
          const entry = readEntry(row);
          const exchange = entry instanceof Error ? undefined : entry.exchange;
          const tableId = exchange && tableIdOf(exchange);
          if (tableId !== undefined && this.#tables.lacks(tableId, chain.epoch))
            await this.#tables.load(tableId);
          this.#entry(chain, row, entry);
          if (!(entry instanceof Error) && entry.kind === "reversal") await this.#reversal(row, entry);
        } else chain.later ??= row;
      }
    }
    if (chain !== undefined) await this.#finish(chain, account);
    for (const row of page) {
      this.accountsRead += 1;
      for (const { currency, minor } of readBalances(row)) add(this.#held, currency, minor);
    }
    for (const row of rows.values()) {
      if (!this.#visited.has(row.pesel)) {
        this.#find(row.pesel, undefined, "account without entries", "an account", "no entries");
      }
    }
    this.#visited.clear();
  }

  conservation(): void {
    const currencies = [...new Set([...this.#held.keys(), ...this.#journalled.keys()])] as CurrencyCode[];
    for (const currency of currencies.sort(compareCurrencies)) {
      const held = this.#held.get(currency) ?? 0n;
      const journalled = this.#journalled.get(currency) ?? 0n;
      if (held === journalled) continue;
      this.#find("all accounts", undefined, `sum of ${currency}`, minorText(held), minorText(journalled));
    }
  }

  report(): AuditReport {
    return {
      accounts: this.accountsRead,
      entries: this.entriesRead,
      findings: this.#findings,
      findingsTotal: this.#findingsTotal,
      ...this.#heads.result(),
    };
  }

  readonly #visited = new Set<string>();

  #entry(chain: Chain, row: JournalRow, entry: Entry | Error): void {
    this.entriesRead += 1;
    const find = ([problem, recorded, recomputed]: Disagreement) =>
      this.#find(row.pesel, row, problem, recorded, recomputed);
    const before = chain.last;
    chain.last = row;
    this.#heads.see(chain.head, row);
    const expected = (before?.sequence ?? 0) + 1;
    if (row.sequence !== expected) find(["gap in the sequence", String(row.sequence), String(expected)]);
    try {
      if (entry instanceof Error) throw entry;
      const hash = entryHash(row.entry, before?.hash ?? "");
      if (hash !== row.hash) find(["broken hash chain", row.hash, hash]);
      misplaced(row, entry).forEach(find);
      this.#disagreements(chain, entry).forEach(find);
    } catch (error) {
      find(["unreadable entry", (error as Error).message, "a whole entry"]);
      return;
    } finally {
      const id = entry instanceof Error ? undefined : entry.id;
      this.#store.misplacedEntry(row, id, before).forEach(find);
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
    if (debited !== undefined) this.#move(chain, debited.currency, -debited.minor);
    if (credited !== undefined) this.#move(chain, credited.currency, credited.minor);
    if (chain.isClosed && chain.balances.some(({ minor }) => minor !== 0n)) {
      find(["closing", "an account that holds money", "an empty account"]);
    }
    if (!isSame(entry.balances, chain.balances)) {
      find(["balances after the entry", balancesJson(entry.balances), balancesJson(chain.balances)]);
    }
    for (const { currency, minor } of chain.balances) {
      if (minor < 0n) find(["negative balance", minorText(minor), `at least 0 ${currency}`]);
    }
  }

  /** What is wrong with the figures of one entry. */
  #disagreements(chain: Chain, { kind, credited, exchange }: Entry): Disagreement[] {
    if (kind === "opening" && credited !== undefined && credited.currency !== pln) {
      return [["opening currency", credited.currency, pln]];
    }
    return kind === "exchange" && exchange !== undefined ? this.#exchange(chain, exchange) : [];
  }

  /** Computes an exchange again, from the order and the stored table, which has to have been in force. */
  #exchange(chain: Chain, exchange: Exchange): Disagreement[] {
    const table = this.#tables.loaded(tableIdOf(exchange));
    if (table === undefined) return [["rate table", tableIdOf(exchange), "no such table in the store"]];
    this.#checkContent(table);
    return [...this.#outOfForce(chain, exchange), ...exchangeDisagreements(exchange, table)];
  }

  async #reversal(row: JournalRow, reversal: Entry): Promise<void> {
    const undone = await this.#store.entry(reversal.reverses ?? "");
    for (const [problem, recorded, right] of reversalDisagreements(reversal, undone)) {
      this.#find(row.pesel, row, problem, recorded, right);
    }
  }

  /** Every link leads from an entry to one that undoes it. */
  async reversals(): Promise<void> {
    let after: string | undefined;
    for (;;) {
      const links = await this.#store.reversals({ after, limit: accountsPerPage });
      for (const { reversed, by } of links) {
        const entry = (await this.#store.entry(by))?.entry;
        if (entry?.reverses === reversed) continue;
        this.#find(
          "all accounts",
          undefined,
          "link to a reversal",
          `${reversed} to ${by}`,
          "no such reversal",
        );
      }
      after = links.at(-1)?.reversed;
      if (links.length < accountsPerPage) return;
    }
  }

  /** A table's id stands for what the table says, unless it is older than ids. */
  #checkContent(table: RateTable): void {
    if (table.source === unknownSource || this.#checkedTables.has(table.id)) return;
    this.#checkedTables.add(table.id);
    const { id } = identifyTable(table, table.source, sha256);
    if (id !== table.id)
      this.#find("all accounts", undefined, `content of table ${table.number}`, table.id, id);
  }

  /** An account's exchanges are settled at the tables that were in force, in their order. */
  #outOfForce(chain: Chain, { tableId, table }: Exchange): Disagreement[] {
    if (tableId === undefined) return [];
    const epoch = this.#tables.epoch(tableId, chain.epoch);
    if (epoch === undefined) return [["rate table in force", table, "not in force then"]];
    chain.epoch = epoch;
    return [];
  }

  /** Compares an account's row with the end of its chain. */
  async #finish(chain: Chain, row: ListedAccountRow | undefined): Promise<void> {
    if (chain.later !== undefined) {
      const sequence = await this.#sequenceNow(chain.pesel);
      if (sequence === undefined || sequence < chain.later.sequence) {
        this.#find(
          chain.pesel,
          chain.later,
          row === undefined ? "entry without an account" : "entry after the account's last",
          `sequence ${chain.later.sequence}`,
          `last sequence ${sequence ?? "none"}`,
        );
      }
    }
    if (row === undefined || chain.last === undefined) return;
    this.#visited.add(row.pesel);
    this.#heads.end(chain.head, chain.last);
    const pairs: Disagreement[] = [
      ["number of entries", String(row.sequence), String(chain.last.sequence)],
      ["hash of the last entry", row.hash, chain.last.hash],
      ["balances", row.balances, balancesJson(chain.balances)],
      ...this.#store.misplacedAccount(row, chain.last),
      ["name", row.name, chain.names?.name ?? ""],
      ["surname", row.surname, chain.names?.surname ?? ""],
      ...misplacedWords(row),
    ];
    for (const [problem, recorded, recomputed] of pairs) {
      if (recorded !== recomputed) this.#find(row.pesel, undefined, problem, recorded, recomputed);
    }
  }

  /** The account's sequence as it is now: an entry newer than the row that was read is no fault. */
  async #sequenceNow(pesel: string): Promise<number | undefined> {
    return (await this.#store.account(pesel as Pesel))?.sequence;
  }

  #move(chain: Chain, currency: CurrencyCode, minor: bigint): void {
    chain.move(currency, minor);
    add(this.#journalled, currency, minor);
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

/** The state of one account after the entries read so far. */
class Chain {
  readonly pesel: string;
  readonly head: ChainHead;
  last: JournalRow | undefined;
  /** Of the last exchange's table. */
  epoch = 0;
  isClosed = false;
  names: Holder | undefined;
  /** The first entry past the account's row as it was read. */
  later: JournalRow | undefined;
  /** In the order in which an account has them. */
  readonly balances: { readonly currency: CurrencyCode; minor: bigint }[] = [];

  constructor(pesel: string, head: ChainHead) {
    this.pesel = pesel;
    this.head = head;
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

function readEntry({ entry }: JournalRow): Entry | Error {
  try {
    return parseEntry(entry);
  } catch (error) {
    return error as Error;
  }
}

function isSame(some: readonly Money[], others: readonly Money[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ currency, minor }, at) => currency === others[at]?.currency && minor === others[at].minor)
  );
}

/** The balances in a row that can be read; the comparison with the chain finds the others. */
function readBalances({ balances }: AccountRow): Money[] {
  try {
    return balancesOf(JSON.parse(balances));
  } catch {
    return [];
  }
}

function add<K>(totals: Map<K, bigint>, currency: K, minor: bigint): void {
  totals.set(currency, (totals.get(currency) ?? 0n) + minor);
}

/** An account has no words if an fx from before them has opened it. */
function misplacedWords(row: ListedAccountRow): Disagreement[] {
  if (row.words === "") return [];
  return [["words of the names", row.words.split(" ").sort().join(" "), holderWords(row).sort().join(" ")]];
}

function minorText(minor: bigint): string {
  return `${minor} minor units`;
}
