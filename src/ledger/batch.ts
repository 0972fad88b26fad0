import { setTimeout as pause } from "node:timers/promises";
import type { Holder } from "../core/account.ts";
import { FxError } from "../core/errors.ts";
import { Histogram, secondsBounds } from "../core/histogram.ts";
import type { Entry } from "../core/journal.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import { isFinal, requireSameRequest, requireSameToken } from "../core/refusal.ts";
import type { CommitFigures } from "../core/service.ts";
import { gather } from "./gather.ts";
import { type RefusalRetention, refusalRetention, replayOf } from "./refusal.ts";
import { sealEntry, sha256 } from "./seal.ts";
import type {
  Loaded,
  Refusal,
  RefusalLimits,
  SealedEntry,
  Store,
  StoredAccount,
  Touch,
  Writes,
} from "./store.ts";

/**
 * The result of one command: an answer and, if it changes anything, the entry and the holder, and the table if it was
 * settled at one.
 */
export interface Outcome<T> {
  readonly answer: T;
  readonly written?: {
    readonly entry: Entry;
    readonly holder: Holder;
    readonly table?: RateTable | undefined;
  };
}

/** What decides a command besides its account. */
interface Circumstances {
  /** The entry that an earlier request with the same key led to. */
  readonly earlier: Entry | undefined;
  /** The ledger's table in force: undefined until the first exchange. */
  readonly inForce: TableInForce | undefined;
  /** An entry that the command names, and the id of its reversal. */
  readonly entryOf: (id: string) => { entry: Entry; reversedBy: string | undefined } | undefined;
  /** The id of the entry to be written. Called once, and only if there is one. */
  readonly nextId: () => string;
}

/** Decides one command on the account as its predecessors leave it. Pure; refuses by throwing an FxError. */
export type Decide<T> = (account: StoredAccount | undefined, circumstances: Circumstances) => Outcome<T>;

/** What a command is about. */
export interface Request extends Touch {
  /** The name of the token that it came with. */
  readonly by?: string | undefined;
  /** What it asks for: the same text for requests that are the same. */
  readonly body: () => string;
}

export interface Command<T> {
  readonly request: Request;
  readonly decide: Decide<T>;
}

/** A command that waits for its commit. */
interface Pending extends Command<unknown> {
  readonly queuedAtMs: number;
  readonly settle: (verdict: Verdict) => void;
}

type Verdict = { readonly answer: unknown } | { readonly refusal: unknown };

/** Single commands in a commit at most. */
const batchLimit = 256;
/**
 * Commands of a bulk in a commit at most: the garbage collector copies what waits for one (docs/PERFORMANCE.md). While
 * there are single ones, few, so that these do not wait for long.
 */
const bulkLimit = { alone: 512, besideSingle: 64 };
const besideSingleMs = 1000;
/**
 * While there are single ones, each chunk of a bulk waits until the process has been idle for this share of the time, or
 * for so long.
 */
const idleBesideSingle = { share: 0.4, longestWaitMs: 50 };
/** A file's next lines take longer than a turn to be read, and a small commit costs each of its lines more. */
const bulkPatienceMs = 1;
const queueLimit = 16_384;
const dayMs = 86_400_000;
/** When the store does not answer, one batch waits for its deadline, and those queued behind it do not wait again. */
const longestWaitMs = 10_000;
/** Of the histogram of batches. */
const sizeBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** Commits, one at a time. */
interface Lane {
  readonly bulk: Pending[];
  running?: Promise<void> | undefined;
}

/**
 * Collects the commands that arrive while each turn of the event loop brings more, or a commit is under way, into the
 * next commit, single ones before those of a bulk. Each is decided on its own, and nobody is answered before the commit
 * is durable. Commands of a bulk are spread over as many lanes as the store has transactions at once, by account.
 */
export class Batcher {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #retention: RefusalRetention;
  readonly #longestWaitMs: number;
  readonly #bulkLimit: number;
  readonly #lanes: readonly Lane[];
  readonly #single: Pending[] = [];
  readonly #sizes = new Histogram(sizeBounds);
  readonly #seconds = new Histogram(secondsBounds);
  #lastSingleMs = Number.NEGATIVE_INFINITY;
  #utilization = performance.eventLoopUtilization();
  #idleDueMs = 0;

  constructor(
    store: Store,
    now: () => Date,
    options: {
      retention?: RefusalRetention | undefined;
      longestWaitMs?: number;
      bulkLimit?: number | undefined;
    } = {},
  ) {
    this.#store = store;
    this.#now = now;
    this.#retention = options.retention ?? refusalRetention;
    this.#longestWaitMs = options.longestWaitMs ?? longestWaitMs;
    this.#bulkLimit = options.bulkLimit ?? bulkLimit.alone;
    this.#lanes = Array.from({ length: store.transactionsAtOnce }, () => ({ bulk: [] }));
  }

