import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { decodeRefusal, encodeRefusal, foundEntry } from "../ledger/rows.ts";
import type { FoundEntry, Refusal, RefusalRow, Touch, Writes } from "../ledger/store.ts";
import { reversedBy } from "./statements.ts";

const selectEntry = `select *, ${reversedBy} from journal where pesel = ? and idempotency_key = ?`;
const selectRefusal = "select * from refusal where pesel = ? and idempotency_key = ?";
const selectAnyRefusal = "select 1 from refusal limit 1";
/** Of an array of PESELs and keys, each joined to one text. */
const selectRefused =
  "select 1 from json_each(?) cross join refusal " +
  "on idempotency_key = substr(value, 12) and pesel = cast(substr(value, 1, 11) as integer) limit 1";
const insertRefusal =
  "insert or replace into refusal (pesel, idempotency_key, digest, code, message, refused_at, asked_by, hash) " +
  "values (?, ?, ?, ?, ?, ?, ?, ?)";
/** Looks at as many of the oldest as the last parameter says. */
const deleteRefusals =
  "delete from refusal where (refused_at < ? or position <= (select max(position) from refusal) - ?) " +
  "and position in (select position from refusal order by position limit ?)";

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
    return this.entry(pesel, key)?.entry ?? this.#refusal(pesel, key);
  }

  entry(pesel: Pesel, key: string): FoundEntry | undefined {
    const row = this.#statement(selectEntry).get(Number(pesel), key);
    return row && foundEntry(row);
  }

  #refusal(pesel: Pesel, key: string): Refusal | undefined {
    if (!this.#hasRefusals()) return undefined;
    const row = this.#statement(selectRefusal).get(Number(pesel), key) as RefusalRow | undefined;
    return row && decodeRefusal(row);
  }

  #hasRefusals(): boolean {
    this.#mayHaveRefusals ??= this.#statement(selectAnyRefusal).get() !== undefined;
    return this.#mayHaveRefusals;
  }

  /**
   * Throws what `isKeyTaken` recognizes if one of the keys was used before. The index of keys finds what has the key of
   * an entry that is written.
   */
  requireFree(touched: readonly Touch[], { entries }: Writes): void {
    const keyed = touched.filter(({ key }) => key !== undefined);
    if (keyed.length === 0) return;
    const isRefused = () =>
      this.#statement(selectRefused).get(JSON.stringify(keyed.map(placeOf))) !== undefined;
    if (this.#hasRefusals() && isRefused()) throw new KeyTaken();
    const written = entries.filter(({ entry }) => entry.key !== undefined);
    if (written.length === keyed.length) return;
    const places = new Set(written.map(({ entry }) => placeOf(entry)));
    for (const touch of keyed) {
      if (places.has(placeOf(touch))) continue;
      if (this.entry(touch.pesel, touch.key as string) !== undefined) throw new KeyTaken();
    }
  }

  keep({ kept, limits }: NonNullable<Writes["refusals"]>): void {
    for (const refusal of kept) {
      const { pesel, ...rest } = encodeRefusal(refusal);
      const { idempotency_key, digest, code, message, refused_at, asked_by, hash } = rest;
      this.#statement(insertRefusal).get(
        Number(pesel),
        idempotency_key,
        digest,
        code,
        message,
        refused_at,
        asked_by,
        hash,
      );
    }
    // Twice as many as were added, so that those that are to go do not pile up.
    this.#statement(deleteRefusals).get(limits.since.getTime(), limits.most, 2 * kept.length);
    this.#mayHaveRefusals = true;
  }
}

function placeOf({ pesel, key }: Touch): string {
  return `${pesel}${key}`;
}

class KeyTaken extends Error {}

/** SQLITE_CONSTRAINT_UNIQUE */
const uniqueViolation = 2067;

/** Whether a write, or `requireFree`, failed because of a key that was used before. */
export function isKeyTaken(error: unknown): boolean {
  return error instanceof KeyTaken || (error as { errcode?: number }).errcode === uniqueViolation;
}
