import type { KeyedLine } from "../../batch/keys.ts";
import { doneLine } from "../../batch/result.ts";
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

interface Answered {
  readonly line: KeyedLine;
  readonly answer: BulkAnswer;
}

/**
 * The id of the rate table in force.
 * @throws NoAnswer or FxError if it is not told
 */
export async function tableInForce({ api, signal }: Pick<Sending, "api" | "signal">): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await api.get<RatesJson>("api/rates", signal)).tableId;
    } catch (failure) {
      await pauseAfter(failure, attempt, signal);
    }
  }
}

/** Sends the lines of one batch, also after a stop. Those without an answer are sent again with their keys. */
export class BatchSender {
  readonly #start = new RunStart();
  /** Keys of lines that were sent, and may have been done without an answer. */
  readonly #open = new Set<string>();

  /**
   * Carries out lines, in their order, or tries them, and gives their results as they come. A dry run is one request,
   * because each line is answered as those before it would leave the ledger.
   * @throws FxError that is not of one line, after which nothing is begun; the line that failed has no result
   * @throws NoAnswer or FxError if the rest is not answered
   */
  async *send(lines: readonly KeyedLine[], sending: Sending): AsyncGenerator<readonly AnsweredLine[]> {
    const size = sending.isDryRun ? lines.length : linesAtOnce;
    for (let start = 0; start < lines.length; start += size) {
      yield* this.#sendTogether(lines.slice(start, start + size), sending);
    }
  }

  async *#sendTogether(lines: readonly KeyedLine[], sending: Sending) {
    const { isDryRun, tableId, signal } = sending;
    let end: FxError | undefined;
    const resultsOf = (answers: readonly Answered[]) => {
      const results = answers.map(({ line, answer }) => resultOf(line, answer));
      end ??= results.find((result) => result instanceof FxError);
      return results.flatMap((result) => (result instanceof FxError ? [] : [result]));
    };
    const unsendable: Answered[] = [];
    let left: Sendable[] = [];
    for (const line of lines) {
      const text = textOf(line, tableId);
      if (text instanceof FxError) unsendable.push({ line, answer: text });
      else left.push({ line, text });
    }
    yield resultsOf(unsendable);
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const tried: Answered[] = [];
      try {
        for await (const answers of this.#ask(left, sending)) {
          if (isDryRun) tried.push(...answers);
          else {
            left = left.slice(answers.length);
            yield resultsOf(answers);
          }
        }
      } catch (failure) {
        await pauseAfter(failure, attempt, signal);
        continue;
      }
      left = [];
      yield resultsOf(tried);
    }
    if (end !== undefined) throw end;
  }

  /** Sends lines, and gives their answers as they come. */
  async *#ask(lines: readonly Sendable[], { api, signal, isDryRun }: Sending) {
    const path = isDryRun ? "api/bulk?dryRun=true" : "api/bulk";
    const body = lines.map(({ text }) => `${text}\n`).join("");
    const init = { method: "POST", headers: { "content-type": bulkType }, body };
    let [hasHead, count] = [false, 0];
    const onHead = (headers: { get(name: string): string | null }) => {
      hasHead = true;
      this.#start.hear(headers.get("date"));
    };
    try {
      for await (const texts of api.lines(path, signal, init, onHead)) {
        const { answers, fault } = this.#answersIn(texts, lines, count);
        count += answers.length;
        yield answers;
        if (fault !== undefined) throw fault;
      }
      if (count < lines.length) throw new NoAnswer();
    } catch (failure) {
      // A refusal of the whole came before any was begun.
      const isBegun = hasHead || !(failure instanceof FxError);
      if (isBegun) for (const { line } of lines.slice(count)) this.#open.add(line.key);
      throw failure;
    }
  }

  /**
   * The answers in some texts, and what is wrong with the text after them.
   * @param count of the lines that are answered already
   */
  #answersIn(texts: readonly string[], lines: readonly Sendable[], count: number) {
    const answers: Answered[] = [];
    try {
      for (const text of texts) {
        const { line: number, answer } = readAnswer(text);
        if (number === undefined && answer instanceof FxError) throw answer;
        const nth = count + answers.length;
        const line = lines[nth]?.line;
        if (line === undefined || number !== nth + 1) throw new NoAnswer();
        answers.push({ line, answer: this.#settled(line.key, answer) });
      }
    } catch (fault) {
      return { answers, fault };
    }
    return { answers };
  }

  /** A line that this run has done over a connection that broke was not done before. */
  #settled(key: string, answer: BulkAnswer): BulkAnswer {
    const wasSent = this.#open.has(key);
    if (answer instanceof FxError && undecided.includes(answer.code)) this.#open.add(key);
    else if (!(answer instanceof FxError) || isOfRequest(answer.code)) this.#open.delete(key);
    return "receiptId" in answer ? this.#start.answerAfter(answer, wasSent) : answer;
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

/**
 * Waits for the next attempt, where the server is busy or not there.
 * @throws the failure, if another attempt would be of no use
 */
async function pauseAfter(failure: unknown, attempt: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const isBusy = failure instanceof FxError && ["overloaded", "rate-limited"].includes(failure.code);
  if (!isBusy && !(failure instanceof NoAnswer)) throw failure;
  if (attempt >= (isBusy ? busyAttempts : attempts)) throw failure;
  await new Promise((resolve) => setTimeout(resolve, Math.min(attempt, attempts) * 500));
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

function resultOf(line: KeyedLine, answer: BulkAnswer): AnsweredLine | FxError {
  if (!(answer instanceof FxError)) return doneLine(line, answer);
  const { request } = line;
  const hasOwnTable =
    !(request instanceof Error) && request.kind === "exchange" && request.table !== undefined;
  if (answer.code === "rate-changed" && !hasOwnTable) return answer;
  return isOfRequest(answer.code) ? { line, state: "refused", error: answer } : answer;
}