  /**
   * A refusal that could turn out differently later is kept under the request's key, and is its answer from then on.
   * @throws FxError overloaded, storage-unavailable, idempotency-key-reused, and whatever `decide` throws
   */
  run<T>({ request, decide }: Command<T>): Promise<T> {
    if (this.#single.length >= queueLimit) {
      return Promise.reject(
        new FxError("overloaded", "Too many orders are waiting for the store. Try again in a moment.", {
          retryAfterSeconds: 1,
        }),
      );
    }
    return new Promise<T>((resolve, reject) => {
      const queuedAtMs = performance.now();
      this.#lastSingleMs = queuedAtMs;
      this.#single.push({
        request,
        decide,
        queuedAtMs,
        settle: (verdict) => {
          if ("refusal" in verdict) reject(verdict.refusal);
          else resolve(verdict.answer as T);
        },
      });
      this.#start(this.#lanes[0] as Lane);
    });
  }

  /**
   * Runs commands of a bulk, those of one account in their order, after the single ones that wait. Answers each in its
   * place, with what it came to or with its FxError. An FxError in place of a command is its own answer.
   */
  runAll<T>(commands: readonly (Command<T> | FxError)[]): Promise<(T | FxError)[]> {
    return new Promise((resolve) => {
      const queuedAtMs = performance.now();
      const answers = [...commands] as (T | FxError)[];
      let left = 1;
      const settled = () => {
        left -= 1;
        if (left === 0) resolve(answers);
      };
      for (const [index, command] of commands.entries()) {
        if (command instanceof FxError) continue;
        left += 1;
        const settle = (verdict: Verdict) => {
          answers[index] = "answer" in verdict ? (verdict.answer as T) : failureOf(verdict.refusal);
          settled();
        };
        const { request, decide } = command;
        // By its check digit.
        const lane = this.#lanes[request.pesel.charCodeAt(10) % this.#lanes.length] as Lane;
        lane.bulk.push({ request, decide, queuedAtMs, settle });
        this.#start(lane);
      }
      settled();
    });
  }

  /** Resolves when a bulk may bring more: at once or, beside single ones, when the process has been idle enough. */
  async admit(): Promise<void> {
    const now = performance.eventLoopUtilization();
    const { active, idle } = performance.eventLoopUtilization(now, this.#utilization);
    this.#utilization = now;
    const { share, longestWaitMs } = idleBesideSingle;
    this.#idleDueMs = Math.max(0, this.#idleDueMs + (active * share) / (1 - share) - idle);
    if (this.#isAlone()) this.#idleDueMs = 0;
    else await pause(Math.min(longestWaitMs, this.#idleDueMs));
  }

  /** Resolves when everything that was taken in has been answered. */
  async drained(): Promise<void> {
    await Promise.all(this.#lanes.map(({ running }) => running));
  }

  get figures(): CommitFigures {
    const waiting = this.#lanes.reduce((sum, { bulk }) => sum + bulk.length, this.#single.length);
    return { waiting, sizes: this.#sizes, seconds: this.#seconds };
  }

  #start(lane: Lane): void {
    lane.running ??= this.#drain(lane);
  }

  async #drain(lane: Lane): Promise<void> {
    // Single ones stay in one lane: in smaller batches each would cost more.
    const single = lane === this.#lanes[0] ? this.#single : [];
    const waiting = () => single.length + lane.bulk.length;
    while (waiting() > 0) {
      await gather(waiting, this.#limit(), () => (single.length === 0 ? bulkPatienceMs : 0));
      const batch = this.#inTime(this.#next(single, lane.bulk));
      try {
        const verdicts = await this.#commit(batch);
        for (const [index, { settle }] of batch.entries()) settle(verdicts[index] as Verdict);
      } catch (refusal) {
        for (const { settle } of batch) settle({ refusal });
      }
    }
    lane.running = undefined;
  }

  #isAlone(): boolean {
    return performance.now() - this.#lastSingleMs > besideSingleMs;
  }

  #limit(): number {
    return this.#isAlone() ? this.#bulkLimit : batchLimit;
  }

  /** Takes the commands of the next commit out of the queues. */
  #next(single: Pending[], bulk: Pending[]): Pending[] {
    const first = single.splice(0, batchLimit);
    return [...first, ...bulk.splice(0, this.#isAlone() ? this.#bulkLimit : bulkLimit.besideSingle)];
  }

  /** Refuses those that have waited too long, and returns the others. */
  #inTime(batch: readonly Pending[]): readonly Pending[] {
    const oldestMs = performance.now() - this.#longestWaitMs;
    return batch.filter(({ queuedAtMs, settle }) => {
      if (queuedAtMs >= oldestMs) return true;
      const message =
        "The store was not ready for the order in time: it was not begun, and nothing was changed.";
      settle({ refusal: new FxError("overloaded", message, { retryAfterSeconds: 1 }) });
      return false;
    });
  }

  async #commit(batch: readonly Pending[]): Promise<Verdict[]> {
    const startedMs = performance.now();
    try {
      return await this.#transact(batch);
    } finally {
      this.#sizes.observe(batch.length);
      this.#seconds.observe((performance.now() - startedMs) / 1000);
    }
  }

  #transact(batch: readonly Pending[]): Promise<Verdict[]> {
    return this.#store.transact(
      batch.map(({ request }) => request),
      (loaded) => {
        const time = this.#now();
        const { days, most } = this.#retention;
        const work = new Work(loaded, time, { since: new Date(time.getTime() - days * dayMs), most });
        const answer = batch.map((pending) => work.take(pending));
        return { writes: work.writes(), answer };
      },
    );
  }
}

