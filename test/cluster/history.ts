import { once } from "node:events";
import { closeSync, createWriteStream, openSync, readSync, type WriteStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";

/** In minor units. */
export interface Amount {
  readonly currency: string;
  readonly minor: number;
}

/** In minor units, by currency. */
export type Balances = Readonly<Record<string, number>>;

/** What moves money. Without a key it is sent once only, with an amount that the account has for no other such request. */
export type Order = { readonly pesel: string; readonly key: string | null; readonly minor: number } & (
  | { readonly kind: "opening" | "deposit" | "withdrawal"; readonly currency: string }
  | {
      readonly kind: "exchange";
      readonly from: string;
      readonly to: string;
      /** What `minor` is of: of `to`, or of `from`. */
      readonly side: "toBuy" | "toSell";
    }
);

/** The balances of an account, alone or with its newest entry. */
export interface Read {
  readonly kind: "account" | "newest";
  readonly pesel: string;
}

/**
 * What happened, as one process saw it: an event stands after those that it saw before. Each request sent is an attempt
 * of its own: one that is sent again with its key is another.
 */
export type Happening =
  | { readonly event: "sent"; readonly attempt: number; readonly asked: Order | Read }
  /** An order was answered as done. An opening's answer has no balances. */
  | {
      readonly event: "done";
      readonly attempt: number;
      readonly receipt: string;
      readonly replayed: boolean;
      readonly balances: Balances | null;
    }
  /** A read was answered: null if there is no account. */
  | {
      readonly event: "read";
      readonly attempt: number;
      readonly balances: Balances | null;
      readonly entry?: { readonly id: string; readonly sequence: number };
    }
  /** fx says that it did nothing. */
  | { readonly event: "refused"; readonly attempt: number; readonly code: string }
  /** No answer, or one that says nothing of the outcome. */
  | { readonly event: "unknown"; readonly attempt: number; readonly why: string }
  /**
   * From now on this host's PostgreSQL, which is the primary, runs without its Patroni: nothing there makes it a standby
   * when another is made the primary.
   */
  | { readonly event: "unwatched"; readonly host: string }
  /** Its Patroni is back, and has seen to it that PostgreSQL there is the only primary, or none. */
  | { readonly event: "watched"; readonly host: string }
  | { readonly event: "fault" | "undone" | "primary"; readonly what: string };

/** `at`: milliseconds since the history began. */
export type Event = Happening & { readonly at: number };

/** How many events of each kind there were. */
export type Counts = Readonly<Partial<Record<Event["event"], number>>>;

/** Writes a history as it happens: a line of JSON for each event. */
export class History {
  readonly file: string;
  readonly #began = performance.now();
  readonly #stream: WriteStream;
  readonly #counts: Partial<Record<Event["event"], number>> = {};
  #attempts = 0;

  constructor(file: string) {
    this.file = file;
    this.#stream = createWriteStream(file);
  }

  get counts(): Counts {
    return this.#counts;
  }

  add(happening: Happening): void {
    const event = { at: Math.round(performance.now() - this.#began), ...happening };
    this.#counts[event.event] = (this.#counts[event.event] ?? 0) + 1;
    this.#stream.write(`${JSON.stringify(event)}\n`);
  }

  /** Says that a request goes out now. Returns the number of the attempt. */
  sent(asked: Order | Read): number {
    this.#attempts += 1;
    this.add({ event: "sent", attempt: this.#attempts, asked });
    return this.#attempts;
  }

  async close(): Promise<void> {
    this.#stream.end();
    await once(this.#stream, "close");
  }
}

/** Reads what a History wrote: an hour of it need not fit into memory. */
export function* readHistory(file: string): Generator<Event> {
  const handle = openSync(file, "r");
  try {
    const chunk = Buffer.alloc(1024 * 1024);
    const decoder = new StringDecoder();
    let rest = "";
    for (let length = readSync(handle, chunk); length > 0; length = readSync(handle, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, length))).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line);
    }
  } finally {
    closeSync(handle);
  }
}

/** "PLN 1230, USD 5", in minor units and the same for the same balances: 0 of a currency is the same as none. */
export function balancesText(balances: Balances): string {
  const held = Object.entries(balances).filter(([, minor]) => minor !== 0);
  return (
    held
      .map(([currency, minor]) => `${currency} ${minor}`)
      .sort()
      .join(", ") || "nothing"
  );
}
