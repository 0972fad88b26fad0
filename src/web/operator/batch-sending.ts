import type { KeyedLine } from "../../batch/keys.ts";
import { doneLine, isOfAnotherToken } from "../../batch/result.ts";
import { FxError, isOfRequest, undecided } from "../../core/errors.ts";
import type { BulkAnswer } from "../../core/service.ts";
import { bulkType, decodeBulkAnswer, encodeBulkLine } from "../../wire/bulk.ts";
import type { RatesJson } from "../../wire/rates.ts";
import { RunStart } from "../../wire/run-start.ts";
import { NoAnswer, type Server } from "../answers.ts";
import type { AnsweredLine } from "./batch-file.ts";

/** Lines in one request. The next request begins when all of them are answered. */
const linesAtOnce = 256;
/** Attempts that bring no answer. */
const attempts = 5;
/** The same, where the server answers that it is busy. */
const busyAttempts = 100;

/** The server, as a batch asks it. */
export interface BatchServer extends Pick<Server, "get"> {
  /** The same server, for work that goes on when the page is locked. */
  copy(): BatchServer;
  /** @param onHead gets the headers of the answer before its lines */
  lines(
    path: string,
    signal: AbortSignal,
    init: { method: string; headers: Readonly<Record<string, string>>; body: string },
    onHead: (headers: { get(name: string): string | null }) => void,
  ): AsyncIterable<readonly string[]>;
}

interface Sending {
  readonly api: BatchServer;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly isDryRun: boolean;
  /** The rate table of exchanges that name none: they are carried out at it, or not at all. */
  readonly tableId: string | undefined;
}

interface Sendable {
  readonly line: KeyedLine;
  readonly text: string;
}

/**
 * The id of the rate table in force.
 * @throws NoAnswer or FxError if it is not told
 */
export async function tableInForce({ api, signal }: Pick<Sending, "api" | "signal">): Promise<string> {
  const { tableId } = await persistently(signal, () => api.get<RatesJson>("api/rates", signal));
  return tableId;
}

/** Sends the lines of one batch, also after a stop. Those without an answer are sent again with their keys. */
export class BatchSender {
  readonly #start = new RunStart();
  /** Lines that were sent, may have been done, and have no result. */
  readonly unknown = new Set<KeyedLine>();

