import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { headText } from "../core/checkpoint.ts";
import type { AccountHead, AuditOptions, Comparison, LostHead } from "../core/service.ts";
import { customerId } from "./customer-id.ts";
import { HeadTable, type HeadTableData } from "./head-table.ts";
import type { Pause } from "./journal-reader.ts";
import type { ChainedRow, JournalRow } from "./store.ts";

/** What an audit is asked for: a checkpoint is a table by then. */
export interface LedgerAuditOptions extends Pick<AuditOptions, "onProgress" | "onHeads"> {
  readonly against?: HeadTableData | undefined;
  /** The clock to compare times with, in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  readonly pause?: Pause | undefined;
}

/** @throws what `heads` throws where the checkpoint cannot be read */
export async function tableOf(heads: AsyncIterable<readonly AccountHead[]>): Promise<HeadTableData> {
  const table = new HeadTable();
  for await (const some of heads) for (const head of some) table.add(head);
  return table.data;
}

/** How far the chain of an account goes, and what an earlier checkpoint says of it, if there is one. */
export interface ReadHead extends AccountHead {
  readonly pesel: string;
  readonly earlier: EarlierHead | undefined;
}

interface EarlierHead {
  /** In the checkpoint. */
  readonly number: number;
  readonly entries: number;
  /** Whether the chain has its last entry. */
  isHeld: boolean;
}

/** What is known of a chain while it is read. */
interface ChainHead {
  readonly customer: string;
  readonly earlier: EarlierHead | undefined;
}

/** Reads the heads of chains, and looks at those of an earlier checkpoint on the way. */
export class HeadReader {
  readonly #key: string;
  readonly #before: HeadTable | undefined;

  /** @param key the ledger's `identityKey` */
  constructor(key: string, against: HeadTableData | undefined) {
    this.#key = key;
    this.#before = against && HeadTable.of(against);
  }

  /** To be shown each entry of a chain, in its order, with what this gave for the one before. */
  see(head: ChainHead | undefined, { pesel, sequence, hash }: JournalRow): ChainHead | undefined {
    if (this.#before === undefined) return undefined;
    const { customer, earlier } = head ?? this.#begin(pesel, this.#before);
    if (sequence === earlier?.entries) earlier.isHeld = this.#before.hasHash(earlier.number, hash);
    return head ?? { customer, earlier };
  }

  end(head: ChainHead | undefined, { pesel, sequence, hash }: ChainedRow): ReadHead {
    const customer = head?.customer ?? customerId(pesel, this.#key);
    return { customer, entries: sequence, hash, pesel, earlier: head?.earlier };
  }

  #begin(pesel: string, before: HeadTable): ChainHead {
    const customer = customerId(pesel, this.#key);
    const number = before.find(customer);
    const earlier =
      number === undefined ? undefined : { number, entries: before.entries(number), isHeld: false };
    return { customer, earlier };
  }
}

const headsAtOnce = 500;

/** The part of an audit that is about checkpoints: gives the heads of the chains, and compares them with earlier ones. */
export class Heads {
  readonly #give: AuditOptions["onHeads"];
  readonly #digest = createHash("sha256");
  readonly #before: HeadTable | undefined;
  /** Which heads of the checkpoint belong to accounts of this ledger. */
  readonly #isFound: Uint8Array;
  readonly #lost: LostHead[] = [];

  constructor({ onHeads, against }: LedgerAuditOptions) {
    this.#give = onHeads;
    this.#before = against && HeadTable.of(against);
    this.#isFound = new Uint8Array(against?.count ?? 0);
  }

  /** Takes those of all accounts, by PESEL. */
  async take(heads: readonly ReadHead[]): Promise<void> {
    for (let start = 0; start < heads.length; start += headsAtOnce) {
      const some = heads.slice(start, start + headsAtOnce);
      this.#digest.update(some.map((head) => `${headText(head)}\n`).join(""));
      for (const { customer, entries: entriesNow, pesel, earlier } of some) {
        if (earlier === undefined) continue;
        const { number, entries, isHeld } = earlier;
        this.#isFound[number] = 1;
        if (!isHeld) this.#lost.push({ customer, account: pesel, entries, entriesNow });
      }
      await this.#give?.(some.map(({ customer, entries, hash }) => ({ customer, entries, hash })));
      await nextTurn();
    }
  }

  result(): { readonly digest: string; readonly against?: Comparison } {
    const digest = this.#digest.digest("hex");
    return this.#before === undefined ? { digest } : { digest, against: this.#compare(this.#before) };
  }

  #compare(before: HeadTable): Comparison {
    const accounts = before.count;
    const found = this.#isFound.reduce((sum, one) => sum + one, 0);
    if (found === 0) return { accounts, found, lost: [] };
    const missing: LostHead[] = [];
    for (const [number, isFound] of this.#isFound.entries()) {
      if (isFound === 1) continue;
      const [customer, entries] = [before.customer(number), before.entries(number)];
      missing.push({ customer, account: undefined, entries, entriesNow: 0 });
    }
    return { accounts, found, lost: [...this.#lost, ...missing] };
  }
}
