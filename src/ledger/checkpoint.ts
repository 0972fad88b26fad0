import { createHash } from "node:crypto";
import { headText } from "../core/checkpoint.ts";
import type { AccountHead, AuditOptions, Comparison, LostHead } from "../core/service.ts";
import { customerId } from "./customer-id.ts";
import { HeadTable, type HeadTableData } from "./head-table.ts";
import type { JournalRow } from "./store.ts";

/** What the books are asked for: a checkpoint is a table by then. */
export interface BooksAuditOptions extends Pick<AuditOptions, "onProgress" | "onHeads" | "signal"> {
  readonly against?: HeadTableData | undefined;
}

/** @throws what `heads` throws where the checkpoint cannot be read */
export async function tableOf(heads: AsyncIterable<readonly AccountHead[]>): Promise<HeadTableData> {
  const table = new HeadTable();
  for await (const some of heads) for (const head of some) table.add(head);
  return table.data;
}

/** The part of an audit that is about checkpoints: gives the heads of the chains, and compares them with earlier ones. */
export class Heads {
  readonly #key: string;
  readonly #take: AuditOptions["onHeads"];
  readonly #digest = createHash("sha256");
  readonly #before: HeadTable | undefined;
  /** Which heads of the checkpoint belong to accounts of this ledger. */
  readonly #isFound: Uint8Array;
  readonly #lost: LostHead[] = [];
  #ended: AccountHead[] = [];

  /** @param key the ledger's `identityKey` */
  constructor(key: string, { onHeads, against }: BooksAuditOptions) {
    this.#key = key;
    this.#take = onHeads;
    this.#before = against && HeadTable.of(against);
    this.#isFound = new Uint8Array(against?.count ?? 0);
  }

  /** For the chain of an account, whose entries are then shown to it in their order. */
  begin(pesel: string): ChainHead {
    const customer = customerId(pesel, this.#key);
    const number = this.#before?.find(customer);
    const entries = number === undefined ? 0 : (this.#before?.entries(number) ?? 0);
    return { customer, number, entries, isHeld: false };
  }

  see(head: ChainHead, { sequence, hash }: JournalRow): void {
    if (sequence === head.entries && head.number !== undefined) {
      head.isHeld = this.#before?.hasHash(head.number, hash) === true;
    }
  }

  /** To be called for the chains of all accounts, by PESEL. */
  end({ customer, number, entries, isHeld }: ChainHead, { pesel, sequence, hash }: JournalRow): void {
    const head = { customer, entries: sequence, hash };
    this.#digest.update(`${headText(head)}\n`);
    if (this.#take !== undefined) this.#ended.push(head);
    if (number === undefined) return;
    this.#isFound[number] = 1;
    if (!isHeld) this.#lost.push({ customer, account: pesel, entries, entriesNow: sequence });
  }

  /** Gives the heads of the chains that have ended since the last time. */
  async give(): Promise<void> {
    const ended = this.#ended;
    this.#ended = [];
    if (ended.length > 0) await this.#take?.(ended);
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

/** What an account's chain is compared with while it is read. */
export interface ChainHead {
  readonly customer: string;
  /** Of its head in the checkpoint; undefined if it has none. */
  readonly number: number | undefined;
  /** In that head. */
  readonly entries: number;
  isHeld: boolean;
}
