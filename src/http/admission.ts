import type { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { FxError } from "../core/errors.ts";
import type { PageRequest } from "../core/service.ts";
import type { OperationId } from "../wire/operations.ts";
import { SingleFlight } from "./single-flight.ts";

/** Is called, and waited for, between the parts of what takes long. */
export type Between = () => Promise<unknown>;

/** Probes are always answered; what takes long is limited in other ways. */
const uncounted: readonly string[] = [
  "live",
  "ready",
  "metrics",
  "openApi",
  "bulk",
  "position",
  "audit",
  "checkpoint",
  "compareCheckpoint",
  "exportJournal",
] satisfies readonly OperationId[];

/** How long a request that is taken on may take, as far as that can be told. */
const targetMs = 400;
/** Requests that are taken on at once: always, and until it is known how fast they are answered. */
const usual = { least: 1024, first: 2048 };
const windowMs = 100;
/** Between two lines in the log. */
const tellMs = 10_000;
/** Who is refused waits for that, so that one who asks again at once takes no time from those that are taken on. */
const refusalMs = 250;

/** Whether requests for this operation are counted. */
export function isCounted(operation: string): boolean {
  return !uncounted.includes(operation);
}

/**
 * Takes on as many requests at once as will be answered soon. How many these are is known from how many were answered
 * while many waited. The others are refused before anything of them is read.
 */
export class Admission {
  /** Requests that were taken on since the start. */
  #taken = 0;
  #answered = 0;
  #atOnce: number;
  readonly #least: number;
  readonly #nowMs: () => number;
  readonly #window: { startMs: number; answered: number; fewest: number };
  #refused = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor({ least, first } = usual, nowMs = () => performance.now()) {
    this.#atOnce = first;
    this.#least = least;
    this.#nowMs = nowMs;
    this.#window = { startMs: nowMs(), answered: 0, fewest: 0 };
  }

  /** Whether the request is taken on; then `answered` is to be called when it is answered. */
  take(): boolean {
    const waiting = this.#taken - this.#answered;
    if (waiting >= this.#atOnce) return false;
    this.#taken += 1;
    return true;
  }

  answered(): void {
    this.#answered += 1;
    const window = this.#window;
    window.fewest = Math.min(window.fewest, this.#taken - this.#answered);
    const nowMs = this.#nowMs();
    const lasted = nowMs - window.startMs;
    if (lasted < windowMs) return;
    // With fewer, the requests and not the server say how many are answered.
    if (window.fewest >= this.#atOnce / 2) {
      const perMs = (this.#answered - window.answered) / lasted;
      this.#atOnce = Math.max(this.#least, Math.round(perMs * targetMs));
    }
    window.startMs = nowMs;
    window.answered = this.#answered;
    window.fewest = this.#taken - this.#answered;
  }

  /**
   * @param tell is called now and then with how many were refused since the last time
   * @throws FxError overloaded, after a while
   */
  async refuse(tell: (count: number) => void): Promise<never> {
    this.#refused += 1;
    const nowMs = this.#nowMs();
    if (nowMs - this.#toldMs >= tellMs) {
      tell(this.#refused);
      this.#refused = 0;
      this.#toldMs = nowMs;
    }
    await pause(refusalMs);
    throw overloaded("More requests are waiting than can be answered soon.");
  }
}

/** Expensive reads that wait, each for its turn. */
const mostWaiting = 64;
/** Parts that took less are one, because no timer is that short. */
const shortMs = 0.25;
/** Of those that wait for one read, in a turn of the event loop: to send an answer takes a tenth of a millisecond. */
const answersAtOnce = 4;

/**
 * Does expensive reads one at a time, in parts, and answers few at a time. After each part it rests for as long as that
 * took, so that other requests are served.
 */
export class ExpensiveReads {
  #rested = Promise.resolve();
  /** Each lets one go on whose answer has been read. */
  readonly #answers: (() => void)[] = [];
  #answered = Promise.resolve();
  readonly #turns = new SingleFlight({
    mostWaiting,
    busy: () => overloaded(`${mostWaiting} requests for what takes long to read are waiting.`),
    before: () => this.#rested.then(() => this.#answered),
  });

  /**
   * Gives what `work` does.
   * @param about the same for those for whom `work` gives the same
   * @param work is given what it is to wait for between its parts
   * @throws FxError overloaded
   */
  async read<T>(request: FastifyRequest, about: string, work: (rest: Between) => Promise<T>): Promise<T> {
    const inParts = async () => {
      let startedMs = performance.now();
      const took = () => performance.now() - startedMs;
      const restBetween = async () => {
        if (took() < shortMs) return nextTurn();
        await pause(took());
        startedMs = performance.now();
      };
      try {
        return await work(restBetween);
      } finally {
        this.#rested = pause(took());
      }
    };
    const read = await this.#turns.run(about, inParts, closingOf(request));
    await new Promise<void>((resolve) => {
      if (this.#answers.push(resolve) === 1) this.#answered = this.#answer();
    });
    return read;
  }

  async #answer(): Promise<void> {
    while (this.#answers.length > 0) {
      let startedMs = 0;
      setImmediate(() => {
        startedMs = performance.now();
        for (const goOn of this.#answers.slice(0, answersAtOnce)) goOn();
      });
      // The next of the immediates runs when they have sent their answers.
      await nextTurn();
      const tookMs = performance.now() - startedMs;
      this.#answers.splice(0, answersAtOnce);
      await pause(tookMs);
    }
  }
}

/** So many items are read at once: half a millisecond to a whole one, in which orders wait. */
export const shortPage = 100;

/**
 * The JSON of an object with a long list, made in parts. Each becomes bytes at once, outside the heap: what lives on
 * there would cost orders a garbage collection.
 */
export class LongJson {
  readonly #parts: Buffer[] = [];

  add(items: readonly object[]): void {
    if (items.length === 0) return;
    const text = JSON.stringify(items).slice(1, -1);
    this.#parts.push(Buffer.from(this.#parts.length === 0 ? text : `,${text}`));
  }

  /**
   * @param list the member that has the items
   * @param beside the other members: one or more
   */
  whole(list: string, beside: object): Buffer {
    const end = `],${JSON.stringify(beside).slice(1)}`;
    return Buffer.concat([Buffer.from(`{"${list}":[`), ...this.#parts, Buffer.from(end)]);
  }
}

/**
 * The JSON of a long page, read as short ones. Of what else a page has, the first has what counts.
 * @param list the member that has the items
 * @param between is called, and waited for, after each of them
 */
export async function readInParts<List extends string>(
  { limit, cursor }: PageRequest,
  list: List,
  read: (part: PageRequest) => Promise<Readonly<Record<List, readonly object[]>> & PageBeside>,
  between: Between,
): Promise<Buffer> {
  const json = new LongJson();
  let first: object | undefined;
  let next = cursor ?? null;
  let left = limit;
  do {
    const part = await read({ limit: Math.min(left, shortPage), cursor: next ?? undefined });
    const { [list]: items, ...beside } = part;
    json.add(items);
    first ??= beside;
    next = part.next;
    left -= shortPage;
    await between();
  } while (left > 0 && next !== null);
  return json.whole(list, { ...first, next });
}

/** What a page has beside its items. */
interface PageBeside {
  readonly next: string | null;
}

const closings = new WeakMap<Socket, AbortSignal>();

/** Aborted when the connection of the request is closed. */
export function closingOf({ raw: { socket } }: FastifyRequest): AbortSignal {
  const known = closings.get(socket);
  if (known !== undefined) return known;
  const closing = new AbortController();
  if (socket.destroyed) closing.abort();
  socket.once("close", () => closing.abort());
  closings.set(socket, closing.signal);
  return closing.signal;
}

function overloaded(what: string): FxError {
  return new FxError("overloaded", `${what} Nothing was begun. Try again in a moment.`, {
    retryAfterSeconds: 1,
  });
}
