import type { KeyedLine } from "../../batch/keys.ts";
import { doneLine } from "../../batch/result.ts";
import { FxError, isOfRequest, undecided } from "../../core/errors.ts";
import type { BulkAnswer, BulkLine } from "../../core/service.ts";
import { bulkType, decodeBulkAnswer, encodeBulkLine } from "../../wire/bulk.ts";
import { decodeProblem } from "../../wire/problem.ts";
import type { RatesJson } from "../../wire/rates.ts";
import { RunStart } from "../../wire/run-start.ts";
import { NoAnswer, ProblemAnswer, type Server } from "../answers.ts";
import type { AnsweredLine } from "./batch-file.ts";

/** Lines in one request, of which the next begins when all are answered. */
const linesAtOnce = 256;
/** Attempts in a row that bring no answer. */
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
  readonly isDryRun: boolean;
  /** The rate table of exchanges that name none: they are carried out at it, or not at all. */
  readonly tableId: string | undefined;
  readonly onResults: (results: readonly AnsweredLine[]) => void;
}

/** The state of a batch that a stop keeps for when it goes on. */
export class SentBatch {
  readonly start = new RunStart();
  /** Keys of lines that were sent, and may have been done without an answer. */
  readonly open = new Set<string>();
}

/** Sends the lines of a batch. Those without an answer are sent again with their keys. */
export class BatchSender {
  readonly #api: BatchServer;
  readonly #signal: AbortSignal;
  readonly #run: SentBatch;

  constructor(api: BatchServer, signal: AbortSignal, run: SentBatch) {
    this.#api = api;
    this.#signal = signal;
    this.#run = run;
  }

  /**
   * The id of the rate table in force.
   * @throws NoAnswer or FxError if it is not told
   */
  async tableId(): Promise<string> {
    const { tableId } = await this.#insist(() => this.#api.get<RatesJson>("api/rates", this.#signal));
    return tableId;
  }

  /**
   * Carries out lines, in their order, or tries them. A dry run is one request, because each line is answered as those
   * before it would leave the ledger.
   * @returns the failure that is not of one line, after which nothing is begun; the line that failed has no result
   * @throws NoAnswer or FxError if the rest is not answered
   */
  async send(lines: readonly KeyedLine[], { isDryRun, tableId, onResults }: Sending) {
    const size = isDryRun ? lines.length : linesAtOnce;
    for (let start = 0; start < lines.length; start += size) {
      const some = lines.slice(start, start + size);
      const sent = some.map((line) => atTable(line, tableId));
      let end: FxError | undefined;
      let told = 0;
      const tell = (answers: readonly (BulkAnswer | undefined)[]) => {
        const results: AnsweredLine[] = [];
        for (let answer = answers[told]; answer !== undefined; told += 1, answer = answers[told]) {
          const result = resultOf(some[told] as KeyedLine, answer);
          if (result instanceof FxError) end ??= result;
          else results.push(result);
        }
        onResults(results);
      };
      if (isDryRun) tell(await this.#answersTo(sent, "api/bulk?dryRun=true"));
      // A stop or a fault later on takes nothing back that was answered.
      else await this.#answersTo(sent, "api/bulk", tell);
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** @param tell is called whenever answers have come; without it, each attempt asks for all of them again */
  async #answersTo(
    lines: readonly BulkLine[],
    path: string,
    tell?: (answers: readonly (BulkAnswer | undefined)[]) => void,
  ) {
    let answers = lines.map(unsendable);
    tell?.(answers);
    await this.#insist(async () => {
      if (tell === undefined) answers = lines.map(unsendable);
      await this.#ask(path, lines, answers, () => tell?.(answers));
    });
    return answers;
  }

  /** Sends those that have no answer yet, and takes their answers. */
  async #ask(
    path: string,
    lines: readonly BulkLine[],
    answers: (BulkAnswer | undefined)[],
    onAnswers: () => void,
  ): Promise<void> {
    const left = [...lines.entries()].flatMap(([index, line]) =>
      answers[index] !== undefined || line instanceof FxError ? [] : [{ index, line }],
    );
    if (left.length === 0) return;
    const body = left.map(({ line }) => `${encodeBulkLine(line)}\n`).join("");
    const init = { method: "POST", headers: { "content-type": bulkType }, body };
    let count = 0;
    try {
      for await (const texts of this.#api.lines(path, this.#signal, init, (headers) =>
        this.#run.start.hear(headers.get("date")),
      )) {
        try {
          for (const text of texts) {
            const { line: number, answer } = decodeBulkAnswer(JSON.parse(text));
            if (number === undefined && answer instanceof FxError) throw answer;
            const asked = left[count];
            if (asked === undefined || number !== count + 1) throw new NoAnswer();
            answers[asked.index] = this.#settled(asked.line.key ?? "", answer);
            count += 1;
          }
        } finally {
          onAnswers();
        }
      }
      if (count < left.length) throw new NoAnswer();
    } catch (failure) {
      // A refusal of the whole came before any was begun.
      const isBegun = !(failure instanceof ProblemAnswer);
      if (isBegun) for (const { line } of left.slice(count)) this.#run.open.add(line.key ?? "");
      throw failure;
    }
  }

  /** A line that this run has done over a connection that broke was not done before. */
  #settled(key: string, answer: BulkAnswer): BulkAnswer {
    const { open, start } = this.#run;
    const wasSent = open.has(key);
    if (answer instanceof FxError && undecided.includes(answer.code)) open.add(key);
    else if (!(answer instanceof FxError) || isOfRequest(answer.code)) open.delete(key);
    return wasSent && "receiptId" in answer ? start.answerAfter(answer) : answer;
  }

  /** Asks again while the server is busy or not there. */
  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask();
      } catch (thrown) {
        const failure = thrown instanceof ProblemAnswer ? errorOf(thrown) : thrown;
        this.#signal.throwIfAborted();
        const isBusy = failure instanceof FxError && ["overloaded", "rate-limited"].includes(failure.code);
        if (!isBusy && !(failure instanceof NoAnswer)) throw failure;
        if (attempt >= (isBusy ? busyAttempts : attempts)) throw failure;
        await new Promise((resolve) => setTimeout(resolve, Math.min(attempt, attempts) * 500));
      }
    }
  }
}

function atTable({ request }: KeyedLine, tableId: string | undefined): BulkLine {
  if (request instanceof Error) return request as FxError;
  return request.kind === "exchange" ? { ...request, table: request.table ?? tableId } : request;
}

function resultOf(line: KeyedLine, answer: BulkAnswer): AnsweredLine | FxError {
  if (!(answer instanceof FxError)) return doneLine(line, answer);
  const { request } = line;
  const hasOwnTable =
    !(request instanceof Error) && request.kind === "exchange" && request.table !== undefined;
  if (answer.code === "rate-changed" && !hasOwnTable) return answer;
  return isOfRequest(answer.code) ? { line, state: "refused", error: answer } : answer;
}

/** The answer to a line that cannot be sent. */
function unsendable(line: BulkLine): BulkAnswer | undefined {
  if (line instanceof FxError) return line;
  try {
    encodeBulkLine(line);
    return undefined;
  } catch (error) {
    if (error instanceof FxError) return error;
    throw error;
  }
}

function errorOf({ problem }: ProblemAnswer): FxError {
  return decodeProblem(problem, problem.status) ?? new FxError("internal", problem.detail);
}
