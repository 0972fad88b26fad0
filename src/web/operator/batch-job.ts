import { readingsOf } from "../../batch/encoding.ts";
import type { KeyedLine } from "../../batch/keys.ts";
import { UnfitFile } from "../../batch/unfit-file.ts";
import { warsawDate } from "../../core/date.ts";
import { FxError } from "../../core/errors.ts";
import type { Api } from "../api.ts";
import { StateMachine } from "../state-machine.ts";
import { type AnsweredLine, readBatch } from "./batch-file.ts";
import { BatchSender, SentBatch } from "./batch-sending.ts";
import { type BatchEvent, type BatchState, isBusy, noBatch, stepBatch } from "./batch-state.ts";

/** In bytes: what is read at once, and kept. */
const largestFile = 32 * 1024 * 1024;

/** Why a file cannot be read as a batch, beside what is wrong with its content. */
type FileProblem = "tooLarge" | "unreadable" | "empty";

/** The batch that is tried or carried out. It goes on while its view is closed, or the page locked. */
export class BatchJob extends StateMachine<BatchState, BatchEvent> {
  readonly #onMoved: () => void;
  /** The rate table that the lines were tried at, by its id, and that they are carried out at or not at all. */
  #tableId: string | undefined;
  #control = new AbortController();
  #sending = new SentBatch();

  /** @param onMoved is called when a run has ended that moved money */
  constructor(onMoved: () => void) {
    super(noBatch, stepBatch);
    this.#onMoved = onMoved;
  }

  get isBusy(): boolean {
    return isBusy(this.state);
  }

  /** Reads a file, and tries what each line would do. */
  async choose(api: Api, chosen: File | undefined, encoding?: string): Promise<void> {
    if (chosen === undefined || this.isBusy) return;
    const { nth } = this.tell({ is: "chosen", name: chosen.name });
    const unfit = (fault: FileProblem) => this.tell({ is: "unfit", nth, fault });
    if (chosen.size > largestFile) return void unfit("tooLarge");
    const today = warsawDate(new Date());
    let file: ReturnType<typeof readBatch>;
    let bytes = new Uint8Array();
    try {
      bytes = new Uint8Array(await chosen.arrayBuffer());
      file = readBatch(bytes, today, encoding);
    } catch (fault) {
      if (!(fault instanceof UnfitFile)) return void unfit("unreadable");
      const isInDoubt = fault.fault === "encoding";
      const undecoded = isInDoubt ? { chosen, ...readingsOf(bytes, encoding) } : undefined;
      return void this.tell({ is: "unfit", nth, fault, undecoded });
    }
    if (file.lines.length === 0) return void unfit("empty");
    this.#sending = new SentBatch();
    if (this.tell({ is: "read", nth, file }).step === "checking") await this.#run(api, true);
  }

  /** Carries out what was tried, or goes on with the rest. */
  async work(api: Api): Promise<void> {
    const before = this.state;
    if (this.tell({ is: "carried out" }) === before) return;
    await this.#run(api, false);
    this.#onMoved();
    const { step, fault } = this.state;
    const isMoved = fault instanceof FxError && fault.code === "rate-changed";
    if (step === "stopped" && isMoved && this.tell({ is: "tried again" }).step === "checking") {
      await this.#run(api, true);
    }
  }

  stop(): void {
    this.#control.abort();
    this.tell({ is: "stopped" });
  }

  /** Sends the lines that have no result yet. A dry run is at the rate table that is in force now. */
  async #run(api: Api, isDryRun: boolean): Promise<void> {
    this.#control = new AbortController();
    const sender = new BatchSender(api.copy(), this.#control.signal, this.#sending);
    const { nth, file, results } = this.state;
    const lines = file?.lines ?? [];
    const had = new Set(results.map(({ line }) => line));
    const left = lines.filter((line) => !had.has(line));
    const onResults = (more: readonly AnsweredLine[]) => this.tell({ is: "results", nth, more });
    try {
      if (isDryRun) this.#tableId = lines.some(isPriced) ? await sender.tableId() : undefined;
      const fault = await sender.send(left, { isDryRun, tableId: this.#tableId, onResults });
      this.tell({ is: "ended", nth, fault });
    } catch (fault) {
      this.tell({ is: "ended", nth, fault });
    }
  }
}

function isPriced({ request }: KeyedLine): boolean {
  return !(request instanceof Error) && request.kind === "exchange";
}
