import type { RateTable, TableInForce, TableLedger } from "../core/rates.ts";
import { type Choice, candidates, choose, effectiveOn } from "./judge.ts";
import { earlierRates } from "./kept.ts";
import { type RateSource, tablesOf } from "./source.ts";
import { dayOf, type Known } from "./trading.ts";

/** Each round puts a table in force, or loses to a process that does. */
const mostRounds = 100;

interface FollowerOptions {
  readonly source: RateSource;
  readonly ledger: TableLedger;
  readonly trades: boolean;
  /** Who answers for a table that `acceptTable` lets through. */
  readonly operator: string;
  readonly now: () => Date;
}

/** Follows the ledger, and puts in force there, of the tables that are known, the newest that may come into force. */
export class LedgerFollower {
  readonly #options: FollowerOptions;
  readonly #known: Known;
  /** The source to take the ledger over from, until that is done, here or by another process. */
  changeSource: string | undefined;
  /** The id of the last table that this process put in force. */
  accepted: string | undefined;
  /** What the last judgement was about; there is no other until that changes. */
  #judged: readonly unknown[] | undefined;

  constructor(options: FollowerOptions, known: Known, changeSource: string | undefined) {
    this.#options = options;
    this.#known = known;
    this.changeSource = changeSource;
  }

  isOurs(inForce: TableInForce | undefined): boolean {
    return inForce !== undefined && this.#options.source.isNamed(inForce.table.source);
  }

  async follow(): Promise<TableInForce | undefined> {
    const inForce = await this.#options.ledger.inForce();
    this.#known.inForce = inForce;
    if (inForce !== undefined && inForce.table.source !== this.changeSource) this.changeSource = undefined;
    return inForce;
  }

  /**
   * Nothing that is known is given up before the ledger has it, so a ledger that fails is asked again the next time.
   * @param acceptTable the number or id of a table that an operator lets through
   */
  async settle(acceptTable: string | undefined): Promise<void> {
    for (let rounds = 0; rounds < mostRounds && (await this.#acceptNext(acceptTable)); rounds += 1);
    await this.#readKept();
  }

  /** @returns whether there may be more to put in force */
  async #acceptNext(acceptTable: string | undefined): Promise<boolean> {
    const { ledger, now, operator } = this.#options;
    const known = this.#known;
    const inForce = await this.follow();
    if (!this.mayAccept(inForce)) {
      known.heldBack = undefined;
      return false;
    }
    const today = dayOf(now(), known.clockAheadMs);
    const question = [known.tables, today, inForce?.epoch, acceptTable];
    if (question.every((part, index) => part === this.#judged?.[index])) return false;
    const { accept, heldBack } = await this.choose(effectiveOn(today, known.tables), inForce, acceptTable);
    known.heldBack = heldBack;
    if (accept === undefined) {
      this.#judged = question;
      return false;
    }
    const { table, overridden } = accept;
    const overriddenBy = overridden ? operator : undefined;
    if (await ledger.acceptTable(table, { epoch: inForce?.epoch ?? 0, at: now(), overriddenBy })) {
      if (inForce !== undefined && !this.isOurs(inForce)) this.changeSource = undefined;
      this.accepted = table.id;
    }
    return true;
  }

  /** Whether this process puts tables in force in a ledger that trades at this one. */
  mayAccept(inForce: TableInForce | undefined): boolean {
    if (!this.#options.trades) return false;
    return inForce === undefined || this.isOurs(inForce) || inForce.table.source === this.changeSource;
  }

  /** Which of the tables that are effective would come into force, and which is held back. Writes nothing. */
  async choose(
    effective: readonly RateTable[],
    current: TableInForce | undefined,
    acceptTable: string | undefined,
  ): Promise<Choice> {
    const { ledger } = this.#options;
    const inForce = current?.table;
    const changesSource = inForce !== undefined && !this.isOurs(current);
    const tables = candidates(withoutAlias(effective, inForce), inForce, changesSource);
    if (tables.length === 0) return { accept: undefined, heldBack: undefined };
    const accepted = await ledger.acceptedTables();
    const earlier = await earlierRates(ledger, accepted, inForce, tables);
    return choose(tables, { inForce, changesSource, accepted, earlier }, acceptTable);
  }

  /** Where the ledger trades at another source, its tables of this one can be quoted at until the source answers. */
  async #readKept(): Promise<void> {
    const { source, ledger } = this.#options;
    const { inForce, tables, kept } = this.#known;
    if (inForce === undefined || this.isOurs(inForce) || tables.length > 0 || kept !== undefined) return;
    this.#known.kept = await ledger.tables({ source: source.name, since: "0001-01-01" });
  }
}

/** Of a file that the ledger knows by another path, the table that is in force there is the same as the file's. */
function withoutAlias(tables: readonly RateTable[], inForce: RateTable | undefined): readonly RateTable[] {
  if (inForce === undefined) return tables;
  const isSame = (table: RateTable) => tablesOf(inForce.source, [table])[0]?.id === inForce.id;
  return tables.map((table) => (table.source !== inForce.source && isSame(table) ? inForce : table));
}
