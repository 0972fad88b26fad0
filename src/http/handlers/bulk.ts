import type { Socket } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import type { Request } from "../../core/change.ts";
import { type CalendarDate, warsawDate } from "../../core/date.ts";
import { type AnswerCode, FxError } from "../../core/errors.ts";
import type { BulkAnswer, BulkLine } from "../../core/service.ts";
import { bulkAnswerText, bulkType, parseBulkLine, parseTrialLine } from "../../wire/bulk.ts";
import { faultOf, type Line, readLines } from "../../wire/lines.ts";
import { operations } from "../../wire/operations.ts";
import { statusOf } from "../../wire/problem.ts";
import { parseBulkQuery } from "../../wire/queries.ts";
import { type Caller, includes, type Role } from "../../wire/role.ts";
import { tooLittle } from "../access.ts";
import { type BulkOutcome, beginAnswer, type Handler, type HandlerContext } from "../answers.ts";
import { logFailure, toFxError } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import type { RateLimit } from "../rate-limit.ts";

/** A bulk or an export under way. */
export interface Stream {
  readonly request: FastifyRequest;
  readonly socket: Socket;
  /** Whether it is a bulk that does nothing. */
  readonly dryRun?: boolean;
  /**
   * A bulk takes in no more lines, answers those that were taken in, and says the reason in the last line; an export
   * breaks off.
   */
  end(reason: FxError): void;
}

export interface BulkOptions {
  /** A bulk ends when no byte has moved either way for so long. 30 s if absent. */
  readonly bulkIdleTimeoutMs?: number;
}

/** How many lines came to each result. */
type Counts = Record<string, number>;

/** Bulks and exports at once. Each holds up to a thousand lines. */
const mostStreams = 64;
/** A dry run keeps what each of its lines would come to, up to a kilobyte. */
const dryRunLimits = { atOnce: 2, lines: 200_000, answerBytes: 128 * 1024 * 1024 };
/** How long a client that still sends is listened to after its bulk has been ended. */
const lingerMs = 1000;

export function bulkHandlers(
  { service, now, bulkIdleTimeoutMs: idleMs = 30_000 }: Omit<HandlerContext, "prefix"> & BulkOptions,
  metrics: Metrics,
  lifecycle: { readonly draining: boolean; readonly streams: Set<Stream> },
  limit: RateLimit | undefined,
) {
  const bulk: Handler = async (request, reply) => {
    const { dryRun } = parseBulkQuery(request.query);
    if (request.body === undefined) {
      throw new FxError("invalid-request", `The body must be sent as Content-Type: ${bulkType}.`);
    }
    if (lifecycle.draining) throw draining();
    if (lifecycle.streams.size >= mostStreams) throw tooMany(mostStreams, "bulks");
    const dryRuns = [...lifecycle.streams].filter((each) => each.dryRun === true).length;
    if (dryRun && dryRuns >= dryRunLimits.atOnce) throw tooMany(dryRunLimits.atOnce, "dry runs");
    const response = beginAnswer(reply, 200, { "content-type": `${bulkType}; charset=utf-8` });
    response.flushHeaders();
    const stream = new BulkStream(request, { metrics, limit, dryRun, today: () => warsawDate(now()) });
    lifecycle.streams.add(stream);
    response.setTimeout(idleMs, () => {
      // One that does not read its answers would not read the reason either.
      if (response.writableNeedDrain || response.writableEnded || stream.isEnded) stream.socket.destroy();
      else stream.end(idle(idleMs));
    });
    let isCut = false;
    try {
      const answers = dryRun
        ? service.dryRun(stream.lines(readTrialLine))
        : service.bulk(stream.lines(readBulkLine));
      const texts = Readable.from(stream.answers(answers));
      // A browser reads nothing before it has sent all.
      const kept = dryRun ? [new PassThrough({ highWaterMark: dryRunLimits.answerBytes })] : [];
      await pipeline([texts, ...kept, response]);
    } catch {
      // The client has gone. What was taken in is done or not, and the same lines with the same keys do the rest.
      isCut = true;
      stream.socket.destroy();
    }
    lifecycle.streams.delete(stream);
    request.outcome = stream.outcome(isCut);
    if (!request.raw.readableEnded) closeSoon(request, stream.socket);
  };

  return { bulk };
}

/** The lines of a request and the answers to them. */
class BulkStream implements Stream {
  readonly request: FastifyRequest;
  readonly socket: Socket;
  readonly dryRun: boolean;
  readonly #metrics: Metrics;
  readonly #limit: RateLimit | undefined;
  readonly #today: () => CalendarDate;
  /** Not the request itself: destroying that would close the connection, and so cut off the answers. */
  readonly #body = new PassThrough();
  /** The lines that were taken in and not answered yet. */
  readonly #taken: { readonly number: number; readonly asked: Request | FxError }[] = [];
  readonly #counts: Counts = {};
  readonly #logged = new Set<string>();
  #reason: FxError | undefined;

