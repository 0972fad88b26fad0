import { parseHead } from "../../core/checkpoint.ts";
import type { AuditProgress } from "../../core/service.ts";
import type { AuditJson, CheckpointStart } from "../../wire/audit.ts";
import { NoAnswer } from "../answers.ts";
import type { Api } from "../api.ts";
import { Watched } from "../watched.ts";

/** The shortest time between two updates of the screen, as chunks come faster. */
const showEveryMs = 100;

/** How an audit ended. */
type AuditEnd =
  | { readonly report: AuditJson; readonly seconds: number }
  | { readonly failure: unknown }
  | "stopped";

/** The audit that is under way, or was the last. It goes on while its view is closed, or the page locked. */
export class AuditJob extends Watched {
  readonly #api: Api;
  #control = new AbortController();
  #progress: AuditProgress | undefined;
  #end: AuditEnd | undefined;

  constructor(api: Api) {
    super();
    this.#api = api;
  }

  /** Undefined unless it runs. */
  get progress(): AuditProgress | undefined {
    return this.#progress;
  }

  get end(): AuditEnd | undefined {
    return this.#end;
  }

  async run(): Promise<void> {
    if (this.#progress !== undefined) return;
    this.#control = new AbortController();
    const { signal } = this.#control;
    const began = performance.now();
    this.#set({ accounts: 0, entries: 0, totalEntries: 0 });
    try {
      const report = await this.#audit(signal);
      this.#set(undefined, { report, seconds: (performance.now() - began) / 1000 });
    } catch (failure) {
      // An answer that is not JSON is not of fx.
      const fault = failure instanceof SyntaxError ? new NoAnswer() : failure;
      if (!signal.aborted) this.#set(undefined, { failure: fault });
    }
  }

  stop(): void {
    this.#control.abort();
    this.#set(undefined, "stopped");
  }

  /**
   * Has the server audit, as a checkpoint: that comes as the accounts are read, and so tells how far it is.
   * @throws NoAnswer if its end is missing
   */
  async #audit(signal: AbortSignal): Promise<AuditJson> {
    let start: CheckpointStart | undefined;
    let last = "";
    let [accounts, entries] = [0, 0];
    let shown = performance.now();
    for await (const lines of this.#api.copy().lines("api/audit/checkpoint", signal)) {
      for (const line of lines) {
        const head = parseHead(line);
        if (head !== undefined) {
          accounts += 1;
          entries += head.entries;
        } else if (start === undefined) start = JSON.parse(line) as CheckpointStart;
        else last = line;
      }
      if (performance.now() - shown < showEveryMs) continue;
      shown = performance.now();
      this.#set({ accounts, entries, totalEntries: start?.entries ?? 0 });
    }
    if (last === "") throw new NoAnswer();
    return JSON.parse(last) as AuditJson;
  }

  #set(progress: AuditProgress | undefined, end?: AuditEnd): void {
    this.#progress = progress;
    this.#end = end;
    this.changed();
  }
}
