import { createHash } from "node:crypto";
import { headText, parseHead } from "../core/checkpoint.ts";
import type { AccountHead, AuditOptions, Comparison, LostHead } from "../core/service.ts";
import type { Chain } from "./chain.ts";
import { customerId } from "./ids.ts";

/** Collects the heads of all chains for a checkpoint, and compares them with those of an earlier one. */
export class Heads {
  readonly #key: string | undefined;
  readonly #onHeads: AuditOptions["onHeads"];
  /** Heads of the checkpoint that are not found yet, by customer: some 300 bytes each. */
  readonly #earlier = new Map<string, AccountHead>();
  readonly #digest = createHash("sha256");
  readonly #lost: LostHead[] = [];
  /** The number of heads in the checkpoint. */
  #against: number | undefined;

  /** @param key see `identityKeyOf`; undefined if it is damaged: then there are no heads */
  constructor(key: string | undefined, onHeads: AuditOptions["onHeads"]) {
    this.#key = key;
    this.#onHeads = onHeads;
  }

  /**
   * Compares with the heads of a checkpoint.
   * @throws what `heads` throws where the checkpoint cannot be read
   */
  async compareWith(heads: AsyncIterable<readonly AccountHead[]>): Promise<void> {
    for await (const some of heads) for (const head of some) this.#earlier.set(head.customer, head);
    this.#against = this.#earlier.size;
  }

  /** The account's head in the checkpoint. */
  earlierOf(pesel: string): AccountHead | undefined {
    if (this.#earlier.size === 0 || this.#key === undefined) return undefined;
    return this.#earlier.get(customerId(pesel, this.#key));
  }

  /** Takes the chains, by PESEL, as they are at their ends. Those without an account, or without an entry, have no head. */
  async take(chains: readonly Chain[]): Promise<void> {
    const heads: AccountHead[] = [];
    for (const { pesel, row, sequence, hash, earlier, holdsEarlier } of chains) {
      if (row === undefined || sequence === 0 || this.#key === undefined) continue;
      const customer = customerId(pesel, this.#key);
      const head = { customer, entries: sequence, hash };
      // A damaged end of a chain is no head. Findings tell of it, and follow in the checkpoint's last line.
      if (parseHead(headText(head)) !== undefined) heads.push(head);
      if (earlier === undefined) continue;
      this.#earlier.delete(customer);
      if (holdsEarlier) continue;
      this.#lost.push({ customer, account: pesel, entries: earlier.entries, entriesNow: sequence });
    }
    if (heads.length === 0) return;
    this.#digest.update(heads.map((head) => `${headText(head)}\n`).join(""));
    await this.#onHeads?.(heads);
  }

  result(): { readonly digest: string; readonly against?: Comparison } {
    const digest = this.#digest.digest("hex");
    const accounts = this.#against;
    if (accounts === undefined) return { digest };
    const found = accounts - this.#earlier.size;
    const missing = [...this.#earlier.values()].map(
      ({ customer, entries }): LostHead => ({ customer, account: undefined, entries, entriesNow: 0 }),
    );
    return { digest, against: { accounts, found, lost: found === 0 ? [] : [...this.#lost, ...missing] } };
  }
}
