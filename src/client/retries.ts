import { FxError, undecided } from "../core/errors.ts";

/** Why an attempt brought no answer. */
export interface Fault {
  readonly failure: Error;
  /** Whether the request may have been done. */
  readonly outcomeUnknown: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

/** The fault of an answer of fx that does not settle the request. */
export function faultOf(failure: FxError): Fault {
  const { code, retryAfterSeconds } = failure;
  return { failure, outcomeUnknown: undecided.includes(code), retryAfterSeconds };
}

/** The most failed attempts in a row, once the request may have been done. */
const attempts = 4;
/** The limits while the server is busy and has begun nothing: failed attempts, and the longest wait for all of them. */
const busy = { attempts: 20, longestWaitMs: 60_000 };
const busyCodes: readonly string[] = ["overloaded", "rate-limited"];

/**
 * Decides after each failed attempt at a request whether another is safe and worth the wait, and waits for it. All that
 * fx sends to a server is repeated by this one rule.
 */
export class Retries {
  readonly #method: "GET" | "POST";
  readonly #pauseMs: number;
  readonly #isPatient: boolean;
  #failures: Error[] = [];
  #waitedMs = 0;
  /** Whether a server was reached before. Only then is it worth waiting until one listens there again. */
  #isReached = false;
  #outcomeUnknown = false;

  /** @param isPatient whether a server that was reached is waited for as long as one that is busy */
  constructor(method: "GET" | "POST", pauseMs: number, isPatient: boolean) {
    this.#method = method;
    this.#pauseMs = pauseMs;
    this.#isPatient = isPatient;
  }

  /** Resets the count of failures. Call it when something was answered. */
  progress(): void {
    this.#failures = [];
    this.#waitedMs = 0;
    this.#isReached = true;
    this.#outcomeUnknown = false;
  }

  /**
   * @param repeatable whether a request that may have been done can be sent again without being done twice
   * @returns the failure of all attempts, if there is to be no other
   */
  async after(
    { failure, outcomeUnknown, retryAfterSeconds = 0 }: Fault,
    repeatable: boolean,
  ): Promise<Error | undefined> {
    this.#failures.push(failure);
    const wasReached = this.#isReached;
    const isAwaited = this.#isPatient && wasReached;
    const wasBusy = isBusy(failure) || isAwaited;
    this.#outcomeUnknown ||= outcomeUnknown && !isAwaited;
    this.#isReached ||= outcomeUnknown || wasBusy;
    const isWorthIt = this.#outcomeUnknown || wasBusy || (wasReached && codeOf(failure) === "unreachable");
    const most = wasBusy && !this.#outcomeUnknown ? busy.attempts : attempts;
    const pauses = 2 ** Math.min(this.#failures.length - 1, 5);
    const waitMs = 1000 * retryAfterSeconds + Math.random() * this.#pauseMs * pauses;
    this.#waitedMs += waitMs;
    const isOver = this.#failures.length >= most || this.#waitedMs > busy.longestWaitMs;
    if (!isWorthIt || isOver || (this.#outcomeUnknown && !repeatable)) {
      return this.#outcomeUnknown ? outcomeOf(this.#method, this.#failures) : failure;
    }
    await pause(waitMs);
    return undefined;
  }
}

/** Whether the server says that it has begun nothing, and could in a moment. */
export function isBusy(failure: Error): boolean {
  return failure instanceof FxError && busyCodes.includes(failure.code);
}

/** The failure of a request that no attempt has settled. */
function outcomeOf(method: "GET" | "POST", failures: readonly Error[]): Error {
  const [first, last] = [failures[0] as Error, failures.at(-1) as Error];
  if (method === "GET" || failures.every((failure) => codeOf(failure) === codeOf(first))) return last;
  return new FxError("outcome-unknown", `${first.message} Sent again: ${last.message}`);
}

/** The code of a failure; of one that is not of fx, its name. */
export function codeOf(failure: Error): string {
  return failure instanceof FxError ? failure.code : failure.name;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
