import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import type { Request } from "../../core/change.ts";
import type { CalendarDate } from "../../core/date.ts";
import { type AnswerCode, FxError } from "../../core/errors.ts";
import type { BulkAnswer, BulkLine } from "../../core/service.ts";
import { bulkAnswerText, bulkType, linesBeforeReading, parseBulkLine } from "../../wire/bulk.ts";
import { bulkQuery, parseTrialLine } from "../../wire/bulk-lines.ts";
import { type Line, lineFault, readLines } from "../../wire/lines.ts";
import { operationOf } from "../../wire/operation-of.ts";
import { statusOf } from "../../wire/problem.ts";
import { parseRequest } from "../../wire/requests.ts";
import type { Caller } from "../../wire/role.ts";
import { requireRole } from "../access.ts";
import { limitAnswers, writeTo } from "../answers.ts";
import { whenOver } from "../connections.ts";
import type { Handler, HandlerContext } from "../context.ts";
import { logFailure, toFxError } from "../errors.ts";
import { bodyOf, draining, type Stream } from "../lifecycle.ts";

/** Number of lines by result. */
type Counts = Record<string, number>;

/** Batches and exports at once. */
const mostStreams = 64;
/** A dry run keeps the outcome of each line in memory, up to 1 KB each. */
const dryRunLimits = { atOnce: 2, lines: 200_000 };
/** Bytes of answers that wait for a client to read them. A browser reads nothing before it has sent all. */
const unreadAtMost = { bulk: 1024 * 1024, dryRun: 128 * 1024 * 1024 };

export function bulkHandlers(context: HandlerContext) {
  const { service, bulkIdleTimeoutMs: idleMs = 30_000, lifecycle } = context;
  const begin = limitAnswers(mostStreams, "batches");
  const beginDry = limitAnswers(dryRunLimits.atOnce, "dry runs");

  const bulk: Handler = async (request, reply) => {
    const dryRun = parseRequest(bulkQuery, request.query, "query").dryRun === "true";
    if (lifecycle.draining) throw draining();
    begin(reply);
    if (dryRun) beginDry(reply);
    const stream = new BulkStream(request, bodyOf(request, reply), context, dryRun);
    const { raw: response } = reply;
    const { socket } = request.raw;
    lifecycle.add(stream, reply);
    whenOver(reply, () => {
      if (!response.writableFinished) stream.cut();
    });
    response.setTimeout(idleMs, () => {
      if (stream.isEnded || response.writableEnded) socket.destroy();
      else stream.end(response.writableNeedDrain ? unread(idleMs) : idle(idleMs));
    });
    const answers = dryRun
      ? service.dryRun(stream.lines(readTrialLine))
      : service.bulk(stream.lines(readBulkLine));
    const kept = new PassThrough({ highWaterMark: dryRun ? unreadAtMost.dryRun : unreadAtMost.bulk });
    request.outcome = stream.answer(answers, kept);
    reply.type(`${bulkType}; charset=utf-8`).send(kept);
    response.flushHeaders();
    return reply;
  };

  return { bulk };
}

/** The lines of a request and the answers to them. */
class BulkStream implements Stream {
  readonly request: FastifyRequest;
  readonly dryRun: boolean;
  readonly #body: PassThrough;
  readonly #context: Pick<HandlerContext, "metrics" | "limit" | "today">;
  /** The lines that were taken in and not answered yet. */
  readonly #taken: { readonly number: number; readonly asked: Request | FxError }[] = [];
  readonly #counts: Counts = {};
  readonly #logged = new Set<string>();
  #reason: FxError | undefined;
  #isCut = false;

  constructor(request: FastifyRequest, body: PassThrough, context: HandlerContext, dryRun: boolean) {
    this.request = request;
    this.dryRun = dryRun;
    this.#body = body;
    this.#context = context;
    request.raw.once("error", () => this.cut());
  }

  get isEnded(): boolean {
    return this.#isCut || this.#reason !== undefined;
  }

  /** Takes in no more lines, answers those that were taken in, and says the reason in the last line. */
  end(reason: FxError): void {
    this.#reason ??= reason;
    this.#body.destroy();
  }

  /** Takes in no more lines, because the client has gone. */
  cut(): void {
    this.#isCut = true;
    this.#body.destroy();
  }

