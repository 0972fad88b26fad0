import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { type Account, planOpening } from "../../../core/account.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import type { Entry } from "../../../core/journal.ts";
import type { Pesel } from "../../../core/pesel.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { encodeAccount } from "../../../wire/codecs.ts";
import { describeFailure, type Exit, type Failure, RequestFailed } from "../../errors.ts";
import type { Batch } from "./file.ts";
import { type KeyedLine, LineKeys, type LineRequest } from "./keys.ts";
import type { BatchLine } from "./line.ts";

/** A line of the batch and what became of it. `unstarted`: the batch was stopped before it was sent. */
export type LineResult = KeyedLine &
  (
    | {
        readonly state: "done" | "replayed";
        readonly account: Account;
        /** As a document. */
        readonly answer: object;
      }
    | { readonly state: "refused" | "failed"; readonly failure: Failure }
    | { readonly state: "unstarted" }
  );

export interface BatchRun {
  readonly service: ExchangeService;
  readonly batch: Pick<Batch, "id" | "lines">;
  readonly today: CalendarDate;
  /** How many requests are under way at once at most. */
  readonly concurrency: number;
  readonly stopOnError?: boolean;
  /** Carries nothing out. Lines that were done before are `replayed`, the others refused. */
  readonly onlyFind?: boolean;
}

/** How many lines are held at once: read, and not all of those before them answered yet. */
const windowSize = 4096;
/** Refusals of one order, which say nothing about the lines after it. */
const refusals: readonly Exit[] = [3, 4, 5];
/** How often a line is tried when the server is overloaded. */
const busyAttempts = 100;

/**
 * Carries out a batch's lines, many at once, and those of one account one after the other. A refused line does not
 * stop the rest, unless asked to; a server or store that fails does.
 */
export class BatchRunner {
  readonly #run: BatchRun;
  readonly #lanes: Lanes;
  readonly #keys: LineKeys;
  /** Accounts that were looked up, and were there. */
  readonly #existing = new Set<Pesel>();
  /** Ends the wait for more lines. */
  #tellStopped: () => void = () => {};
  /** The last line that may be started. */
  #through = Number.POSITIVE_INFINITY;

  constructor(run: BatchRun) {
    this.#run = run;
    this.#lanes = new Lanes(run.concurrency);
    this.#keys = new LineKeys(run.batch.id, run.today);
  }

  /** The lines' results, in the order of the lines. */
  results(): AsyncIterable<LineResult> {
    const lines = Readable.from(this.#lines());
    return lines.map((line: KeyedLine) => this.#settle(line), { concurrency: windowSize });
  }

  /** Waits for the answers under way, and starts nothing more. */
  stop(): void {
    this.#through = 0;
    this.#tellStopped();
  }

  async *#lines(): AsyncGenerator<KeyedLine> {
    const chunks = this.#run.batch.lines[Symbol.asyncIterator]();
    for (;;) {
      // Standard input may have nothing more to say for a long time. A race with one promise for the whole batch
      // would keep every chunk until the end.
      const next = await new Promise<IteratorResult<readonly BatchLine[]> | undefined>((resolve, reject) => {
        this.#tellStopped = () => resolve(undefined);
        if (this.#through === 0) resolve(undefined);
        chunks.next().then(resolve, reject);
      });
      if (next === undefined || next.done) return;
      for (const line of next.value) {
        if (line.number > this.#through) return;
        yield this.#keys.of(line);
      }
    }
  }

  async #settle(line: KeyedLine): Promise<LineResult> {
    const { request } = line;
    if (request instanceof Error) return this.#isOver(line) ? unstarted(line) : this.#failed(line, request);
    return this.#lanes.run(request.pesel, async () => {
      if (this.#isOver(line)) return unstarted(line);
      try {
        return { ...line, ...(await this.#whenThereIsRoom(() => this.#carryOut(request))) };
      } catch (error) {
        return this.#failed(line, error);
      }
    });
  }

  #isOver({ number }: KeyedLine): boolean {
    return number > this.#through;
  }

  #failed(line: KeyedLine, error: unknown): LineResult {
    const failure = describeFailure(error);
    const isRefused = refusals.includes(failure.exit);
    if (!isRefused) this.stop();
    else if (this.#run.stopOnError) this.#through = Math.min(this.#through, line.number);
    const hint = failure.key === undefined ? failure.hint : "Run the same batch again to finish it.";
    return { ...line, state: isRefused ? "refused" : "failed", failure: { ...failure, hint } };
  }

  async #carryOut(request: LineRequest) {
    const { service, onlyFind } = this.#run;
    const { key } = request;
    if (onlyFind) await this.#requireAccountOf(request);
    if ("initial" in request) {
      const { replayed } = await sent(key, () => service.createAccount(request));
      return outcome(planOpening(undefined, request), { key, replayed });
    }
    // A table that is never in force: an order that was done is answered, and no other is carried out or remembered.
    const order = onlyFind ? { ...request, table: "none" } : request;
    const { account, receiptId, replayed } = await sent(key, () => service.exchange(order));
    return outcome(account, { receipt: receiptId, key, replayed });
  }

  /** Sent without its account, or for one that another opened, a line would be refused, and its key keep that answer. */
  async #requireAccountOf(request: LineRequest): Promise<void> {
    const { service } = this.#run;
    const { pesel, key } = request;
    if ("initial" in request) {
      if ((await findEntry(service, pesel, key)) !== undefined) return;
      throw new FxError("account-exists", "Another request opened the account.");
    }
    if (this.#existing.has(pesel)) return;
    await service.account(pesel);
    this.#existing.add(pesel);
  }

  async #whenThereIsRoom<T>(carryOut: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await carryOut();
      } catch (error) {
        const cause = error instanceof RequestFailed ? error.cause : error;
        const isBusy = cause instanceof FxError && ["overloaded", "rate-limited"].includes(cause.code);
        if (!isBusy || this.#through === 0 || attempt === busyAttempts) throw error;
        await pause(1000 * (cause.retryAfterSeconds ?? 1) * (0.5 + Math.random()));
      }
    }
  }
}

/** Runs tasks, so many at once at most, and those of one account in the order in which they came. */
class Lanes {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(width: number) {
    this.#free = width;
  }

  /** @param task that never fails */
  async run<T>(account: string, task: () => Promise<T>): Promise<T> {
    const mine = this.#after(this.#last.get(account), task);
    this.#last.set(account, mine);
    const result = await mine;
    if (this.#last.get(account) === mine) this.#last.delete(account);
    return result;
  }

  async #after<T>(before: Promise<unknown> | undefined, task: () => Promise<T>): Promise<T> {
    await before;
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const result = await task();
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
    return result;
  }
}

/** The account's entry that was made under a key. */
export async function findEntry(
  service: ExchangeService,
  pesel: Pesel,
  key: string,
): Promise<Entry | undefined> {
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await service.statement(pesel, { limit: 1000, cursor });
    const entry = items.find((one) => one.key === key);
    if (entry !== undefined || next === undefined) return entry;
    cursor = next;
  }
}

function unstarted(line: KeyedLine): LineResult {
  return { ...line, state: "unstarted" };
}

async function sent<T>(key: string, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw new RequestFailed(key, error);
  }
}

function outcome(account: Account, facts: { readonly receipt?: string; key: string; replayed: boolean }) {
  const state = facts.replayed ? ("replayed" as const) : ("done" as const);
  return { state, account, answer: { ...encodeAccount(account), ...facts } };
}
