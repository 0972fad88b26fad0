import type { Holder } from "../core/account.ts";
import { type CurrencyCode, compareCurrencies } from "../core/currency.ts";
import type { EarlierHead } from "./checkpoint.ts";
import type { ChainedRow, JournalRow, ListedAccountRow } from "./store.ts";

/** What the chain is compared with: less than the row, of which an audit has many in memory. */
export type ReadAccount = Pick<ListedAccountRow, "name" | "surname" | "sequence" | "words">;

/** The state of one account after the entries read so far. */
export class Chain {
  readonly pesel: string;
  readonly account: ReadAccount | undefined;
  /** The sequence of its newest entry as its row was read. */
  readonly newest: number;
  /** The customer's id, and its head in an earlier checkpoint, if the audit is against one. */
  customer: string | undefined;
  earlier: EarlierHead | undefined;
  last: ChainedRow | undefined;
  timeMs = 0;
  /** Whether the hash of the last entry is right. */
  isSound = true;
  /** Of the last exchange's table. */
  epoch = 0;
  isClosed = false;
  names: Holder | undefined;
  /** The first entry past that. */
  later: JournalRow | undefined;
  /** In the order in which an account has them. */
  readonly balances: { readonly currency: CurrencyCode; minor: bigint }[] = [];

  constructor(pesel: string, account: ReadAccount | undefined) {
    this.pesel = pesel;
    this.account = account;
    // An account whose newest entry is lost is compared with the entries that are left.
    this.newest = account === undefined ? 0 : account.sequence || Number.POSITIVE_INFINITY;
  }

  /** The sequence of the entry that comes next. */
  get next(): number {
    return (this.last?.sequence ?? 0) + 1;
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
