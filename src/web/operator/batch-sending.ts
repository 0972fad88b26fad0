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

interface Sendable {
  readonly line: KeyedLine;
  readonly text: string;
}

interface Answered {
  readonly line: KeyedLine;
  readonly answer: BulkAnswer;
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
  async send(lines: readonly KeyedLine[], sending: Sending): Promise<FxError | undefined> {
    const size = sending.isDryRun ? lines.length : linesAtOnce;
    for (let start = 0; start < lines.length; start += size) {
      const end = await this.#sendTogether(lines.slice(start, start + size), sending);
      if (end !== undefined) return end;
    }
    return undefined;
  }

  async #sendTogether(lines: readonly KeyedLine[], { isDryRun, tableId, onResults }: Sending) {
    let end: FxError | undefined;
    const take = (answers: readonly Answered[]) => {
      const results = answers.map(({ line, answer }) => resultOf(line, answer));
      end ??= results.find((result) => result instanceof FxError);
      onResults(results.flatMap((result) => (result instanceof FxError ? [] : [result])));
    };
    const unsendable: Answered[] = [];
    let left: Sendable[] = [];
    for (const line of lines) {
      const text = textOf(line, tableId);
      if (text instanceof FxError) unsendable.push({ line, answer: text });
      else left.push({ line, text });
    }
    take(unsendable);
    await this.#insist(async () => {
      if (left.length === 0) return;
      const tried: Answered[] = [];
      // A stop or a fault later on takes nothing back that was answered; a dry run is answered as a whole.
      await this.#ask(isDryRun ? "api/bulk?dryRun=true" : "api/bulk", left, (answers) => {
        if (isDryRun) tried.push(...answers);
        else {
          left = left.slice(answers.length);
          take(answers);
        }
      });
      take(tried);
    });
    return end;
  }

  /** Sends lines, and gives their answers as they come. */
  async #ask(path: string, lines: readonly Sendable[], onAnswers: (answers: readonly Answered[]) => void) {
    const body = lines.map(({ text }) => `${text}\n`).join("");
    const init = { method: "POST", headers: { "content-type": bulkType }, body };
    let hasHead = false;
    const onHead = (headers: { get(name: string): string | null }) => {
      hasHead = true;
      this.#run.start.hear(headers.get("date"));
    };
    let count = 0;
    try {
      for await (const texts of this.#api.lines(path, this.#signal, init, onHead)) {
        const answers: Answered[] = [];
        try {
          for (const text of texts) {
            const { line: number, answer } = decodeBulkAnswer(JSON.parse(text));
            if (number === undefined && answer instanceof FxError) throw answer;
            const line = lines[count]?.line;
            if (line === undefined || number !== count + 1) throw new NoAnswer();
            answers.push({ line, answer: this.#settled(line.key, answer) });
            count += 1;
          }
        } finally {
          onAnswers(answers);
        }
      }
      if (count < lines.length) throw new NoAnswer();
    } catch (failure) {
      // A refusal of the whole came before any was begun.
      const isBegun = hasHead || !(failure instanceof FxError);
      if (isBegun) for (const { line } of lines.slice(count)) this.#run.open.add(line.key);
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
      } catch (failure) {
        this.#signal.throwIfAborted();
        const isBusy = failure instanceof FxError && ["overloaded", "rate-limited"].includes(failure.code);
        if (!isBusy && !(failure instanceof NoAnswer)) throw failure;
        if (attempt >= (isBusy ? busyAttempts : attempts)) throw failure;
        await new Promise((resolve) => setTimeout(resolve, Math.min(attempt, attempts) * 500));
      }
    }
  }
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
