import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { type Account, parseOpening, planOpening } from "../../../core/account.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import { parseTerms } from "../../../core/exchange.ts";
import { parsePesel } from "../../../core/pesel.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { encodeAccount } from "../../../wire/codecs.ts";
import { parseOpeningBody, parseOrderBody } from "../../../wire/requests.ts";
import { describeFailure, type Exit, type Failure, RequestFailed } from "../../errors.ts";
import type { Batch, BatchLine } from "./file.ts";

/** The result of one line. `unstarted`: the batch was stopped before it was sent. */
export type LineResult =
  | {
      readonly line: number;
      readonly state: "done" | "replayed";
      readonly account: Account;
      /** As a document. */
      readonly answer: object;
    }
  | { readonly line: number; readonly state: "refused" | "failed"; readonly failure: Failure }
  | { readonly line: number; readonly state: "unstarted" };

export interface BatchRun {
  readonly service: ExchangeService;
  readonly batch: Batch;
  readonly today: CalendarDate;
  /** How many requests are under way at once at most. */
  readonly concurrency: number;
  readonly stopOnError: boolean;
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
  /** Ends the wait for more lines. */
  #tellStopped: () => void = () => {};
  /** The last line that may be started. */
  #through = Number.POSITIVE_INFINITY;

  constructor(run: BatchRun) {
    this.#run = run;
    this.#lanes = new Lanes(run.concurrency);
  }

  /** The lines' results, in the order of the lines. */
  results(): AsyncIterable<LineResult> {
    const lines = Readable.from(this.#lines());
    return lines.map((line: BatchLine) => this.#settle(line), { concurrency: windowSize });
  }

  /** Waits for the answers under way, and starts nothing more. */
  stop(): void {
    this.#through = 0;
    this.#tellStopped();
  }

  async *#lines(): AsyncGenerator<BatchLine> {
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
        yield line;
      }
    }
  }

  async #settle(line: BatchLine): Promise<LineResult> {
    try {
      if ("fault" in line) throw line.fault;
      const { account, carryOut } = this.#request(line.number, line.body);
      return await this.#lanes.run(account, async () => {
        if (line.number > this.#through) return { line: line.number, state: "unstarted" };
        try {
          return { line: line.number, ...(await this.#whenThereIsRoom(carryOut)) };
        } catch (error) {
          return this.#failed(line.number, error);
        }
      });
    } catch (error) {
      if (line.number > this.#through) return { line: line.number, state: "unstarted" };
      return this.#failed(line.number, error);
    }
  }

  #failed(line: number, error: unknown): LineResult {
    const failure = describeFailure(error);
    const isRefused = refusals.includes(failure.exit);
    if (!isRefused) this.stop();
    else if (this.#run.stopOnError) this.#through = Math.min(this.#through, line);
    const hint = failure.key === undefined ? failure.hint : "The same batch again finishes it.";
    return { line, state: isRefused ? "refused" : "failed", failure: { ...failure, hint } };
  }

  /** Checks in the same order as the server. */
  #request(number: number, body: unknown) {
    const { service, batch, today } = this.#run;
    const key = lineKey(batch.id, number, body);
    if (isOpening(body)) {
      const opening = parseOpening({ ...parseOpeningBody(body), key }, today);
      const carryOut = async () => {
        const { replayed } = await sent(key, () => service.createAccount(opening));
        return outcome(planOpening(undefined, opening), { key, replayed });
      };
      return { account: opening.pesel, carryOut };
    }
    const { pesel: text, ...fields } = parseOrderBody(body);
    const pesel = parsePesel(text, today);
    const order = { pesel, ...parseTerms(fields), key };
    const carryOut = async () => {
      const { account, receiptId, replayed } = await sent(key, () => service.exchange(order));
      return outcome(account, { receipt: receiptId, key, replayed });
    };
    return { account: pesel, carryOut };
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

/**
 * The key of a line: equal lines of one batch are two requests, and so are equal lines of two batches, while the same
 * line of the same batch is one, however often it is run.
 */
function lineKey(id: string, number: number, body: unknown): string {
  return `${id}:${number}:${createHash("sha256").update(JSON.stringify(body)).digest("hex").slice(0, 16)}`;
}

function isOpening(body: unknown): boolean {
  return (
    typeof body === "object" &&
    body !== null &&
    ["name", "surname", "pln", "initial"].some((name) => name in body)
  );
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
