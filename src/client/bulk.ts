import { EventEmitter, once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
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
import { codeOf, type Fault, faultOf, type Retries } from "./retries.ts";
import type { Transport } from "./transport.ts";

/** A request, or the error of a line that cannot be read, which is its answer. */
type BulkInput = Request | FxError;

/** A line without an answer, or whose answer was not yielded yet. */
interface QueuedLine {
  readonly line: BulkInput;
  /** The JSON that is sent. */
  readonly text: string;
  answer: BulkAnswer | undefined;
  /** Whether it was sent, and may have been done without an answer. */
  outcomeUnknown: boolean;
}

/** Bytes; longer than any answer to a line. */
const longestLine = 16_384;
const longestWaitMs = 60_000;

/**
 * One batch at a server: a request for each chunk of lines. Lines without an answer are sent again with their keys. A dry
 * run is one request, because its answers rest on the lines before, and is not begun again after an answer.
 */
export class Bulk {
  readonly #transport: Transport;
  readonly #isDry: boolean;
  readonly #retries: Retries;
  readonly #start = new RunStart();
  /** The lines of the chunk, from the first whose answer was not yielded. */
  #queue: QueuedLine[] = [];
  /** The answer to lines that were not sent, once all attempts have failed. */
  #failure: FxError | undefined;

  constructor(transport: Transport, { dryRun }: { readonly dryRun: boolean }) {
    this.#transport = transport;
    this.#isDry = dryRun;
    this.#retries = transport.retries(this.#method);
  }

  async *answersTo(chunks: AsyncIterable<readonly BulkInput[]>): AsyncGenerator<readonly BulkAnswer[]> {
    for await (const lines of this.#isDry ? joined(chunks) : readAhead(chunks)) {
      this.#queue = lines.map(entryOf);
      yield* this.#answered();
      while (this.#queue.length > 0) yield* this.#attempt();
    }
  }

  /** Takes the answers out for which all before them are there. */
  *#answered(): Generator<readonly BulkAnswer[]> {
    if (this.#failure !== undefined) this.#answerAll(this.#failure, this.#failure);
    const open = this.#queue.findIndex(({ answer }) => answer === undefined);
    const taken = this.#queue.splice(0, open < 0 ? this.#queue.length : open);
    if (taken.length > 0) yield taken.map(({ answer }) => answer as BulkAnswer);
  }

  /** Sends the lines without an answer, and waits if they are to be sent once more. */
  async *#attempt(): AsyncGenerator<readonly BulkAnswer[]> {
    const sent = this.#unanswered();
    const request = await this.#transport.stream({
      method: "POST",
      path: "/api/bulk",
      headers: { "content-type": bulkType },
      ...(this.#isDry && { query: { dryRun: "true" } }),
    });
    // Answers are read as they come: the server and the connection wait for nobody who takes long over them.
    const arrivals = new EventEmitter();
    const tell = () => void arrivals.emit("answers");
    let fault: Fault | undefined;
    request.end(sent.map(({ text }) => text).join(""));
    void this.#takeAnswers(request, sent, tell)
      .catch((error: unknown) => this.#failureOf(error, request))
      .then((reason) => {
        fault = reason;
        tell();
      });
    try {
      while (fault === undefined) {
        await once(arrivals, "answers");
        yield* this.#answered();
      }
    } finally {
      request.destroy();
    }
    const left = this.#unanswered();
    const hasAnswered = left.length < sent.length;
    if (hasAnswered) this.#retries.progress();
    if (left.length > 0) await this.#afterFault(fault, left, hasAnswered);
    yield* this.#answered();
  }

  async #afterFault(fault: Fault, left: readonly QueuedLine[], hasAnswered: boolean): Promise<void> {
    if (this.#isDry && hasAnswered) return this.#fail(fault.failure, fault.failure);
    if (fault.outcomeUnknown && !this.#isDry) for (const entry of left) entry.outcomeUnknown = true;
    const open = left.filter(({ outcomeUnknown }) => outcomeUnknown);
    const isSafe = open.every(({ line }) => "key" in line && line.key !== undefined);
    const outcomeUnknown = this.#isDry ? fault.outcomeUnknown : open.length > 0;
    const failure = await this.#retries.after({ ...fault, outcomeUnknown }, isSafe);
    if (failure !== undefined) this.#fail(failure, fault.failure);
  }

  /** A dry run does nothing, so its outcome is never unknown. */
  get #method(): "GET" | "POST" {
    return this.#isDry ? "GET" : "POST";
  }

  #unanswered(): QueuedLine[] {
    return this.#queue.filter(({ answer }) => answer === undefined);
  }

  /** Returns the reason why the request has not answered all that was sent. */
  async #takeAnswers(request: GotStream, sent: readonly QueuedLine[], tell: () => void): Promise<Fault> {
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
      for (const { bytes } of lines) {
        const entry = sent[answered];
        const { line, answer } = this.#answerIn(bytes, entry);
        if (line === undefined) return this.#refusedAsWhole(requireError(answer));
        answered += 1;
        if (line !== answered || entry === undefined) throw notAnAnswer(`line ${line}`);
        entry.answer = this.#start.answerAfter(answer, entry.outcomeUnknown);
      }
      tell();
    }
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
      ? this.#transport.notFx(this.#method, "malformed answer to a line")
      : this.#transport.failureOf(this.#method, error as RequestError, request);
  }

  /**
   * Answers the lines that have no answer, and all that come, with the failure.
   * @param outcome the failure of all attempts
   * @param last the failure of the last attempt
   */
  #fail(outcome: Error, last: Error): void {
    const isUnknown = (failure: Error) => [...undecided, "outcome-unknown"].includes(codeOf(failure));
    const open = isUnknown(outcome)
      ? (outcome as FxError)
      : this.#unknown(`and no answer came. Sent again: ${last.message}`);
    // A failure of a dry run is that of all its lines: none can have been done.
    this.#failure =
      isUnknown(last) && !this.#isDry
        ? new FxError(
            "unreachable",
            `It was not sent: the connection to ${this.#transport.target} was lost.`,
            { hint: this.#transport.noAnswerHint },
          )
        : (last as FxError);
    this.#answerAll(open, this.#failure);
  }

  #answerAll(open: FxError, unsent: FxError): void {
    for (const entry of this.#unanswered()) entry.answer = entry.outcomeUnknown ? open : unsent;
  }

  #unknown(why: string): FxError {
    return new FxError("outcome-unknown", `The request was sent to ${this.#transport.target}, ${why}.`);
  }
}

/** The chunks of a source, each asked for while the one before is handled. */
async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    for (let next = chunks.next(); ; ) {
      const { value, done } = await next;
      if (done) return;
      // After this chunk was sent: the server works on it meanwhile.
      next = nextTurn().then(() => chunks.next());
      // A failure of the source is thrown after the lines before it are answered.
      next.catch(() => {});
      yield value;
    }
  } finally {
    // Not awaited: the source may be waiting for its next line.
    void chunks.return?.().catch(() => {});
  }
}

/** All chunks as one. */
async function* joined<T>(chunks: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  const all: T[] = [];
  for await (const chunk of chunks) for (const item of chunk) all.push(item);
  yield all;
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
