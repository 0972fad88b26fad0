import type { RateTable } from "../core/rates.ts";
import { clockProblem, type Known, type Prices, problemOf } from "./trading.ts";

/** What became of the rates, for the log. */
export type RatesEvent =
  | { readonly kind: "in-force"; readonly table: RateTable; readonly from: "bank" | "recording" | "ledger" }
  | { readonly kind: "not-trading"; readonly problem: string }
  | { readonly kind: "refused"; readonly table: string; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string; readonly retryInMs: number }
  | { readonly kind: "history-failed"; readonly problem: string }
  | { readonly kind: "clock"; readonly problem: string };

/** Reports what is new about the rates, once. */
export class RatesNews {
  readonly #onEvent: (event: RatesEvent) => void;
  readonly #told = new Map<string, unknown>();

  constructor(onEvent: (event: RatesEvent) => void) {
    this.#onEvent = onEvent;
  }

  /** @param accepted the id of the last table that this process put in force */
  tell(known: Known, { notTraded }: Prices, accepted: string | undefined, retryInMs: number): void {
    const { source, inForce, heldBack, ledgerFailure, clockAheadMs } = known;
    const table = inForce?.table;
    const problem = problemOf(known) ?? "";
    const clock = clockProblem(clockAheadMs, source.name);
    if (notTraded !== undefined) {
      const state = `${notTraded.kind} ${table?.source}`;
      this.#once("trading", state, { kind: "not-trading", problem: notTraded.reason });
    } else if (table !== undefined) {
      const from = table.id !== accepted ? "ledger" : source.recorded ? "recording" : "bank";
      this.#once("trading", table.id, { kind: "in-force", table, from });
    }
    const refused = heldBack && ({ kind: "refused", table: heldBack.table.number, problem } as const);
    this.#once("held back", heldBack?.table.id, refused);
    const failed = ledgerFailure && ({ kind: "failed", problem: ledgerFailure, retryInMs } as const);
    this.#once("ledger", ledgerFailure, failed || undefined);
    this.#once(
      "clock",
      clock !== undefined,
      clock === undefined ? undefined : { kind: "clock", problem: clock },
    );
  }

  #once(what: string, state: unknown, event: RatesEvent | undefined): void {
    if (this.#told.get(what) === state) return;
    this.#told.set(what, state);
    if (event !== undefined) this.#onEvent(event);
  }
}
