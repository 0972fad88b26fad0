import { on } from "node:events";
import type { Worker } from "node:worker_threads";
import { FxError } from "../core/errors.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../core/service.ts";
import { answersOf, linesText } from "./bulk-message.ts";
import type { Settings } from "./config.ts";
import { startThread } from "./thread.ts";

/** What the thread opens: a service of its own over the same ledger. */
export interface BulkTask {
  readonly settings: Settings;
  /** As in `Needs`. */
  readonly rates: boolean;
}

/** Lines as `linesText` gives them, or that there are no more. */
export type BulkWish = { readonly lines: string } | "end";

/** Answers to the lines in their order, as `answersText` gives them. */
export type BulkReport = "ready" | { readonly answers: string } | "ended";

/** A shorter bulk is over before a thread would have begun. */
const linesWithout = 4096;
/** Sent and not answered at most. */
const windowSize = 16_384;

/**
 * A service's bulk, of which all but the beginning is carried out in a thread, so that whoever gives the lines and takes
 * the answers has this one. The thread takes over when it is ready, and what was begun here is answered; if it cannot
 * open the ledger, this one goes on.
 */
export class ThreadedBulk implements Pick<ExchangeService, "bulk" | "close"> {
  readonly #service: Pick<ExchangeService, "bulk">;
  readonly #task: BulkTask;
  readonly #linesWithout: number;
  #thread: Worker | undefined;
  #ended: Promise<void> | undefined;
  #state: ThreadedBulk["thread"] = "none";

  constructor(
    service: Pick<ExchangeService, "bulk">,
    task: BulkTask,
    options: { readonly linesWithout?: number } = {},
  ) {
    this.#service = service;
    this.#task = task;
    this.#linesWithout = options.linesWithout ?? linesWithout;
  }

  /** What there is of the thread. */
  get thread(): "none" | "starting" | "ready" | "ended" {
    return this.#state;
  }

  async *bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncGenerator<readonly BulkAnswer[]> {
    const source = new Source(lines);
    try {
      while (!source.hasEnded) {
        yield* this.#service.bulk(this.#beginning(source));
        if (this.#state === "ready") yield* new Lane(this.#thread as Worker, source).answers();
      }
    } finally {
      await source.close();
    }
  }

  /** The lines that come before the thread is ready. */
  async *#beginning(source: Source): AsyncGenerator<readonly BulkLine[]> {
    for (let taken = 0; this.#state !== "ready"; ) {
      const lines = await source.next();
      if (lines === undefined) return;
      taken += lines.length;
      if (taken > this.#linesWithout && this.#state === "none") this.#start();
      yield lines;
    }
  }

  #start(): void {
    const thread = startThread("bulk-worker", this.#task satisfies BulkTask);
    this.#thread = thread;
    this.#state = "starting";
    thread.on("message", (report: BulkReport) => {
      if (report === "ready") this.#state = "ready";
    });
    this.#ended = new Promise<void>((resolve) => {
      thread.once("exit", () => {
        this.#state = "ended";
        resolve();
      });
    });
    // Whoever waits for an answer hears of it. Until the thread is ready, nobody does.
    thread.on("error", () => {});
  }

  /** Resolves when the thread has done what it was given, and closed the ledger. */
  async close(): Promise<void> {
    this.#thread?.postMessage("end" satisfies BulkWish);
    await this.#ended;
  }
}

/** Lines that are read in turn by one after the other. */
class Source {
  readonly #lines: AsyncIterator<readonly BulkLine[]>;
  hasEnded = false;

  constructor(lines: AsyncIterable<readonly BulkLine[]>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async next(): Promise<readonly BulkLine[] | undefined> {
    const { value, done } = await this.#lines.next();
    if (done) this.hasEnded = true;
    return done ? undefined : value;
  }

  async close(): Promise<void> {
    await this.#lines.return?.();
  }
}

/** What a thread is given, and its answers. */
class Lane {
  readonly #thread: Worker;
  readonly #source: Source;
  /** And not answered, in their order. */
  readonly #sent: BulkLine[] = [];
  #isSending = true;
  #fault: { readonly error: unknown } | undefined;
  #tellChange: () => void = () => {};

  constructor(thread: Worker, source: Source) {
    this.#thread = thread;
    this.#source = source;
  }

  async *answers(): AsyncGenerator<readonly BulkAnswer[]> {
    const reports = on(this.#thread, "message", { close: ["exit"] }) as AsyncIterable<[BulkReport]>;
    void this.#send();
    try {
      for await (const [report] of reports) {
        if (report === "ended") break;
        if (report !== "ready") yield this.#read(report.answers);
      }
    } catch (cause) {
      yield* this.#fail(cause);
    }
    // Of a thread that ended early, too.
    yield* this.#fail(undefined);
    if (this.#fault !== undefined) throw this.#fault.error;
  }

  async #send(): Promise<void> {
    try {
      for (;;) {
        while (this.#sent.length >= windowSize) await this.#change();
        const lines = await this.#source.next();
        if (lines === undefined) break;
        if (lines.length === 0) continue;
        for (const line of lines) this.#sent.push(line);
        this.#thread.postMessage({ lines: linesText(lines) } satisfies BulkWish);
        this.#tellChange();
      }
    } catch (error) {
      this.#fault = { error };
    }
    this.#isSending = false;
    this.#thread.postMessage("end" satisfies BulkWish);
    this.#tellChange();
  }

  #read(text: string): BulkAnswer[] {
    const answers = answersOf(text, (index) => this.#sent[index] as FxError);
    this.#sent.splice(0, answers.length);
    this.#tellChange();
    return answers;
  }

  /** Answers what the thread did not, and what still comes. */
  async *#fail(cause: unknown): AsyncGenerator<readonly BulkAnswer[]> {
    const failure = new FxError("internal", "Something went wrong in fx itself.", { cause });
    for (;;) {
      const lines = this.#sent.splice(0);
      this.#tellChange();
      if (lines.length > 0) yield lines.map((line) => (line instanceof FxError ? line : failure));
      else if (!this.#isSending) return;
      else await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#tellChange = resolve;
    });
  }
}