/** The state of a batch while it is decided: what was loaded, overlaid by what was decided so far. */
class Work {
  readonly #loaded: Loaded;
  readonly #time: Date;
  readonly #limits: RefusalLimits;
  readonly #accounts = new Map<string, StoredAccount>();
  /** By PESEL and key. */
  readonly #answered = new Map<string, Entry | Refusal>();
  readonly #entries: SealedEntry[] = [];
  /** The ids of entries and of their reversals. */
  readonly #reversed = new Map<string, string>();
  readonly #refusals: Refusal[] = [];
  #inForce: TableInForce | undefined;
  /** The table that the ledger's first exchange puts in force. */
  #accepted: Writes["accepted"];

  constructor(loaded: Loaded, time: Date, limits: RefusalLimits) {
    this.#loaded = loaded;
    this.#time = time;
    this.#limits = limits;
    this.#inForce = loaded.inForce;
  }

  take(pending: Pending): Verdict {
    try {
      return { answer: this.#decide(pending) };
    } catch (refusal) {
      if (isFinal(refusal)) this.#keep(pending.request, refusal);
      return { refusal };
    }
  }

  #decide({ request, decide }: Pending): unknown {
    const { pesel, key, body } = request;
    const account = this.#accounts.get(pesel) ?? this.#loaded.account(pesel);
    // Joined once: V8 computes the hash of each new string again.
    const place = key === undefined ? undefined : pesel + key;
    const earlier = place === undefined ? undefined : this.#earlier(request, place);
    if (earlier !== undefined) requireSameToken(earlier, request.by);
    if (earlier?.kind === "refusal") {
      requireSameRequest(earlier.digest === sha256(body()));
      throw replayOf(earlier);
    }
    const circumstances = {
      earlier,
      inForce: this.#inForce,
      nextId: this.#loaded.nextId,
      entryOf: (id: string) => this.#entryOf(id),
    };
    const { answer, written } = decide(account, circumstances);
    if (written !== undefined) this.#append(written, account?.hash ?? "", place);
    return answer;
  }

  #earlier({ pesel, key = "" }: Touch, place: string): Entry | Refusal | undefined {
    const earlier = this.#answered.get(place) ?? this.#loaded.answered(pesel, key);
    return earlier?.kind === "refusal" && earlier.time < this.#limits.since ? undefined : earlier;
  }

  #entryOf(id: string) {
    const found = this.#loaded.entry(id);
    return found && { entry: found.entry, reversedBy: this.#reversed.get(id) ?? found.reversedBy };
  }

  #keep({ pesel, key, by, body }: Request, { code, message }: FxError): void {
    if (key === undefined) return;
    const digest = sha256(body());
    const refusal: Refusal = { kind: "refusal", pesel, key, by, digest, code, message, time: this.#time };
    this.#refusals.push(refusal);
    this.#answered.set(pesel + key, refusal);
  }

  writes(): Writes {
    return {
      accounts: [...this.#accounts.values()],
      entries: this.#entries,
      accepted: this.#accepted,
      refusals: this.#refusals.length === 0 ? undefined : { kept: this.#refusals, limits: this.#limits },
    };
  }

  #append(
    { entry, holder, table }: NonNullable<Outcome<unknown>["written"]>,
    previousHash: string,
    place: string | undefined,
  ): void {
    const sealed = sealEntry(entry, previousHash);
    const { pesel, sequence, time, balances } = entry;
    this.#entries.push(sealed);
    this.#accounts.set(pesel, {
      pesel,
      name: holder.name,
      surname: holder.surname,
      balances,
      sequence,
      hash: sealed.hash,
      time,
      closed: entry.kind === "closing",
    });
    if (entry.reverses !== undefined) this.#reversed.set(entry.reverses, entry.id);
    if (place !== undefined) this.#answered.set(place, entry);
    if (table !== undefined && this.#inForce === undefined) {
      this.#inForce = { epoch: 1, table };
      this.#accepted = { table, at: time, overriddenBy: undefined };
    }
  }
}

function failureOf(thrown: unknown): FxError {
  if (thrown instanceof FxError) return thrown;
  return new FxError("internal", "Something went wrong in fx itself.", { cause: thrown });
}
