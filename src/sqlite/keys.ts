import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { decodeEntry, decodeRefusal, encodeRefusal } from "../ledger/rows.ts";
import type { JournalRow, Refusal, RefusalRow, Touch, Writes } from "../ledger/store.ts";

const selectEntry = "select entry, hash from journal where pesel = ? and idempotency_key = ?";
const selectRefusal = "select * from refusal where pesel = ? and idempotency_key = ?";
const selectAnyRefusal = "select 1 from refusal limit 1";
const insertRefusal =
  "insert or replace into refusal (pesel, idempotency_key, digest, code, message, refused_at) values (?, ?, ?, ?, ?, ?)";
/** Deletes some of the oldest: more than a batch adds, and few enough that orders do not wait. */
const deleteRefusals =
  "delete from refusal where position in (select position from refusal order by position limit 512) " +
  "and (refused_at < ? or position <= (select max(position) from refusal) - ?)";

/** What was answered under the idempotency keys of earlier requests. */
export class Keys {
  readonly #statement: (sql: string) => StatementSyncInstance;
  /** Whether there may be refusals; undefined until it is read, and after another process may have changed it. */
  #mayHaveRefusals: boolean | undefined;

  constructor(statement: (sql: string) => StatementSyncInstance) {
    this.#statement = statement;
  }

  /** Call it when another process may have written. */
  forget(): void {
    this.#mayHaveRefusals = undefined;
  }

  answered(pesel: Pesel, key: string): Entry | Refusal | undefined {
    return this.#entry(pesel, key) ?? this.#refusal(pesel, key);
  }

  /** Like `answered`, but assumes that a key without a refusal has no entry either. */
  probablyAnswered(pesel: Pesel, key: string): Entry | Refusal | undefined {
    return this.#refusal(pesel, key) && this.answered(pesel, key);
  }

  #entry(pesel: Pesel, key: string): Entry | undefined {
    const row = this.#statement(selectEntry).get(Number(pesel), key) as JournalRow | undefined;
    return row && decodeEntry(row).entry;
  }

  #refusal(pesel: Pesel, key: string): Refusal | undefined {
    this.#mayHaveRefusals ??= this.#statement(selectAnyRefusal).get() !== undefined;
    if (!this.#mayHaveRefusals) return undefined;
    const row = this.#statement(selectRefusal).get(Number(pesel), key) as RefusalRow | undefined;
    return row && decodeRefusal(row);
  }

  /** Throws what `isKeyTaken` recognizes if a key for which no entry is written already has one. */
  requireFree(touched: readonly Touch[], { entries }: Writes): void {
    const written = new Set(entries.map(({ entry: { pesel, key } }) => pesel + key));
    for (const { pesel, key } of touched) {
      if (key === undefined || written.has(pesel + key)) continue;
      if (this.#entry(pesel, key) !== undefined) throw new KeyTaken();
    }
  }

  keep({ kept, limits }: NonNullable<Writes["refusals"]>): void {
    for (const refusal of kept) {
      const { pesel, idempotency_key, digest, code, message, refused_at } = encodeRefusal(refusal);
      this.#statement(insertRefusal).get(Number(pesel), idempotency_key, digest, code, message, refused_at);
    }
    this.#statement(deleteRefusals).get(limits.since.getTime(), limits.most);
    this.#mayHaveRefusals = true;
  }
}

class KeyTaken extends Error {}

/** SQLITE_CONSTRAINT_UNIQUE */
const uniqueViolation = 2067;

/** Whether a write, or `requireFree`, failed because of a key that was used before. */
export function isKeyTaken(error: unknown): boolean {
  return error instanceof KeyTaken || (error as { errcode?: number }).errcode === uniqueViolation;
}
