import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { decodeEntry } from "../ledger/rows.ts";
import type { JournalRow, Touch, Writes } from "../ledger/store.ts";

const selectEntry = "select entry, hash from journal where pesel = ? and idempotency_key = ?";

/** What was answered under the idempotency keys of earlier requests. */
export class Keys {
  readonly #statement: (sql: string) => StatementSyncInstance;

  constructor(statement: (sql: string) => StatementSyncInstance) {
    this.#statement = statement;
  }

  entry(pesel: Pesel, key: string): Entry | undefined {
    const row = this.#statement(selectEntry).get(Number(pesel), key) as JournalRow | undefined;
    return row && decodeEntry(row).entry;
  }

  /** Fails with what `isKeyTaken` knows if a key was taken for which nothing is written. */
  requireFree(touched: readonly Touch[], { entries }: Writes): void {
    const written = new Set(entries.map(({ entry: { pesel, key } }) => pesel + key));
    for (const { pesel, key } of touched) {
      if (key === undefined || written.has(pesel + key)) continue;
      if (this.entry(pesel, key) !== undefined) throw new KeyTaken();
    }
  }
}

class KeyTaken extends Error {}

/** SQLITE_CONSTRAINT_UNIQUE */
const uniqueViolation = 2067;

/** Whether a write, or `requireFree`, failed because of a key that was used before. */
export function isKeyTaken(error: unknown): boolean {
  return error instanceof KeyTaken || (error as { errcode?: number }).errcode === uniqueViolation;
}
