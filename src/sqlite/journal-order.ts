import { setImmediate as nextTurn } from "node:timers/promises";

/** Entries put in order for an audit before the event loop has its turn again: a few ms, in which orders wait. */
const orderedAtOnce = 2_000;
/** The same where no orders are taken: more at once are faster, and a signal waits for a second. */
const orderedByReader = 500_000;

/** The journal in the order of accounts: an index of this connection only, `journal_order`. */
export class JournalOrder {
  readonly #run: (sql: string, ...parameters: number[]) => unknown;
  readonly #atOnce: number;
  /** The position of the last entry that is indexed. */
  #orderedTo = 0;

  constructor(run: (sql: string, ...parameters: number[]) => unknown, isReadOnly: boolean) {
    this.#run = run;
    this.#atOnce = isReadOnly ? orderedByReader : orderedAtOnce;
  }

  /** Indexes the entries that are new since the last time, in steps. */
  async extend(last: number): Promise<void> {
    this.#run(
      `create temp table if not exists journal_order
       (pesel, sequence, position, primary key (pesel, sequence, position)) without rowid`,
    );
    while (this.#orderedTo < last) {
      const next = Math.min(this.#orderedTo + this.#atOnce, last);
      this.#run(
        `insert into journal_order select pesel, sequence, position from journal
         where position > ? and position <= ? order by pesel, sequence`,
        this.#orderedTo,
        next,
      );
      this.#orderedTo = next;
      if (next < last) await nextTurn();
    }
  }
}
