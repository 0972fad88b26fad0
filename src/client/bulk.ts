import { once } from "node:events";
import type { Request as GotStream, PlainResponse, RequestError } from "got";
import type { BulkRequest } from "../core/change.ts";
import { type ErrorCode, FxError, undecided } from "../core/errors.ts";
import type { BulkAnswer, BulkLine } from "../core/service.ts";
import { bulkType, decodeBulkAnswer, encodeBulkLine } from "../wire/bulk.ts";
import { notAnAnswer } from "../wire/codecs.ts";
import { readLines } from "../wire/lines.ts";
import { decodeProblem } from "../wire/problem.ts";
import { Lanes } from "./lanes.ts";
import { type Answer, answerOf, outcomeOf, type Transport, textOf, whatAnswered } from "./transport.ts";

/** A line that was taken in. */
interface Entry {
  readonly line: BulkLine;
  /** As it is sent. */
  readonly text: string;
  answer: BulkAnswer | undefined;
  /** Whether it was sent, and may have been done without an answer. */
  isOpen: boolean;
}

/** How an attempt failed. `isBusy`: the server is there, and begins nothing at the moment. */
interface Fault {
  readonly failure: Error;
  readonly isOpen: boolean;
  readonly isBusy?: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

/** Lines taken in and not answered, or answered and not read, at most. */
const windowSize = 16_384;
/** Attempts in a row that bring no answer. */
const attempts = 6;
/** The same, where the server answers that it is busy. */
const busyAttempts = 100;
/** In bytes: more than any answer to a line has. */
const longestLine = 16_384;
const longestWaitMs = 60_000;
/** Requests under way at once, where lines are sent one by one. */
const singlesAtOnce = 64;
const busyCodes: readonly ErrorCode[] = ["overloaded", "rate-limited"];

/**
 * One bulk at a server, over one stream as long as nothing happens to it. Lines without an answer are sent again with
 * their keys. A server that knows no bulk gets a request for each line, from `single`.
 */
export class Bulk {
  readonly #transport: Transport;
  readonly #lines: AsyncIterator<readonly BulkLine[]>;
  readonly #single: (line: BulkRequest) => Promise<BulkAnswer>;
  /** In their order, from the first whose answer was not read. */
  readonly #entries: Entry[] = [];
  /** How many of them were looked at to be sent over this connection. */
  #sent = 0;
  #answered = 0;
  #hasEnded = false;
  #request: GotStream | undefined;
  #taking: Promise<void> | undefined;
  #change: { readonly happened: Promise<void>; readonly tell: () => void } | undefined;

  constructor(
    transport: Transport,
    lines: AsyncIterable<readonly BulkLine[]>,
    single: (line: BulkRequest) => Promise<BulkAnswer>,
  ) {
    this.#transport = transport;
    this.#lines = lines[Symbol.asyncIterator]();
    this.#single = single;
  }

  async *answers(): AsyncGenerator<readonly BulkAnswer[]> {
    let fault: { readonly error: unknown } | undefined;
    this.#work().catch((error: unknown) => {
      fault = { error };
      this.#tellChange();
    });
    try {
      for (;;) {
        const answers = this.#read();
        if (answers.length > 0) yield answers;
        else if (fault !== undefined) throw fault.error;
        else if (this.#hasEnded && this.#entries.length === 0) return;
        else await this.#changed();
      }
    } finally {
      this.#request?.destroy();
      await this.#lines.return?.();
    }
  }

  /** Takes the answers out for which all before them are there. */
  #read(): readonly BulkAnswer[] {
    let count = 0;
    while (this.#entries[count]?.answer !== undefined) count += 1;
    if (count === 0) return [];
    this.#sent = Math.max(0, this.#sent - count);
    const read = this.#entries.splice(0, count);
    this.#tellChange();
    return read.map(({ answer }) => answer as BulkAnswer);
  }

