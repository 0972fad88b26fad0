import { createHash } from "node:crypto";
import { headText } from "../core/checkpoint.ts";
import type { AccountHead, AuditOptions, Comparison, LostHead } from "../core/service.ts";
import { customerId } from "./customer-id.ts";

/** What an audit knows of an account's chain after the entries read so far. */
export interface ReadChain {
  readonly pesel: string;
  /** Undefined if the account has no row. */
  readonly account: object | undefined;
  /** Of the last entry; 0 if there is none. */
  readonly sequence: number;
  readonly hash: string;
  /** The customer's id, once it is known. */
  customer: string | undefined;
  /** Whether it has the entry that was the last in the checkpoint. */
  holdsEarlier: boolean;
}

/** The part of an audit that is about checkpoints: gives the heads of the chains, and compares them with earlier ones. */
export class Heads {
  readonly #key: string;
  readonly #give: AuditOptions["onHeads"];
  /** Those of the checkpoint that are not found yet, by customer: some 300 bytes each. */
  readonly #earlier = new Map<string, AccountHead>();
  readonly #digest = createHash("sha256");
  readonly #lost: LostHead[] = [];
  #against: number | undefined;

  /** @param key see `identityKeyOf` */
  constructor(key: string, onHeads: AuditOptions["onHeads"]) {
    this.#key = key;
    this.#give = onHeads;
  }

  /**
   * Compares with the heads of a checkpoint.
   * @throws what `heads` throws where the checkpoint cannot be read
   */
  async compareWith(heads: AsyncIterable<readonly AccountHead[]>): Promise<void> {
    for await (const some of heads) for (const head of some) this.#earlier.set(head.customer, head);
    this.#against = this.#earlier.size;
  }

  /** To be called after each entry of a chain. */
  see(chain: ReadChain): void {
    if (this.#against === undefined) return;
    chain.customer ??= customerId(chain.pesel, this.#key);
    const earlier = this.#earlier.get(chain.customer);
    if (chain.sequence === earlier?.entries) chain.holdsEarlier = chain.hash === earlier.hash;
  }

  /** Takes the chains, by PESEL, as they are at their ends. Those without an account, or without an entry, have no head. */
  async take(chains: readonly ReadChain[]): Promise<void> {
    const heads: AccountHead[] = [];
    for (const chain of chains) {
      const { pesel, account, sequence, hash, holdsEarlier } = chain;
      if (account === undefined || sequence === 0) continue;
      const customer = chain.customer ?? customerId(pesel, this.#key);
      heads.push({ customer, entries: sequence, hash });
      const earlier = this.#earlier.get(customer);
      if (earlier === undefined) continue;
      this.#earlier.delete(customer);
      const { entries } = earlier;
      if (!holdsEarlier) this.#lost.push({ customer, account: pesel, entries, entriesNow: sequence });
    }
    if (heads.length === 0) return;
    this.#digest.update(heads.map((head) => `${headText(head)}\n`).join(""));
    await this.#give?.(heads);
  }

  result(): { readonly digest: string; readonly against?: Comparison } {
    const digest = this.#digest.digest("hex");
    if (this.#against === undefined) return { digest };
    const accounts = this.#against;
    const found = accounts - this.#earlier.size;
    const missing = [...this.#earlier.values()].map(
      ({ customer, entries }): LostHead => ({ customer, account: undefined, entries, entriesNow: 0 }),
    );
    return { digest, against: { accounts, found, lost: found === 0 ? [] : [...this.#lost, ...missing] } };
  }
}