  async *lines<Asked extends Request>(
    read: (text: string, today: CalendarDate, caller: Caller | undefined) => Asked,
  ): AsyncGenerator<readonly (Asked | FxError)[]> {
    let count = 0;
    try {
      for await (const lines of readLines(this.#body)) {
        if (lines.length === 0) continue;
        count += lines.length;
        if (this.dryRun && count > dryRunLimits.lines) return this.end(tooLong());
        const today = this.#context.today();
        const asked = lines.map((line) => readLine(line, (text) => read(text, today, this.request.caller)));
        for (const [index, { number }] of lines.entries()) {
          this.#taken.push({ number, asked: asked[index] as Asked | FxError });
        }
        yield asked;
        // Yields to single requests.
        await nextTurn();
      }
    } catch (error) {
      if (!this.isEnded) throw error;
    }
  }

  /**
   * Writes the answers to `out`. If the client goes, the lines that were taken in are done nevertheless, and counted. What
   * was not done is done by the same lines with the same keys.
   * @returns the fields of the batch's line in the log
   */
  async answer(chunks: AsyncIterable<readonly BulkAnswer[]>, out: PassThrough): Promise<object> {
    try {
      for await (const chunk of chunks) {
        await writeTo(out, this.#text(chunk));
        // Refused lines count towards the rate limit, as refused requests do: a refusal may be kept in the ledger.
        if (this.dryRun) continue;
        const refused = chunk.filter((answer) => answer instanceof FxError).length;
        await this.#context.limit?.waitFor(this.request, refused, () => this.isEnded);
      }
    } catch (error) {
      this.#reason = toFxError(error);
      this.#log(this.#reason);
    }
    if (this.#reason !== undefined) {
      await writeTo(out, `${bulkAnswerText(null, this.#reason, this.request.id)}\n`);
    }
    out.end();
    const ended = this.#isCut ? "cut" : this.#reason?.code;
    return { lines: this.#counts, ...(ended !== undefined && { ended }) };
  }

  #text(chunk: readonly BulkAnswer[]): string {
    const taken = this.#taken.splice(0, chunk.length);
    let text = "";
    for (const [index, answer] of chunk.entries()) {
      const { number, asked } = taken[index] as (typeof taken)[number];
      text += `${bulkAnswerText(number, answer, this.request.id)}\n`;
      const result = this.dryRun
        ? wouldBe(answer)
        : this.#context.metrics.bulkLine(asked as BulkLine, answer);
      this.#counts[result] = (this.#counts[result] ?? 0) + 1;
      if (answer instanceof FxError) this.#log(answer);
    }
    return text;
  }

  /** Logs a failure of fx once, however many lines meet it. */
  #log(error: FxError): void {
    if (this.#logged.has(error.code) || statusOf[error.code as AnswerCode] < 500) return;
    this.#logged.add(error.code);
    logFailure(this.request, error, error);
  }
}

/** The result of a line of a dry run. */
function wouldBe(answer: BulkAnswer): string {
  if (answer instanceof FxError) return answer.code;
  return answer.replayed ? "replayed" : "would-be-done";
}

function readLine<Asked>(line: Line, read: (text: string) => Asked): Asked | FxError {
  try {
    const fault = lineFault(line);
    if (fault !== undefined) throw new FxError("invalid-request", fault);
    return read(line.bytes.toString());
  } catch (error) {
    return toFxError(error);
  }
}

const readBulkLine = (text: string, today: CalendarDate, caller: Caller | undefined) =>
  parseBulkLine(text, today, caller?.name);

/** @throws FxError forbidden if the caller's role does not allow the request */
function readTrialLine(text: string, today: CalendarDate, caller: Caller | undefined): Request {
  const asked = parseTrialLine(text, today, caller?.name);
  const { role } = operationOf(asked);
  if (role !== "anyone") requireRole(caller, role);
  return asked;
}

function tooLong(): FxError {
  return new FxError(
    "invalid-request",
    `A dry run takes at most ${dryRunLimits.lines} lines. Split it into parts.`,
  );
}

function idle(ms: number): FxError {
  return new FxError(
    "overloaded",
    `Nothing has arrived for ${ms / 1000} s. Send the lines that have no answer again, with the same keys.`,
  );
}

function unread(ms: number): FxError {
  return new FxError(
    "overloaded",
    `No answer was read for ${ms / 1000} s. Read answers while you send, or send at most ${linesBeforeReading} lines before you read. ` +
      "Send the lines that have no answer again, with the same keys.",
  );
}
