import { type Readings, readingsOf } from "../../batch/encoding.ts";
import type { KeyedLine } from "../../batch/keys.ts";
import { UnfitFile } from "../../batch/unfit-file.ts";
import { warsawDate } from "../../core/date.ts";
import { isRefusal } from "../answers.ts";
import { Watched } from "../watched.ts";
import { type AnsweredLine, type KeyedFile, readBatch } from "./batch-file.ts";
import { BatchSender, type BatchServer, tableInForce } from "./batch-sending.ts";

/** In bytes: a file is read as a whole, and kept. */
const largestFile = 32 * 1024 * 1024;

/** Why a file cannot be read as a batch, beside what is wrong with its content. */
type FileProblem = "tooLarge" | "unreadable" | "empty";

/** A batch as it stands. */
interface BatchState {
  readonly step: "choose" | "reading" | "checking" | "checked" | "working" | "stopped" | "finished";
  readonly name: string;
  readonly file: KeyedFile | undefined;
  /** The results of the dry run, then of the run. The array only grows, so that a chunk costs its own length. */
  readonly results: AnsweredLine[];
  readonly count: Readonly<Record<AnsweredLine["state"], number>>;
  readonly fault: unknown;
  /** The id of the rate table that the lines were tried at: they are carried out at no other. */
  readonly tableId: string | undefined;
  /** A file that may be in another encoding. */
  readonly undecoded: (Readings & { readonly chosen: File }) | undefined;
}

const none = { done: 0, replayed: 0, refused: 0, unknown: 0 };

const noBatch: Omit<BatchState, "results"> = {
  step: "choose",
  name: "",
  file: undefined,
  count: none,
  fault: undefined,
  tableId: undefined,
  undecoded: undefined,
};

/** The batch that is tried or carried out. It goes on while its view is closed, or the page locked. */
export class BatchJob extends Watched {
  /** The server, with the token in use. */
  readonly #server: BatchServer;
  readonly #onMoved: () => void;
  /** A copy of the server, with the token in use when the dry run or the run began. */
  #api: BatchServer;
  #state: BatchState = { ...noBatch, results: [] };
  /** The batch before the dry run. It is there again if the dry run ends early. */
  #before = this.#state;
  /** Ends the run. Its later results are ignored. */
  #control = new AbortController();
  #sender = new BatchSender();

  /** @param onMoved is called when a run has ended that moved money */
  constructor(api: BatchServer, onMoved: () => void) {
    super();
    this.#server = api;
    this.#api = api;
    this.#onMoved = onMoved;
  }

  get state(): BatchState {
    return this.#state;
  }

  /** The number of lines that were sent, and may have been done without an answer. */
  get unanswered(): number {
    return this.#sender.unknown.size;
  }

  get isBusy(): boolean {
    return ["reading", "checking", "working"].includes(this.#state.step);
  }

  /** Reads a file, and tries what each line would do. */
  async choose(chosen: File | undefined, encoding?: string): Promise<void> {
    if (chosen === undefined || this.isBusy) return;
    this.leave();
    this.#api = this.#server.copy();
    this.#set({ step: "reading", name: chosen.name });
    const { signal } = this.#control;
    const unfit = (fault: FileProblem | UnfitFile, undecoded?: BatchState["undecoded"]) =>
      this.#set({ step: "choose", fault, undecoded });
    if (chosen.size > largestFile) return unfit("tooLarge");
    const today = warsawDate(new Date());
    const bytes = await chosen.arrayBuffer().then(
      (buffer) => new Uint8Array(buffer),
      () => undefined,
    );
    if (signal.aborted) return;
    if (bytes === undefined) return unfit("unreadable");
    try {
      const file = readBatch(bytes, today, encoding);
      if (file.lines.length === 0) return unfit("empty");
      this.#sender = new BatchSender();
      this.#set({ file });
    } catch (fault) {
      if (!(fault instanceof UnfitFile)) return unfit("unreadable");
      const isInDoubt = fault.fault === "encoding";
      return unfit(fault, isInDoubt ? { chosen, ...readingsOf(bytes, encoding) } : undefined);
    }
    await this.#run(true);
  }

  /** Carries out what was tried, or goes on with the rest. */
  async work(): Promise<void> {
    const { step } = this.#state;
    if (step !== "checked" && step !== "stopped") return;
    if (step === "checked") this.#set({ results: [], count: none });
    this.#set({ fault: undefined });
    this.#api = this.#server.copy();
    await this.#run(false);
    this.#onMoved();
    const { step: end, fault } = this.#state;
    if (end !== "stopped" || !isRefusal(fault, "rate-changed")) return;
    this.#before = this.#state;
    // Lines already done are reported as done before; the fault says why it is tried again.
    this.#set({ results: [], count: none });
    await this.#run(true);
  }

  stop(): void {
    if (!this.isBusy) return;
    this.#control.abort();
    this.#end(undefined, true);
  }

  /** Makes room for another file. */
  leave(): void {
    if (this.isBusy) return;
    this.#control = new AbortController();
    this.#set({ ...noBatch, results: [] });
    this.#before = this.#state;
  }

  /** Forgets what another teller has tried and not carried out. */
  handOver(): void {
    if (["working", "stopped", "finished"].includes(this.#state.step)) return;
    this.#control.abort();
    this.#set(this.#before);
  }

  /** Sends the lines that have no result yet. A dry run is at the rate table that is in force now. */
  async #run(isDryRun: boolean): Promise<void> {
    this.#set({ step: isDryRun ? "checking" : "working" });
    this.#control = new AbortController();
    const { signal } = this.#control;
    const api = this.#api;
    const { file, results } = this.#state;
    const lines = file?.lines ?? [];
    const had = new Set(results.map(({ line }) => line));
    const left = lines.filter((line) => !had.has(line));
    let fault: unknown;
    try {
      if (isDryRun && lines.some(isPriced)) {
        const tableId = await tableInForce({ api, signal });
        signal.throwIfAborted();
        this.#set({ tableId });
      }
      const sending = { api, signal, isDryRun, tableId: this.#state.tableId };
      for await (const more of this.#sender.send(left, sending)) if (!signal.aborted) this.#add(more);
    } catch (thrown) {
      fault = thrown;
    }
    if (signal.aborted) this.changed();
    else this.#end(fault, fault !== undefined);
  }

  #add(more: readonly AnsweredLine[]): void {
    const { results, count } = this.#state;
    const next = { ...count };
    for (const result of more) {
      results.push(result);
      next[result.state] += 1;
    }
    this.#set({ count: next });
  }

  /** A dry run that ended early is of no use; what was carried out before it is kept. */
  #end(fault: unknown, isEarly: boolean): void {
    // Lines that cannot be sent have their results before the lines beside them are answered.
    this.#state.results.sort((a, b) => a.line.number - b.line.number);
    if (this.#state.step === "working") this.#set({ step: isEarly ? "stopped" : "finished", fault });
    else this.#set(isEarly ? { ...this.#before, fault: fault ?? this.#before.fault } : { step: "checked" });
  }

  #set(change: Partial<BatchState>): void {
    this.#state = { ...this.#state, ...change };
    this.changed();
  }
}

function isPriced({ request }: KeyedLine): boolean {
  return !(request instanceof Error) && request.kind === "exchange";
}
