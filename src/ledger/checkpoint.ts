import { createHash } from "node:crypto";
import { headText } from "../core/checkpoint.ts";
import type { AccountHead, AuditOptions, Comparison, LostHead } from "../core/service.ts";
import { customerId } from "./customer-id.ts";
import type { Pause } from "./journal-reader.ts";

/** What an audit is asked for: a checkpoint has been read by then. */
export interface LedgerAuditOptions extends Pick<AuditOptions, "onProgress" | "onHeads"> {
  readonly against?: EarlierHeads | undefined;
  /** The clock to compare times with, in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  readonly pause?: Pause | undefined;
}

/** A head of an earlier checkpoint, and what the ledger has of it. */
export interface EarlierHead {
  readonly entries: number;
  readonly hash: string;
  /** Whether the ledger has the account. */
  isFound: boolean;
  /** Whether its chain has the entry that was the last. */
  isHeld: boolean;
}

/** What an audit knows of an account's chain after the entries read so far. */
interface ReadChain {
  readonly pesel: string;
  /** Undefined if the account has no row. */
  readonly account: object | undefined;
  /** Of the last entry; 0 if there is none. */
  readonly sequence: number;
  readonly hash: string;
  /** Both are set if the audit is against a checkpoint. */
  customer: string | undefined;
  earlier: EarlierHead | undefined;
}

/** The heads of a checkpoint, by customer, in its order: some 300 bytes each. */
export type EarlierHeads = ReadonlyMap<string, EarlierHead>;

/** @throws what `heads` throws where the checkpoint cannot be read */
export async function earlierHeads(heads: AsyncIterable<readonly AccountHead[]>): Promise<EarlierHeads> {
  const earlier = new Map<string, EarlierHead>();
  for await (const some of heads) {
    for (const { customer, entries, hash } of some) {
      earlier.set(customer, { entries, hash, isFound: false, isHeld: false });
    }
  }
  return earlier;
}

/** The part of an audit that is about checkpoints: gives the heads of the chains, and compares them with earlier ones. */
export class Heads {
  readonly #key: string;
  readonly #give: AuditOptions["onHeads"];
  readonly #earlier: EarlierHeads | undefined;
  readonly #digest = createHash("sha256");
  readonly #lost: LostHead[] = [];

  /** @param key see `identityKeyOf` */
  constructor(key: string, { onHeads, against }: LedgerAuditOptions) {
    this.#key = key;
    this.#give = onHeads;
    this.#earlier = against;
  }

  /** To be called after each entry of a chain. */
  see(chain: ReadChain): void {
    if (this.#earlier === undefined) return;
    chain.customer ??= customerId(chain.pesel, this.#key);
    chain.earlier ??= this.#earlier.get(chain.customer);
    const { earlier, sequence, hash } = chain;
    if (sequence === earlier?.entries) earlier.isHeld = hash === earlier.hash;
  }

  /** Takes the chains, by PESEL, as they are at their ends. Those without an account, or without an entry, have no head. */
  async take(chains: readonly ReadChain[]): Promise<void> {
    const heads: AccountHead[] = [];
    for (const chain of chains) {
      const { pesel, account, sequence, hash, earlier } = chain;
      if (account === undefined || sequence === 0) continue;
      const customer = chain.customer ?? customerId(pesel, this.#key);
      heads.push({ customer, entries: sequence, hash });
      if (earlier === undefined) continue;
      earlier.isFound = true;
      if (earlier.isHeld) continue;
      const { entries } = earlier;
      this.#lost.push({ customer, account: pesel, entries, entriesNow: sequence });
    }
    if (heads.length === 0) return;
    this.#digest.update(heads.map((head) => `${headText(head)}\n`).join(""));
    await this.#give?.(heads);
  }

  result(): { readonly digest: string; readonly against?: Comparison } {
    const digest = this.#digest.digest("hex");
    return this.#earlier === undefined ? { digest } : { digest, against: this.#compare(this.#earlier) };
  }

  #compare(earlier: EarlierHeads): Comparison {
    const missing: LostHead[] = [];
    for (const [customer, { entries, isFound }] of earlier) {
      if (!isFound) missing.push({ customer, account: undefined, entries, entriesNow: 0 });
    }
    const accounts = earlier.size;
    const found = accounts - missing.length;
    return { accounts, found, lost: found === 0 ? [] : [...this.#lost, ...missing] };
  }
}
