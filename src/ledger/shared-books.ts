import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import type { ExportRequest } from "../core/export.ts";
import type { AuditProgress, AuditReport, Position } from "../core/service.ts";
import type { Books } from "./books.ts";

const exportsAtOnce = 4;
/** Audits and positions that wait, each for its turn. */
const mostWaiting = 16;
/** Between two that begin: a thread takes some 65 ms of processor time before it reads, also for a client that leaves. */
const apartMs = 300;

/**
 * Books for many who ask at once: at most one audit and one position at a time. Those who ask for the same while one is
 * under way share the next. One that nobody waits for any more is ended. At most four exports. All begin some time apart.
 */
export function sharedBooks(books: Books): Books {
  const apart = startsApart();
  const audits = new Turn(apart);
  const sharedAudits = new Shared<AuditReport>(audits);
  const sharedPositions = new Shared<Position>(new Turn(apart));
  const listeners = new Set<(done: AuditProgress) => void>();
  const onProgress = (done: AuditProgress) => {
    for (const listener of listeners) listener(done);
  };
  let exporting = 0;
  return {
    async audit(options = {}) {
      const { onProgress: listener = () => {}, onHeads, against, signal } = options;
      // Whose checkpoint it is does not share it.
      if (onHeads !== undefined || against !== undefined)
        return audits.take(() => books.audit(options), signal);
      listeners.add(listener);
      return sharedAudits
        .ask("", (signal) => books.audit({ onProgress, signal }), signal)
        .finally(() => listeners.delete(listener));
    },
    position: (at, signal) =>
      sharedPositions.ask(`${at?.getTime()}`, (signal) => books.position(at, signal), signal),
    async *export(request: ExportRequest) {
      if (exporting >= exportsAtOnce) throw busy(`${exportsAtOnce} exports are under way`);
      exporting += 1;
      try {
        await apart();
        yield* books.export(request);
      } finally {
        exporting -= 1;
      }
    },
    close: () => books.close(),
  };
}

/** Does one work after another. */
class Turn {
  readonly #apart: () => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(apart: () => Promise<void>) {
    this.#apart = apart;
  }

  /** @throws FxError overloaded, at once */
  take<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (this.#waiting >= mostWaiting) throw busy(`${mostWaiting} audits or positions wait for their turn`);
    this.#waiting += 1;
    const done = this.#last.then(async () => {
      this.#waiting -= 1;
      if (signal?.aborted) throw abandoned();
      await this.#apart();
      if (signal?.aborted) throw abandoned();
      return work();
    });
    this.#last = done.catch(() => {});
    return done;
  }
}

/** Resolves for one after the other, with some time between. */
function startsApart(): () => Promise<void> {
  let nextMs = 0;
  return async () => {
    const waitMs = nextMs - performance.now();
    nextMs = Math.max(nextMs, performance.now()) + apartMs;
    if (waitMs > 0) await pause(waitMs);
  };
}

interface Asked<T> {
  readonly result: Promise<T>;
  /** How many wait for it. */
  count: number;
  /** Called when nobody does any more. */
  readonly end: () => void;
}

/** Does work once for all who ask for the same before it starts. */
class Shared<T> {
  readonly #turn: Turn;
  readonly #next = new Map<string, Asked<T>>();

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  async ask(
    about: string,
    work: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const asked = this.#next.get(about) ?? this.#begin(about, work);
    asked.count += 1;
    return new Promise<T>((resolve, reject) => {
      const leave = () => {
        asked.count -= 1;
        if (asked.count === 0) asked.end();
        reject(abandoned());
      };
      signal?.addEventListener("abort", leave, { once: true });
      asked.result.then(resolve, reject).finally(() => signal?.removeEventListener("abort", leave));
    });
  }

  #begin(about: string, work: (signal: AbortSignal) => Promise<T>): Asked<T> {
    const ending = new AbortController();
    const isNext = () => this.#next.get(about) === asked && this.#next.delete(about);
    const start = () => {
      isNext();
      return work(ending.signal);
    };
    const end = () => {
      isNext();
      ending.abort();
    };
    const asked: Asked<T> = { result: this.#turn.take(start, ending.signal), end, count: 0 };
    this.#next.set(about, asked);
    return asked;
  }
}

/** Of who has gone; nobody is told. */
export function abandoned(): FxError {
  return new FxError("unreachable", "Nobody waits for it any more.");
}

function busy(why: string): FxError {
  return new FxError("overloaded", `${why}, and no more are made at once.`, { retryAfterSeconds: 5 });
}