  /**
   * Carries out lines, in their order, or tries them, and gives their results as they come. A dry run is one request,
   * because each line is answered as those before it would leave the ledger. A line at which the server fails, as on a
   * damaged account, has no result, and no later line of its account is sent: it could be refused, and would stay so.
   * @throws FxError at the end if the server failed at lines; at once if it is not of lines alone
   * @throws NoAnswer or FxError if the rest is not answered
   */
  async *send(lines: readonly KeyedLine[], sending: Sending): AsyncGenerator<readonly AnsweredLine[]> {
    const size = sending.isDryRun ? lines.length : linesAtOnce;
    const held = new Set<string | null>();
    let failure: FxError | undefined;
    for (let start = 0; start < lines.length; start += size) {
      const some = lines.slice(start, start + size).filter((line) => !held.has(accountOf(line)));
      const { results, failed, end } = await this.#sendTogether(some, sending);
      yield results;
      if (end !== undefined) throw end;
      for (const [line, error] of failed) {
        held.add(accountOf(line));
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  async #sendTogether(lines: readonly KeyedLine[], sending: Sending) {
    const answers = new Map<KeyedLine, BulkAnswer>();
    // Attempts of this run have one token: only an earlier run can have sent a line with another.
    const unknownBefore = new Set(this.unknown);
    const sendable: Sendable[] = [];
    for (const line of lines) {
      const text = textOf(line, sending.tableId);
      if (text instanceof FxError) answers.set(line, text);
      else sendable.push({ line, text });
    }
    let end: FxError | undefined;
    const failed = new Map<KeyedLine, FxError>();
    if (sendable.length > 0) {
      const given = await persistently(sending.signal, () => this.#ask(sendable, sending));
      end = given.end;
      for (const [nth, answer] of given.answers.entries()) {
        const { line } = sendable[nth] as Sendable;
        const wasUnknown = this.unknown.has(line);
        answers.set(line, this.#start.answerAfter(answer, wasUnknown));
        if (isUndecided(answer)) failed.set(line, answer);
      }
      if (failed.size === given.answers.length) end ??= [...failed.values()][0];
      if (!sending.isDryRun) this.#settle(sendable, answers);
    }
    if (end === undefined && sending.isDryRun) failed.clear();
    const results = [...answers]
      .filter(([line]) => !failed.has(line))
      .map(([line, answer]) => resultOf(line, answer, unknownBefore.has(line)));
    return {
      results: results.flatMap((result) => (result instanceof FxError ? [] : [result])),
      failed,
      end: end ?? results.find((result) => result instanceof FxError),
    };
  }

  /** Sends lines. If the server fails between two of them, its answers end there. */
  async #ask(lines: readonly Sendable[], { api, signal, isDryRun }: Sending) {
    const path = isDryRun ? "api/bulk?dryRun=true" : "api/bulk";
    const body = lines.map(({ text }) => `${text}\n`).join("");
    const init = { method: "POST", headers: { "content-type": bulkType }, body };
    const answers: BulkAnswer[] = [];
    try {
      for await (const texts of api.lines(path, signal, init, (head) => this.#start.hear(head.get("date")))) {
        for (const text of texts) {
          const { line, answer } = readAnswer(text);
          if (line === undefined && answer instanceof FxError) return { answers, end: answer };
          answers.push(answer);
          if (line !== answers.length) throw new NoAnswer();
        }
      }
      if (answers.length !== lines.length) throw new NoAnswer();
      return { answers };
    } catch (failure) {
      // A refusal of the whole came before any was begun.
      if (!isDryRun && !(failure instanceof FxError)) this.#settle(lines, new Map());
      throw failure;
    }
  }

  /** Notes which lines that were sent have an unknown outcome now. A refusal that is not of the line itself says nothing of an earlier attempt. */
  #settle(lines: readonly Sendable[], answers: ReadonlyMap<KeyedLine, BulkAnswer>): void {
    for (const { line } of lines) {
      const answer = answers.get(line);
      if (answer === undefined) this.unknown.add(line);
      else if (!(answer instanceof FxError) || isOfRequest(answer.code)) this.unknown.delete(line);
      else if (undecided.includes(answer.code)) this.unknown.add(line);
    }
  }
}

/** @throws NoAnswer if the text is not of fx */
function readAnswer(text: string): ReturnType<typeof decodeBulkAnswer> {
  try {
    return decodeBulkAnswer(JSON.parse(text));
  } catch {
    throw new NoAnswer();
  }
}

/** Makes attempts, with pauses, while the server is busy or not there. */
async function persistently<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (let nth = 1; ; nth += 1) {
    try {
      return await attempt();
    } catch (failure) {
      signal.throwIfAborted();
      const isBusy = failure instanceof FxError && ["overloaded", "rate-limited"].includes(failure.code);
      if (!isBusy && !(failure instanceof NoAnswer)) throw failure;
      if (nth >= (isBusy ? busyAttempts : attempts)) throw failure;
      await new Promise((resolve) => setTimeout(resolve, Math.min(nth, attempts) * 500));
    }
  }
}

/** The account of a line; null if the line cannot be read. */
function accountOf({ request }: KeyedLine): string | null {
  return request instanceof Error ? null : request.pesel;
}

/** Whether the server failed at the line: it may have been done. */
function isUndecided(answer: BulkAnswer): answer is FxError {
  return answer instanceof FxError && undecided.includes(answer.code);
}

/** The text of a line as it is sent, or why it cannot be. Exchanges that name no rate table get one. */
function textOf({ request }: KeyedLine, tableId: string | undefined): string | FxError {
  try {
    if (request instanceof Error) throw request;
    return encodeBulkLine(
      request.kind === "exchange" ? { ...request, table: request.table ?? tableId } : request,
    );
  } catch (error) {
    if (error instanceof FxError) return error;
    throw error;
  }
}

/** @param wasUnknown whether an earlier run sent the line, and its outcome is unknown */
function resultOf(line: KeyedLine, answer: BulkAnswer, wasUnknown: boolean): AnsweredLine | FxError {
  if (!(answer instanceof FxError)) return doneLine(line, answer);
  const { request } = line;
  const hasOwnTable =
    !(request instanceof Error) && request.kind === "exchange" && request.table !== undefined;
  if (answer.code === "rate-changed" && !hasOwnTable) return answer;
  const isUnknown =
    isOfAnotherToken(line, answer) || (wasUnknown && answer.code === "idempotency-key-reused");
  if (isUnknown) return { line, state: "unknown", error: answer };
  // In a dry run, what the server fails at would not be done.
  const isRefused = isOfRequest(answer.code) || isUndecided(answer);
  return isRefused ? { line, state: "refused", error: answer } : answer;
}