  async #work(): Promise<void> {
    let failures: Error[] = [];
    let isReached = false;
    while (await this.#hasUnanswered()) {
      const answered = this.#answered;
      const fault = await this.#connect();
      if (fault === "unknown path") return this.#sendSingly();
      if (this.#answered > answered) failures = [];
      const left = this.#unanswered();
      if (fault === undefined || left.length === 0) continue;
      failures.push(fault.failure);
      const open = left.filter(({ isOpen }) => isOpen);
      isReached ||= this.#answered > 0 || fault.isBusy === true || open.length > 0;
      // A server may start listening in a moment, which is worth the wait once something was begun.
      const isPassing = fault.isOpen || fault.isBusy === true || codeOf(fault.failure) === "unreachable";
      // Who has lines that may have been done is told soon.
      const most = fault.isBusy && open.length === 0 ? busyAttempts : attempts;
      const isSafe = open.every(({ line }) => "key" in line && line.key !== undefined);
      if (!isReached || !isPassing || !isSafe || failures.length >= most) return this.#fail(failures);
      await this.#transport.pause(Math.min(failures.length, attempts), fault.retryAfterSeconds);
    }
  }

  #unanswered(): Entry[] {
    return this.#entries.filter(({ answer }) => answer === undefined);
  }

  /** Waits for a line that is to be sent. */
  async #hasUnanswered(): Promise<boolean> {
    for (;;) {
      if (this.#unanswered().length > 0) return true;
      if (this.#hasEnded) return false;
      await this.#take();
    }
  }

  /** Takes in the next lines, or waits for them. Their source is asked once, whatever becomes of a connection. */
  #take(): Promise<void> {
    this.#taking ??= this.#takeNext().finally(() => {
      this.#taking = undefined;
      this.#tellChange();
    });
    return this.#taking;
  }

  async #takeNext(): Promise<void> {
    while (this.#entries.length >= windowSize) await this.#changed();
    const { value, done } = await this.#lines.next();
    if (done) this.#hasEnded = true;
    else for (const line of value) this.#entries.push(entryOf(line));
  }

  /** The lines that were taken in since it was last asked, or since `#sent` was reset, and are not answered. */
  #unsent(): Entry[] {
    const entries = this.#entries.slice(this.#sent).filter(({ answer }) => answer === undefined);
    this.#sent = this.#entries.length;
    return entries;
  }

  /** Sends lines over a new connection, and takes their answers. */
  async #connect(): Promise<Fault | "unknown path" | undefined> {
    /** And not answered, in their order. */
    const sent: Entry[] = [];
    this.#sent = 0;
    const request = await this.#transport.stream({
      method: "POST",
      path: "/api/bulk",
      headers: { "content-type": bulkType },
    });
    this.#request = request;
    // What fails is told to whoever reads the answers.
    request.on("error", () => {});
    this.#write(request, sent).catch((error: Error) => request.destroy(error));
    try {
      const [response] = (await once(request, "response")) as [PlainResponse];
      if (response.statusCode !== 200) {
        const refused = this.#refused(answerOf(response, await textOf(request)));
        if (refused !== "unknown path" && refused.isOpen) markOpen(sent);
        return refused;
      }
      let answered = 0;
      let heard = performance.now();
      for await (const lines of readLines(request, { longest: longestLine })) {
        if (lines.length > 0) heard = performance.now();
        // A part of a line that never ends would be waited for as long as bytes come.
        else if (performance.now() - heard > longestWaitMs) throw notAnAnswer("a line that does not end");
        for (const [index, { bytes }] of lines.entries()) {
          const { line, answer } = decodeBulkAnswer(JSON.parse(bytes.toString()));
          if (line === null) return { failure: requireError(answer), isOpen: false, isBusy: true };
          const entry = sent[index];
          answered += 1;
          this.#answered += 1;
          if (line !== answered || entry === undefined) throw notAnAnswer(`line ${line}`);
          // What this bulk had done over a connection that broke was not done before it.
          entry.answer = entry.isOpen && "receiptId" in answer ? { ...answer, replayed: false } : answer;
        }
        sent.splice(0, lines.length);
        this.#tellChange();
      }
      if (sent.length === 0 && answered > 0) return undefined;
      markOpen(sent);
      return { failure: this.#unknown("and no answer came (connection lost)"), isOpen: true };
    } catch (error) {
      const fault = this.#faultOf(error);
      if (fault.isOpen) markOpen(sent);
      return fault;
    } finally {
      request.destroy();
    }
  }

  /** Takes lines in and sends them, as fast as the connection takes them. */
  async #write(request: GotStream, sent: Entry[]): Promise<void> {
    while (!request.destroyed) {
      const entries = this.#unsent();
      if (entries.length > 0) {
        for (const entry of entries) sent.push(entry);
        if (!request.write(entries.map(({ text }) => text).join(""))) await once(request, "drain");
      } else if (this.#hasEnded) return void request.end();
      else await this.#take();
    }
  }

  /** What an answer to the whole bulk means. */
  #refused(answer: Answer): Fault | "unknown path" {
    const { status, body, retryAfterSeconds } = answer;
    const problem = decodeProblem(body, status, { retryAfterSeconds });
    if (problem === undefined) return this.#transport.notFx("POST", whatAnswered(answer, false));
    if (problem.code === "not-found" || problem.code === "method-not-allowed") return "unknown path";
    const isBusy = busyCodes.includes(problem.code);
    return { failure: problem, isOpen: undecided.includes(problem.code), isBusy, retryAfterSeconds };
  }

  #faultOf(error: unknown): Fault {
    if (error instanceof FxError || error instanceof SyntaxError) {
      return { failure: this.#unknown("and what answered is not fx"), isOpen: true };
    }
    return this.#transport.failureOf("POST", error as RequestError);
  }

  /** Answers the lines that have no answer, and all that come, with the failure. */
  async #fail(failures: readonly Error[]): Promise<void> {
    const last = failures.at(-1) as Error;
    const outcome = outcomeOf("POST", failures);
    const open = [...undecided, "outcome-unknown"].includes(codeOf(outcome))
      ? (outcome as FxError)
      : this.#unknown(`and no answer came. Sent again: ${last.message}`);
    const unsent = [...undecided, "outcome-unknown"].includes(codeOf(last))
      ? new FxError("unreachable", `It was not sent: the connection to ${this.#transport.place} was lost.`)
      : (last as FxError);
    for (;;) {
      for (const entry of this.#unanswered()) entry.answer = entry.isOpen ? open : unsent;
      this.#tellChange();
      if (this.#hasEnded) return;
      await this.#take();
    }
  }

  #unknown(why: string): FxError {
    return new FxError("outcome-unknown", `The request was sent to ${this.#transport.place}, ${why}.`);
  }

  /** Sends a request for each line: those of one account one after the other, because the server decides them as they come. */
  async #sendSingly(): Promise<void> {
    const lanes = new Lanes(singlesAtOnce);
    this.#sent = 0;
    for (;;) {
      for (const entry of this.#unsent()) {
        const line = entry.line as BulkRequest;
        void lanes.run(line.pesel, async () => {
          entry.answer = await this.#settle(line);
          this.#tellChange();
        });
      }
      if (this.#hasEnded) return;
      await this.#take();
    }
  }

  async #settle(line: BulkRequest): Promise<BulkAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#single(line);
      } catch (error) {
        if (!(error instanceof FxError)) return new FxError("internal", String(error), { cause: error });
        if (!busyCodes.includes(error.code) || attempt === busyAttempts) return error;
        await this.#transport.pause(1, error.retryAfterSeconds ?? 1);
      }
    }
  }

  /** Resolves at the next change of what was taken in, sent or answered. */
  #changed(): Promise<void> {
    if (this.#change === undefined) {
      let tell = () => {};
      const happened = new Promise<void>((resolve) => {
        tell = resolve;
      });
      this.#change = { happened, tell };
    }
    return this.#change.happened;
  }

  #tellChange(): void {
    this.#change?.tell();
    this.#change = undefined;
  }
}

/** A line that cannot be sent is its own answer. */
function entryOf(line: BulkLine): Entry {
  if (line instanceof FxError) return { line, text: "", answer: line, isOpen: false };
  try {
    return { line, text: `${encodeBulkLine(line)}\n`, answer: undefined, isOpen: false };
  } catch (error) {
    if (error instanceof FxError) return { line, text: "", answer: error, isOpen: false };
    throw error;
  }
}

/** Those without an answer may have been done. */
function markOpen(sent: readonly Entry[]): void {
  for (const entry of sent) entry.isOpen ||= entry.answer === undefined;
}

function codeOf(failure: Error): string {
  return failure instanceof FxError ? failure.code : failure.name;
}

function requireError(answer: BulkAnswer): FxError {
  if (answer instanceof FxError) return answer;
  throw notAnAnswer("an answer to no line");
}
