import { once } from "node:events";
import { closeSync, createWriteStream, openSync, readSync, type WriteStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import type { Asked } from "../support/asked.ts";

/** An amount in minor units. */
export interface Amount {
  readonly currency: string;
  readonly minor: number;
}

/** Minor units by currency. */
export type Balances = Readonly<Record<string, number>>;

/** A read of an account's balances, alone or with its newest entry. */
export interface Read {
  readonly kind: "account" | "newest";
  readonly pesel: string;
}

/**
 * An event in the order in which one process saw it. Every request sent is an attempt, a repetition under a key too. An
 * order without a key is sent once, and no other such order of its account asks for the same.
 */
export type Happening =
  | { readonly event: "sent"; readonly attempt: number; readonly asked: Asked | Read }
  /** An order was answered as done. The answer to an opening has no balances. */
  | {
      readonly event: "done";
      readonly attempt: number;
      readonly receipt: string;
      readonly replayed: boolean;
      readonly balances: Balances | null;
    }
  /** A read was answered; `balances` is null if there is no account. */
  | {
      readonly event: "read";
      readonly attempt: number;
      readonly balances: Balances | null;
      readonly entry?: { readonly id: string; readonly sequence: number };
    }
  /** fx answered that nothing was done. */
  | { readonly event: "refused"; readonly attempt: number; readonly code: string }
  /** The outcome is unknown: no answer, or one that does not tell it. */
  | { readonly event: "unknown"; readonly attempt: number; readonly why: string }
  /** From now on PostgreSQL of this host, the primary, runs without its Patroni, which could demote it. */
  | { readonly event: "unwatched"; readonly host: string }
  /** The host's Patroni is back, and PostgreSQL there is the only primary or none. */
  | { readonly event: "watched"; readonly host: string }
  | { readonly event: "fault" | "undone" | "primary"; readonly what: string };

/** `at`: milliseconds since the history began. */
export type Event = Happening & { readonly at: number };

export type Counts = Readonly<Partial<Record<Event["event"], number>>>;

/** Appends events to a history file, one line of JSON each. */
export class History {
  readonly file: string;
  /** When it began, as Date.now() says. */
  readonly beganMs = Date.now();
  readonly #began = performance.now();
  readonly #stream: WriteStream;
  readonly #counts: Partial<Record<Event["event"], number>> = {};
  #attempts = 0;

  /** @param earlier what goes on in this history: its attempts count from there */
  constructor(file: string, earlier: Iterable<Event> = []) {
    this.file = file;
    this.#stream = createWriteStream(file);
    for (const event of earlier) {
      this.#write(event);
      if (event.event === "sent") this.#attempts = Math.max(this.#attempts, event.attempt);
    }
  }

  get counts(): Counts {
    return this.#counts;
  }

  add(happening: Happening): void {
    this.#write({ at: Math.round(performance.now() - this.#began), ...happening });
  }

  /** Records that a request is sent, and returns the number of the attempt. */
  sent(asked: Asked | Read): number {
    this.#attempts += 1;
    this.add({ event: "sent", attempt: this.#attempts, asked });
    return this.#attempts;
  }

  #write(event: Event): void {
    this.#counts[event.event] = (this.#counts[event.event] ?? 0) + 1;
    this.#stream.write(`${JSON.stringify(event)}\n`);
  }

  async close(): Promise<void> {
    this.#stream.end();
    await once(this.#stream, "close");
  }
}

/** Reads a history file as a stream: a long one does not fit into memory. */
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

/** A canonical text of balances, such as "PLN 1230, USD 5" in minor units; zero balances are left out. */
export function balancesText(balances: Balances): string {
  const held = Object.entries(balances).filter(([, minor]) => minor !== 0);
  return (
    held
      .map(([currency, minor]) => `${currency} ${minor}`)
      .sort()
      .join(", ") || "nothing"
  );
}
