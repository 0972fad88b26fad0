import { EventEmitter, once } from "node:events";
import type { Request as GotStream, RequestError } from "got";
import type { Request } from "../core/change.ts";
import { FxError, isOfRequest, undecided } from "../core/errors.ts";
import type { BulkAnswer } from "../core/service.ts";
import { notAnAnswer } from "../wire/answers.ts";
import { bulkType, decodeBulkAnswer, encodeBulkLine } from "../wire/bulk.ts";
import { readLines } from "../wire/lines.ts";
import { RunStart } from "../wire/run-start.ts";
import { answerOf, headOf, textOf, whatAnswered } from "./answer.ts";
import { problemOf } from "./failures.ts";
import { codeOf, type Fault, faultOf } from "./retries.ts";
import type { Transport } from "./transport.ts";

/** A request, or the error of a line that cannot be read, which is its answer. */
type BulkInput = Request | FxError;

/** A line that was taken in. */
interface QueuedLine {
  readonly line: BulkInput;
  /** As it is sent. */
  readonly text: string;
  answer: BulkAnswer | undefined;
  /** Whether it was sent, and may have been done without an answer. */
  outcomeUnknown: boolean;
}

/** Lines taken in and not answered, or answered and not read, at most. */
const windowSize = 16_384;
/** In bytes: more than any answer to a line has. */
const longestLine = 16_384;
const longestWaitMs = 60_000;

/**
 * One batch at a server, over one stream as long as nothing happens to it. Lines without an answer are sent again with
 * their keys. A dry run is only begun again while nothing of it was answered: its answers rest on the lines before.
 */
export class Bulk {
  readonly #transport: Transport;
  readonly #lines: AsyncIterator<readonly BulkInput[]>;
  readonly #isDry: boolean;
  readonly #start = new RunStart();
  /** In their order, from the first whose answer was not read. */
  readonly #entries: QueuedLine[] = [];
  /** How many of them were considered for this connection. */
  #sent = 0;
  #answered = 0;
  #hasEnded = false;
  /** Whether nobody reads the answers any more. Nothing is sent then. */
  #isOver = false;
  /** The error of the source of the lines. Lines before it are still sent and answered. */
  #sourceFault: { readonly error: unknown } | undefined;
  #request: GotStream | undefined;
  #taking: Promise<void> | undefined;
  /** Emits "change" when lines were taken in, sent or answered. */
  readonly #events = new EventEmitter();

  constructor(
    transport: Transport,
    lines: AsyncIterable<readonly BulkInput[]>,
    { dryRun }: { readonly dryRun: boolean },
  ) {
    this.#transport = transport;
    this.#lines = lines[Symbol.asyncIterator]();
    this.#isDry = dryRun;
  }

