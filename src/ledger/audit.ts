import { type CurrencyCode, compareCurrencies } from "../core/currency.ts";
import type { AuditFinding, AuditReport } from "../core/service.ts";
import { keptFindings } from "./audit-kept.ts";
import { AuditPart, addTo, type PartReport, type Range } from "./audit-part.ts";
import { type BooksAuditOptions, HeadReader, Heads } from "./checkpoint.ts";
import { TableReader } from "./journal-reader.ts";
import type { Disagreement, Store } from "./store.ts";

const findingsKept = 1000;

/** Fewer entries are read before another thread has begun. */
const worthTwoThreads = 100_000;

/** Does a part of an audit elsewhere. */
export type AuditHelp = (range: Range, onProgress: (entries: number) => void) => Promise<PartReport>;

/**
 * Recomputes the ledger from its journal and tables: each account's chain of hashes, each exchange from the order
 * and the table, each balance, and the conservation of every currency. Orders may go on meanwhile: an account is
 * checked as it was when its row was read.
 * @param help does half of a large ledger
 */
export async function auditLedger(
  store: Store,
  options: BooksAuditOptions = {},
  help?: AuditHelp,
): Promise<AuditReport> {
  const { report, isSure } = await audited(store, options, help, store.chains !== undefined);
  if (isSure) return report;
  const { onHeads, ...others } = options;
  const { report: whole } = await audited(store, others, help, false);
  // Of the heads that were given out.
  return onHeads === undefined ? whole : { ...whole, digest: report.digest };
}

/**
 * @param mayFollow whether chains may be followed. Then the report is sure only if nothing is wrong with them, and they
 *   led to all entries that there were at first.
 */
async function audited(
  store: Store,
  options: BooksAuditOptions,
  help: AuditHelp | undefined,
  mayFollow: boolean,
): Promise<{ readonly report: AuditReport; readonly isSure: boolean }> {
  const reader = new HeadReader(await store.identityKey(), options.against);
  const tables = new TableReader(store);
  const { now = Date.now } = options;
  const audit = new Audit(options);
  const totalEntries = await store.entryCount();
  // The heads of an earlier checkpoint are here only.
  const mayHelp = help !== undefined && options.against === undefined && totalEntries >= worthTwoThreads;
  const amongFirst = mayFollow ? totalEntries : undefined;
  const here: AuditHelp = async (range, tell) =>
    (await AuditPart.begin({ store, now, reader, tables }, range)).read(tell);
  let hasFollowed = false;
  let found = 0;
  let after: string | undefined;
  do {
    const { accounts, ranges } = await nextRanges(store, after, mayHelp);
    const before = { accounts: audit.accounts + accounts, entries: audit.entries };
    const read = ranges.map(() => 0);
    const parts = ranges.map((range, nth) =>
      (nth > 0 && mayHelp ? help : here)({ ...range, amongFirst }, (entries) => {
        read[nth] = entries;
        const soFar = read.reduce((sum, one) => sum + one, before.entries);
        options.onProgress?.({ ...before, entries: soFar, totalEntries });
      }),
    );
    for (const report of await Promise.all(parts)) {
      await audit.take(report);
      hasFollowed ||= report.hasFollowed;
      found += report.amongFirst;
    }
    after = ranges.at(-1)?.through;
  } while (after !== undefined);
  for await (const finding of keptFindings(store, now)) audit.find(finding);
  audit.conservation();
  const report = audit.report();
  return { report, isSure: !hasFollowed || (report.findingsTotal === 0 && found === totalEntries) };
}

/** The accounts to audit next, in one range or in two equal ones: in each, as many as the store gives the entries of together. */
async function nextRanges(
  store: Store,
  after: string | undefined,
  areTwo: boolean,
): Promise<{ readonly accounts: number; readonly ranges: readonly Range[] }> {
  const limit = store.accountsTogether * (areTwo ? 2 : 1);
  const { count, through } = await store.accountSpan({ after, limit });
  const last = count < limit ? undefined : through;
  if (!areTwo || count < 2) return { accounts: count, ranges: [{ after, through: last }] };
  const { through: middle } = await store.accountSpan({ after, limit: Math.ceil(count / 2) });
  const ranges = [
    { after, through: middle },
    { after: middle, through: last },
  ];
  return { accounts: count, ranges };
}

class Audit {
  accounts = 0;
  entries = 0;
  readonly #heads: Heads;
  readonly #findings: AuditFinding[] = [];
  #findingsTotal = 0;
  readonly #held = new Map<string, bigint>();
  readonly #journalled = new Map<string, bigint>();

  constructor(options: BooksAuditOptions) {
    this.#heads = new Heads(options);
  }

  /** To be called with the parts by PESEL. */
  async take(part: PartReport): Promise<void> {
    this.accounts += part.accounts;
    this.entries += part.entries;
    this.#findings.push(...part.findings.slice(0, findingsKept - this.#findings.length));
    this.#findingsTotal += part.findingsTotal;
    for (const [currency, minor] of part.held) addTo(this.#held, currency, minor);
    for (const [currency, minor] of part.journalled) addTo(this.#journalled, currency, minor);
    await this.#heads.take(part.heads);
  }

  conservation(): void {
    const currencies = [...new Set([...this.#held.keys(), ...this.#journalled.keys()])] as CurrencyCode[];
    for (const currency of currencies.sort(compareCurrencies)) {
      const held = this.#held.get(currency) ?? 0n;
      const journalled = this.#journalled.get(currency) ?? 0n;
      if (held === journalled) continue;
      this.find([`sum of ${currency}`, `${held} minor units`, `${journalled} minor units`]);
    }
  }

  report(): AuditReport {
    return {
      accounts: this.accounts,
      entries: this.entries,
      findings: this.#findings,
      findingsTotal: this.#findingsTotal,
      ...this.#heads.result(),
    };
  }

  /** What is wrong with no account in particular. */
  find([problem, recorded, recomputed]: Disagreement): void {
    this.#findingsTotal += 1;
    if (this.#findings.length >= findingsKept) return;
    const account = "all accounts";
    this.#findings.push({
      account,
      entry: undefined,
      id: undefined,
      by: undefined,
      problem,
      recorded,
      recomputed,
    });
  }
}
