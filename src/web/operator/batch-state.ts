import type { Readings } from "../../batch/encoding.ts";
import type { AnsweredLine, KeyedFile } from "./batch-file.ts";

type Step = "choose" | "reading" | "checking" | "checked" | "working" | "stopped" | "finished";

/** A batch as it stands. */
export interface BatchState {
  readonly step: Step;
  /** Counts the runs: what a run that was left behind still tells changes nothing. */
  readonly nth: number;
  readonly name: string;
  readonly file: KeyedFile | undefined;
  /**
   * The results of the dry run, then of the run. The array is shared by all states of a run and only grows, so that a
   * chunk costs its own length; `count` says how much of it belongs to this state.
   */
  readonly results: AnsweredLine[];
  readonly count: Readonly<Record<AnsweredLine["state"], number>>;
  readonly fault: unknown;
  /** A file that may be in another encoding. */
  readonly undecoded: Undecoded | undefined;
}

interface Undecoded extends Readings {
  readonly chosen: File;
}

export type BatchEvent =
  | { readonly is: "chosen"; readonly name: string }
  | {
      readonly is: "unfit";
      readonly nth: number;
      readonly fault: unknown;
      readonly undecoded?: Undecoded | undefined;
    }
  | { readonly is: "read"; readonly nth: number; readonly file: KeyedFile }
  | { readonly is: "carried out" | "tried again" }
  | { readonly is: "results"; readonly nth: number; readonly more: readonly AnsweredLine[] }
  | { readonly is: "ended"; readonly nth: number; readonly fault?: unknown }
  | { readonly is: "stopped" }
  | { readonly is: "left" };

const none = { done: 0, replayed: 0, refused: 0 };

export const noBatch: BatchState = {
  step: "choose",
  nth: 0,
  name: "",
  file: undefined,
  results: [],
  count: none,
  fault: undefined,
  undecoded: undefined,
};

export function isBusy({ step }: BatchState): boolean {
  return step === "reading" || step === "checking" || step === "working";
}

/** The batch after an event. */
export function stepBatch(state: BatchState, event: BatchEvent): BatchState {
  if ("nth" in event && (event.nth !== state.nth || !isBusy(state))) return state;
  const nth = state.nth + 1;
  switch (event.is) {
    case "chosen":
      return isBusy(state) ? state : { ...noBatch, results: [], nth, name: event.name, step: "reading" };
    case "unfit":
      if (state.step !== "reading") return state;
      return { ...state, step: "choose", fault: event.fault, undecoded: event.undecoded };
    case "read":
      return state.step === "reading" ? { ...state, step: "checking", file: event.file } : state;
    case "carried out": {
      if (state.step === "checked") {
        return { ...state, nth, step: "working", results: [], count: none, fault: undefined };
      }
      return state.step === "stopped" ? { ...state, nth, step: "working", fault: undefined } : state;
    }
    case "tried again":
      // Lines already done are reported as done before; the fault says why it is tried again.
      return state.step === "stopped" ? { ...state, nth, step: "checking", results: [], count: none } : state;
    case "results":
      if (state.step === "reading") return state;
      state.results.push(...event.more);
      return { ...state, count: counted(state.count, event.more) };
    case "ended":
      return ended(state, event.fault);
    case "stopped":
      return isBusy(state) ? ended(state, "stopped") : state;
    case "left":
      return isBusy(state) ? state : { ...noBatch, results: [], nth };
  }
}

/** A dry run that ended early is of no use; what was carried out is kept. */
function ended(state: BatchState, fault: unknown): BatchState {
  const told = fault === "stopped" ? undefined : fault;
  if (state.step === "working") {
    return { ...state, step: fault === undefined ? "finished" : "stopped", fault: told };
  }
  return fault === undefined ? { ...state, step: "checked" } : { ...noBatch, nth: state.nth, fault: told };
}

function counted(count: BatchState["count"], more: readonly AnsweredLine[]): BatchState["count"] {
  const next = { ...count };
  for (const { state } of more) next[state] += 1;
  return next;
}
