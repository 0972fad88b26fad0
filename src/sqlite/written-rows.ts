import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { holderWords } from "../core/names.ts";
import type { RateTable } from "../core/rates.ts";
import { encodeAcceptance, encodeRefusal, encodeTable } from "../ledger/rows.ts";
import type { StoredAccount, Writes } from "../ledger/store.ts";

/** Writes what was decided, within a transaction. Each statement is prepared once. */
export class WrittenRows {
  readonly #statements: ReturnType<typeof prepareAll>;

  constructor(database: DatabaseSyncInstance) {
    this.#statements = prepareAll(database);
  }

  /** @param epoch of a table that is accepted */
  write({ accounts, entries, refusals, tables = [], accepted }: Writes, epoch: () => number): void {
    const { account, entry, acceptance } = this.#statements;
    for (const { text, hash } of entries) entry.run(text, hash);
    const named = new Set(entries.map(({ entry: { holder, pesel } }) => holder && pesel));
    for (const each of accounts) {
      const { pesel, name, surname, sequence } = each;
      account.run(Number(pesel), name, surname, sequence);
      if (named.has(pesel)) this.#writeWords(each);
    }
    if (refusals !== undefined) this.#keep(refusals);
    for (const table of tables) this.#save(table);
    if (accepted === undefined) return;
    this.#save(accepted.table);
    acceptance.run({ ...encodeAcceptance(epoch(), accepted) });
  }

  #save(table: RateTable): void {
    this.#statements.table.run({ ...encodeTable(table) });
  }

  /** What the account is found by from now on. */
  #writeWords(account: StoredAccount): void {
    const { word, noWords } = this.#statements;
    const pesel = Number(account.pesel);
    noWords.run(pesel);
    for (const each of holderWords(account)) word.run(pesel, each);
  }

  #keep({ kept, limits }: NonNullable<Writes["refusals"]>): void {
    const { refusal, oldRefusals } = this.#statements;
    for (const each of kept) {
      const row = encodeRefusal(each);
      refusal.run({ ...row, pesel: Number(row.pesel) });
    }
    // Twice as many as were added, so that those that are to go do not pile up.
    oldRefusals.run(limits.since.getTime(), limits.most, 2 * kept.length);
  }
}

function prepareAll(database: DatabaseSyncInstance) {
  return {
    entry: database.prepare("insert into journal (entry, hash) values (?, ?)"),
    account: database.prepare(
      "insert into account (pesel, name, surname, sequence) values (?, ?, ?, ?) on conflict (pesel) " +
        "do update set name = excluded.name, surname = excluded.surname, sequence = excluded.sequence",
    ),
    noWords: database.prepare("delete from name_word where pesel = ?"),
    word: database.prepare("insert into name_word (pesel, word) values (?, ?)"),
    refusal: database.prepare(
      "insert or replace into refusal (pesel, idempotency_key, digest, code, message, refused_at, asked_by, hash) " +
        "values (:pesel, :idempotency_key, :digest, :code, :message, :refused_at, :asked_by, :hash)",
    ),
    /** Looks at as many of the oldest as the last parameter says. */
    oldRefusals: database.prepare(
      "delete from refusal where (refused_at < ? or position <= (select max(position) from refusal) - ?) " +
        "and position in (select position from refusal order by position limit ?)",
    ),
    table: database.prepare(
      "insert into rate_table (id, source, number, trading_date, effective_date, rates) " +
        "values (:id, :source, :number, :trading_date, :effective_date, :rates) on conflict do nothing",
    ),
    acceptance: database.prepare(
      "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) " +
        "values (:epoch, :table_id, :accepted_at, :overridden_by, :hash)",
    ),
  };
}
