import { once } from "node:events";
import type { Request as GotStream, PlainResponse, RequestError } from "got";
import type { Request } from "../core/change.ts";
import { FxError, undecided } from "../core/errors.ts";
import type { BulkAnswer } from "../core/service.ts";
import { bulkType, decodeBulkAnswer, encodeBulkLine } from "../wire/bulk.ts";
import { notAnAnswer } from "../wire/codecs.ts";
import { readLines } from "../wire/lines.ts";
import { decodeProblem } from "../wire/problem.ts";
import type { Fault } from "./retries.ts";
import { type Answer, answerOf, type Transport, textOf, whatAnswered } from "./transport.ts";

/** What a line asks for. One that cannot be read is its own answer. */
type BulkInput = Request | FxError;

/** A line that was taken in. */
interface QueuedLine {
  readonly line: BulkInput;
  /** As it is sent. */
  readonly text: string;
  answer: BulkAnswer | undefined;
  /** Whether it was sent, and may have been done without an answer. */
  isOpen: boolean;
}

/** Lines taken in and not answered, or answered and not read, at most. */
const windowSize = 16_384;
/** In bytes: more than any answer to a line has. */
const longestLine = 16_384;
const longestWaitMs = 60_000;

/**
 * One bulk at a server, over one stream as long as nothing happens to it. Lines without an answer are sent again with
 * their keys. A dry run is only begun again while nothing of it was answered: its answers rest on the lines before.
 */
export class Bulk {
  readonly #transport: Transport;
  readonly #lines: AsyncIterator<readonly BulkInput[]>;
  readonly #isDry: boolean;
  /** In their order, from the first whose answer was not read. */
  readonly #entries: QueuedLine[] = [];
  /** How many of them were looked at to be sent over this connection. */
  #sent = 0;
  #answered = 0;
  #hasEnded = false;
  #request: GotStream | undefined;
  #taking: Promise<void> | undefined;
  #change: { readonly happened: Promise<void>; readonly tell: () => void } | undefined;

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
    const retries = this.#transport.retries(this.#method);
    while (await this.#hasUnanswered()) {
      const answered = this.#answered;
      const fault = await this.#connect();
      if (this.#answered > answered) retries.progress();
      const left = this.#unanswered();
      if (fault === undefined || left.length === 0) continue;
      if (this.#isDry && this.#answered > 0) return this.#fail(fault.failure, fault.failure);
      const open = left.filter(({ isOpen }) => isOpen);
      const isSafe = open.every(({ line }) => "key" in line && line.key !== undefined);
      const isOpen = this.#isDry ? fault.isOpen : open.length > 0;
      const failure = await retries.after({ ...fault, isOpen }, isSafe);
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
  #unsent(): QueuedLine[] {
    const entries = this.#entries.slice(this.#sent).filter(({ answer }) => answer === undefined);
    this.#sent = this.#entries.length;
    return entries;
  }

  /** Sends lines over a new connection, and takes their answers. */
  async #connect(): Promise<Fault | undefined> {
    /** And not answered, in their order. */
    const sent: QueuedLine[] = [];
    this.#sent = 0;
    const request = await this.#transport.stream({
      method: "POST",
      path: "/api/bulk",
      headers: { "content-type": bulkType },
      ...(this.#isDry && { query: { dryRun: "true" } }),
    });
    this.#request = request;
    // What fails is told to whoever reads the answers.
    request.on("error", () => {});
    this.#write(request, sent).catch((error: Error) => request.destroy(error));
    try {
      const [response] = (await once(request, "response")) as [PlainResponse];
      if (response.statusCode !== 200) {
        const refused = this.#refused(answerOf(response, await textOf(request)));
        if (refused.isOpen) this.#markOpen(sent);
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
          if (line === null) return this.#ended(requireError(answer), sent);
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
      this.#markOpen(sent);
      return this.#transport.noAnswer(this.#method, "connection lost");
    } catch (error) {
      return this.#faultOf(error, sent);
    } finally {
      request.destroy();
    }
  }

  /** Takes lines in and sends them, as fast as the connection takes them. */
  async #write(request: GotStream, sent: QueuedLine[]): Promise<void> {
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
  #refused(answer: Answer): Fault {
    const { status, body, retryAfterSeconds } = answer;
    const problem = decodeProblem(body, status, { retryAfterSeconds });
    if (problem === undefined) return this.#transport.notFx(this.#method, whatAnswered(answer, false));
    return { failure: problem, isOpen: undecided.includes(problem.code), retryAfterSeconds };
  }

  /** Why the server ended the stream early. What it had taken in is answered, unless it does not know. */
  #ended(reason: FxError, sent: readonly QueuedLine[]): Fault {
    const isOpen = undecided.includes(reason.code);
    if (isOpen) this.#markOpen(sent);
    return { failure: reason, isOpen, retryAfterSeconds: reason.retryAfterSeconds };
  }

  #faultOf(error: unknown, sent: readonly QueuedLine[]): Fault {
    const isForeign = error instanceof FxError || error instanceof SyntaxError;
    const fault = isForeign
      ? this.#transport.notFx(this.#method, "an answer to a line is none of fx")
      : this.#transport.failureOf(this.#method, error as RequestError);
    if (fault.isOpen) this.#markOpen(sent);
    return fault;
  }

  /** Lines that were sent and have no answer may have been done. */
  #markOpen(sent: readonly QueuedLine[]): void {
    if (this.#isDry) return;
    for (const entry of sent) entry.isOpen ||= entry.answer === undefined;
  }

  /**
   * Answers the lines that have no answer, and all that come, with the failure.
   * @param outcome of all attempts
   * @param last of the last one
   */
  async #fail(outcome: Error, last: Error): Promise<void> {
    const isUnknown = (failure: Error) => [...undecided, "outcome-unknown"].includes(codeOf(failure));
    const open = isUnknown(outcome)
      ? (outcome as FxError)
      : this.#unknown(`and no answer came. Sent again: ${last.message}`);
    const unsent = isUnknown(last)
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
function entryOf(line: BulkInput): QueuedLine {
  if (line instanceof FxError) return { line, text: "", answer: line, isOpen: false };
  try {
    return { line, text: `${encodeBulkLine(line)}\n`, answer: undefined, isOpen: false };
  } catch (error) {
    if (error instanceof FxError) return { line, text: "", answer: error, isOpen: false };
    throw error;
  }
}

function codeOf(failure: Error): string {
  return failure instanceof FxError ? failure.code : failure.name;
}

function requireError(answer: BulkAnswer): FxError {
  if (answer instanceof FxError) return answer;
  throw notAnAnswer("an answer to no line");
}
