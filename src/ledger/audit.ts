import { setImmediate as nextTurn } from "node:timers/promises";
import { type CurrencyCode, compareCurrencies } from "../core/currency.ts";
import type { AuditFinding, AuditReport } from "../core/service.ts";
import { keptFindings } from "./audit-kept.ts";
import { AuditPart, addTo, type PartReport } from "./audit-part.ts";
import { HeadReader, Heads, type LedgerAuditOptions } from "./checkpoint.ts";
import { TableReader } from "./journal-reader.ts";
import type { Disagreement, Store } from "./store.ts";

const findingsKept = 1000;

/**
 * Recomputes the ledger from its journal and tables: each account's chain of hashes, each exchange from the order
 * and the table, each balance, and the conservation of every currency. Orders may go on meanwhile: an account is
 * checked as it was when its row was read.
 */
export async function auditLedger(store: Store, options: LedgerAuditOptions = {}): Promise<AuditReport> {
  const reader = new HeadReader(await store.identityKey(), options.against);
  const tables = new TableReader(store);
  const { now = Date.now, pause = nextTurn } = options;
  const audit = new Audit(options);
  const totalEntries = await store.entryCount();
  let after: string | undefined;
  do {
    const { count, through } = await store.accountSpan({ after, limit: store.accountsTogether });
    const isLast = count < store.accountsTogether;
    const range = { after, through: isLast ? undefined : through, totalEntries };
    const before = { accounts: audit.accounts + count, entries: audit.entries };
    const part = await AuditPart.begin({ store, now, pause, reader, tables }, range);
    const report = await part.read((entries) =>
      options.onProgress?.({ ...before, entries: before.entries + entries, totalEntries }),
    );
    await audit.take(report);
    after = range.through;
  } while (after !== undefined);
  for await (const finding of keptFindings(store, now)) audit.find(finding);
  audit.conservation();
  return audit.report();
}

class Audit {
  accounts = 0;
  entries = 0;
  readonly #heads: Heads;
  readonly #findings: AuditFinding[] = [];
  #findingsTotal = 0;
  readonly #held = new Map<string, bigint>();
  readonly #journalled = new Map<string, bigint>();

  constructor(options: LedgerAuditOptions) {
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
