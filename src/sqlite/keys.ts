import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { decodeRefusal, encodeRefusal, foundEntry } from "../ledger/rows.ts";
import type { FoundEntry, Refusal, RefusalRow, Writes } from "../ledger/store.ts";
import { foundColumns, foundFrom } from "../sql/statements.ts";

const selectEntry = `select ${foundColumns} ${foundFrom} where journal.pesel = ? and journal.idempotency_key = ?`;
const selectRefusal = "select * from refusal where pesel = ? and idempotency_key = ?";
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

  constructor(statement: (sql: string) => StatementSyncInstance) {
    this.#statement = statement;
  }

  answered(pesel: Pesel, key: string): Entry | Refusal | undefined {
    return this.#entry(pesel, key)?.entry ?? this.#refusal(pesel, key);
  }

  #entry(pesel: Pesel, key: string): FoundEntry | undefined {
    const row = this.#statement(selectEntry).get(Number(pesel), key);
    return row && foundEntry(row);
  }

  #refusal(pesel: Pesel, key: string): Refusal | undefined {
    const row = this.#statement(selectRefusal).get(Number(pesel), key) as RefusalRow | undefined;
    return row && decodeRefusal(row);
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
  }
}