  constructor(
    request: FastifyRequest,
    {
      metrics,
      limit,
      dryRun,
      today,
    }: {
      readonly metrics: Metrics;
      readonly limit: RateLimit | undefined;
      readonly dryRun: boolean;
      readonly today: () => CalendarDate;
    },
  ) {
    this.dryRun = dryRun;
    this.socket = request.raw.socket;
    this.request = request;
    this.#metrics = metrics;
    this.#limit = limit;
    this.#today = today;
    request.raw.once("error", (error) => this.#body.destroy(error));
    request.raw.pipe(this.#body);
    // Whoever reads the body hears of its errors; there may be nobody yet, or any more.
    this.#body.on("error", () => {});
  }

  get isEnded(): boolean {
    return this.#reason !== undefined;
  }

  end(reason: FxError): void {
    this.#reason ??= reason;
    this.#body.destroy(this.#reason);
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
        const today = this.#today();
        const asked = lines.map((line) => readLine(line, (text) => read(text, today, this.request.caller)));
        for (const [index, { number }] of lines.entries()) {
          this.#taken.push({ number, asked: asked[index] as Asked | FxError });
        }
        yield asked;
        // Single requests take their turn.
        await nextTurn();
      }
    } catch (error) {
      if (error !== this.#reason) throw error;
    }
  }

  async *answers(chunks: AsyncIterable<readonly BulkAnswer[]>): AsyncGenerator<string> {
    try {
      for await (const chunk of chunks) {
        yield this.#text(chunk);
        // A refusal may be kept, like that of a single request, which counts.
        if (this.dryRun) continue;
        const refused = chunk.filter((answer) => answer instanceof FxError).length;
        await this.#limit?.waitFor(this.request, refused, () => this.isEnded);
      }
    } catch (error) {
      if (this.request.raw.errored) throw error;
      this.#reason = toFxError(error);
      this.#log(this.#reason);
    }
    if (this.#reason !== undefined) yield `${bulkAnswerText(null, this.#reason, this.request.id)}\n`;
  }

  #text(chunk: readonly BulkAnswer[]): string {
    const taken = this.#taken.splice(0, chunk.length);
    let text = "";
    for (const [index, answer] of chunk.entries()) {
      const { number, asked } = taken[index] as (typeof taken)[number];
      text += `${bulkAnswerText(number, answer, this.request.id)}\n`;
      const result = this.dryRun ? wouldBe(answer) : this.#metrics.bulkLine(asked as BulkLine, answer);
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

  /** What the log says of the bulk. */
  outcome(isCut: boolean): BulkOutcome {
    const ended = isCut ? "cut" : this.#reason?.code;
    return { lines: this.#counts, ...(ended !== undefined && { ended }) };
  }
}

/** The result of a line of a dry run. */
function wouldBe(answer: BulkAnswer): string {
  if (answer instanceof FxError) return answer.code;
  return answer.replayed ? "replayed" : "would-be-done";
}

function readLine<Asked>(line: Line, read: (text: string) => Asked): Asked | FxError {
  try {
    const fault = faultOf(line);
    if (fault !== undefined) throw new FxError("invalid-request", fault);
    return read(line.bytes.toString());
  } catch (error) {
    return toFxError(error);
  }
}

const readBulkLine = (text: string, today: CalendarDate, caller: Caller | undefined) =>
  parseBulkLine(text, today, caller?.name);

/** @throws FxError forbidden for what the caller may not do by itself */
function readTrialLine(text: string, today: CalendarDate, caller: Caller | undefined): Request {
  const asked = parseTrialLine(text, today, caller?.name);
  const role = rolesOf[asked.kind] ?? "teller";
  if (caller !== undefined && !includes(caller.role, role)) {
    throw tooLittle(caller, `This takes the role ${role}`);
  }
  return asked;
}

const rolesOf: Partial<Record<Request["kind"], Role>> = {
  reversal: operations.reverse.role,
  closing: operations.closeAccount.role,
};

/** Closes a connection whose request was not read to its end. At once, that could take the answers back. */
function closeSoon({ raw }: FastifyRequest, socket: Socket): void {
  raw.resume();
  socket.end();
  const deadline = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(deadline));
}

export function draining(): FxError {
  const message = "The server is stopping. Send the lines that have no answer again, with the same keys.";
  return new FxError("overloaded", message, { retryAfterSeconds: 1 });
}

function tooLong(): FxError {
  return new FxError(
    "invalid-request",
    `A dry run takes at most ${dryRunLimits.lines} lines. Try the file in parts.`,
  );
}

function tooMany(most: number, what: string): FxError {
  const message = `${most} ${what} are under way, and no more are taken at once. Nothing was begun.`;
  return new FxError("overloaded", message, { retryAfterSeconds: 5 });
}

function idle(ms: number): FxError {
  return new FxError(
    "invalid-request",
    `Nothing has arrived for ${ms / 1000} s. Send the lines that have no answer again, with the same keys.`,
  );
}
