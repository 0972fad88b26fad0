import { setImmediate as nextTurn } from "node:timers/promises";

/** Entries put in order for an audit before the event loop has its turn again: a few ms, in which orders wait. */
const orderedAtOnce = 2_000;
/** The same where no orders are taken: more at once are faster, and a signal waits for a second. */
const orderedByReader = 500_000;

/** The journal by account and sequence, for one connection: the table `journal_order`, which is made when it is needed. */
export class JournalOrder {
  readonly #run: (sql: string, ...parameters: number[]) => unknown;
  readonly #atOnce: number;
  /** The position of the last entry that is indexed. */
  #last = 0;

  constructor(run: (sql: string, ...parameters: number[]) => unknown, isReadOnly: boolean) {
    this.#run = run;
    this.#atOnce = isReadOnly ? orderedByReader : orderedAtOnce;
  }

  /** Indexes the entries up to `position` that are new since the last time, in steps. */
  async extend(position: number): Promise<void> {
    this.#run(
      `create temp table if not exists journal_order
       (pesel, sequence, position, primary key (pesel, sequence, position)) without rowid`,
    );
    while (this.#last < position) {
      const next = Math.min(this.#last + this.#atOnce, position);
      this.#run(
        `insert into journal_order select pesel, sequence, position from journal
         where position > ? and position <= ? order by pesel, sequence`,
        this.#last,
        next,
      );
      this.#last = next;
      if (next < position) await nextTurn();
    }
  }
}