  async *answers(): AsyncGenerator<readonly BulkAnswer[]> {
    let fault: { readonly error: unknown } | undefined;
    this.#work().catch((error: unknown) => {
      fault = { error };
      this.#events.emit("change");
    });
    try {
      for (;;) {
        const answers = this.#read();
        if (answers.length > 0) yield answers;
        else if (fault !== undefined) throw fault.error;
        else if (this.#hasEnded && this.#entries.length === 0) break;
        else await once(this.#events, "change");
      }
      if (this.#sourceFault !== undefined) throw this.#sourceFault.error;
    } finally {
      this.#isOver = true;
      this.#request?.destroy();
      // Not awaited: the source may be waiting for its next line.
      this.#lines.return?.()?.catch(() => {});
    }
  }

  /** Takes the answers out for which all before them are there. */
  #read(): readonly BulkAnswer[] {
    let count = 0;
    while (this.#entries[count]?.answer !== undefined) count += 1;
    if (count === 0) return [];
    this.#sent = Math.max(0, this.#sent - count);
    const read = this.#entries.splice(0, count);
    this.#events.emit("change");
    return read.map(({ answer }) => answer as BulkAnswer);
  }

  async #work(): Promise<void> {
    const retries = this.#transport.retries(this.#method);
    while (await this.#hasUnanswered()) {
      const answered = this.#answered;
      const fault = await this.#connect();
      if (this.#isOver) return;
      if (this.#answered > answered) retries.progress();
      const left = this.#unanswered();
      if (fault === undefined || (left.length === 0 && !this.#isDry)) continue;
      if (this.#isDry && this.#answered > 0) return this.#fail(fault.failure, fault.failure);
      const open = left.filter(({ outcomeUnknown }) => outcomeUnknown);
      const isSafe = open.every(({ line }) => "key" in line && line.key !== undefined);
      const outcomeUnknown = this.#isDry ? fault.outcomeUnknown : open.length > 0;
      const failure = await retries.after({ ...fault, outcomeUnknown }, isSafe);
      if (failure !== undefined) return this.#fail(failure, fault.failure);
    }
  }

  /** A dry run does nothing, so its outcome is never unknown. */
  get #method(): "GET" | "POST" {
    return this.#isDry ? "GET" : "POST";
  }

  #unanswered(): QueuedLine[] {
    return this.#entries.filter(({ answer }) => answer === undefined);
  }

  /** Waits for a line that is to be sent. */
  async #hasUnanswered(): Promise<boolean> {
    while (!this.#isOver) {
      if (this.#unanswered().length > 0) return true;
      if (this.#hasEnded) return false;
      await this.#take();
    }
    return false;
  }

  /** Takes in the next lines, or waits for them. Their source is asked once, whatever becomes of a connection. */
  #take(): Promise<void> {
    this.#taking ??= this.#takeNext().finally(() => {
      this.#taking = undefined;
      this.#events.emit("change");
    });
    return this.#taking;
  }

  async #takeNext(): Promise<void> {
    while (this.#entries.length >= windowSize) await once(this.#events, "change");
    try {
      const { value, done } = await this.#lines.next();
      if (done) this.#hasEnded = true;
      else for (const line of value) this.#entries.push(entryOf(line));
    } catch (error) {
      this.#sourceFault = { error };
      this.#hasEnded = true;
    }
  }

  /** The unanswered lines that were taken in since the last call, or since `#sent` was reset. */
  #unsent(): QueuedLine[] {
    const entries = this.#entries.slice(this.#sent).filter(({ answer }) => answer === undefined);
    this.#sent = this.#entries.length;
    return entries;
  }

  /** Sends lines over a new connection, and takes their answers. */
  async #connect(): Promise<Fault | undefined> {
    /** The lines sent over this connection and not answered, in their order. */
    const sent: QueuedLine[] = [];
    this.#sent = 0;
    const request = await this.#transport.stream({
      method: "POST",
      path: "/api/bulk",
      headers: { "content-type": bulkType },
      ...(this.#isDry && { query: { dryRun: "true" } }),
    });
    this.#request = request;
    if (this.#isOver) request.destroy();
    this.#write(request, sent).catch((error: Error) => request.destroy(error));
    const fault = await this.#takeAnswers(request, sent)
      .catch((error: unknown) => this.#failureOf(error, request))
      .finally(() => request.destroy());
    if (fault?.outcomeUnknown && !this.#isDry) {
      for (const entry of sent) entry.outcomeUnknown ||= entry.answer === undefined;
    }
    // The last answers may have come together with what ended the stream.
    this.#events.emit("change");
    return fault;
  }

  /** Resolves with the reason why the connection has not answered all that was sent over it. */
  async #takeAnswers(request: GotStream, sent: QueuedLine[]): Promise<Fault | undefined> {
    const response = await headOf(request);
    this.#start.hear(response.headers.date);
    if (response.statusCode !== 200) {
      const answer = answerOf(response, await textOf(request));
      const problem = problemOf(answer);
      if (problem !== undefined) return this.#refusedAsWhole(problem);
      return this.#transport.notFx(this.#method, whatAnswered(answer, false));
    }
    let answered = 0;
    let heard = performance.now();
    for await (const lines of readLines(request, { longest: longestLine })) {
      if (lines.length > 0) heard = performance.now();
      // Otherwise, a line that never ends would be read for as long as bytes come.
      else if (performance.now() - heard > longestWaitMs) throw notAnAnswer("a line that does not end");
      for (const [index, { bytes }] of lines.entries()) {
        const { line, answer } = this.#answerIn(bytes, sent[index]);
        if (line === undefined) return this.#refusedAsWhole(requireError(answer));
        const entry = sent[index];
        answered += 1;
        this.#answered += 1;
        if (line !== answered || entry === undefined) throw notAnAnswer(`line ${line}`);
        entry.answer = "receiptId" in answer ? this.#start.answerAfter(answer, entry.outcomeUnknown) : answer;
      }
      sent.splice(0, lines.length);
      this.#events.emit("change");
    }
    // Lines that come later need another request, which would begin a dry run anew.
    if (sent.length === 0 && answered > 0 && (this.#hasEnded || !this.#isDry)) return undefined;
    return this.#transport.noAnswer(this.#method, "connection lost");
  }

  /**
   * Reads one line of answers. If the line it answers may have been done over an earlier connection, a failure that is not
   * of the line itself says only what became of the last attempt.
   */
  #answerIn(bytes: Buffer, entry: QueuedLine | undefined): ReturnType<typeof decodeBulkAnswer> {
    const { line, answer } = decodeBulkAnswer(JSON.parse(bytes.toString()));
    if (!(answer instanceof FxError)) {
      if (!this.#isDry && answer.receiptId === "") throw notAnAnswer("a line without a receipt");
      return { line, answer };
    }
    const isSettled = line === undefined || !entry?.outcomeUnknown || isOfRequest(answer.code);
    return {
      line,
      answer: isSettled ? answer : this.#unknown(`and no answer came. Sent again: ${answer.message}`),
    };
  }

  /** Takes lines in and sends them, as fast as the connection takes them. */
  async #write(request: GotStream, sent: QueuedLine[]): Promise<void> {
    while (!request.destroyed && !request.writableEnded) {
      const entries = this.#unsent();
      if (entries.length > 0) {
        for (const entry of entries) sent.push(entry);
        if (!request.write(entries.map(({ text }) => text).join(""))) await once(request, "drain");
      } else if (this.#hasEnded) return void request.end();
      else {
        // The server ends a silent request, also while the next line is on its way. A dry run has one request only.
        const quietMs = this.#transport.answerTimeoutMs / 3;
        const quiet = this.#isDry ? undefined : setTimeout(() => request.end(), quietMs);
        await this.#take().finally(() => clearTimeout(quiet));
      }
    }
  }

  /** The fault of a request that was refused as a whole: its lines are failed, and none of them refused. */
  #refusedAsWhole(problem: FxError): Fault {
    if (!isOfRequest(problem.code)) return faultOf(problem);
    const message = `${this.#transport.target} refused the batch as a whole: ${problem.message}`;
    const hint = problem.code === "not-found" ? { hint: this.#transport.notFxHint } : {};
    return faultOf(new FxError("unreachable", message, hint));
  }

  #failureOf(error: unknown, request: GotStream): Fault {
    const isForeign = error instanceof FxError || error instanceof SyntaxError;
    return isForeign
      ? this.#transport.notFx(this.#method, "an answer to a line is none of fx")
      : this.#transport.failureOf(this.#method, error as RequestError, request);
  }

  /**
   * Answers the lines that have no answer, and all that come, with the failure.
   * @param outcome the failure of all attempts
   * @param last the failure of the last attempt
   */
  async #fail(outcome: Error, last: Error): Promise<void> {
    const isUnknown = (failure: Error) => [...undecided, "outcome-unknown"].includes(codeOf(failure));
    const open = isUnknown(outcome)
      ? (outcome as FxError)
      : this.#unknown(`and no answer came. Sent again: ${last.message}`);
    // A failure of a dry run is that of all its lines: none can have been done.
    const unsent =
      isUnknown(last) && !this.#isDry
        ? new FxError(
            "unreachable",
            `It was not sent: the connection to ${this.#transport.target} was lost.`,
            { hint: this.#transport.noAnswerHint },
          )
        : (last as FxError);
    for (;;) {
      for (const entry of this.#unanswered()) entry.answer = entry.outcomeUnknown ? open : unsent;
      this.#events.emit("change");
      if (this.#hasEnded) return;
      await this.#take();
    }
  }

  #unknown(why: string): FxError {
    return new FxError("outcome-unknown", `The request was sent to ${this.#transport.target}, ${why}.`);
  }
}

/** A line that cannot be sent is its own answer. */
function entryOf(line: BulkInput): QueuedLine {
  if (line instanceof FxError) return { line, text: "", answer: line, outcomeUnknown: false };
  try {
    return { line, text: `${encodeBulkLine(line)}\n`, answer: undefined, outcomeUnknown: false };
  } catch (error) {
    if (error instanceof FxError) return { line, text: "", answer: error, outcomeUnknown: false };
    throw error;
  }
}

function requireError(answer: BulkAnswer): FxError {
  if (answer instanceof FxError) return answer;
  throw notAnAnswer("an answer to no line");
}
