import { isDeepStrictEqual } from "node:util";
import type { RateTable } from "../core/rates.ts";
import { clockProblem, type Known, problemOf } from "./trading.ts";

/** What became of the rates, for the log. */
export type RatesEvent =
  | { readonly kind: "in-force"; readonly table: RateTable; readonly from: "bank" | "recording" | "ledger" }
  | { readonly kind: "not-trading"; readonly problem: string }
  | { readonly kind: "refused"; readonly table: string; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string; readonly retryInMs: number }
  | { readonly kind: "clock"; readonly problem: string };

/** Reports what is new about the rates, once. */
export class RatesNews {
  readonly #onEvent: (event: RatesEvent) => void;
  readonly #told = new Map<string, unknown>();

  constructor(onEvent: (event: RatesEvent) => void) {
    this.#onEvent = onEvent;
  }

  /** @param accepted the id of the last table that this process put in force */
  tell(known: Known, notTraded: string | undefined, accepted: string | undefined, retryInMs: number): void {
    const { source, inForce, heldBack, ledgerFailure } = known;
    const table = inForce?.table;
    if (notTraded !== undefined) {
      this.#once("trading", { kind: "not-trading", problem: notTraded });
    } else if (table !== undefined) {
      const from = table.id !== accepted ? "ledger" : source.recorded ? "recording" : "bank";
      this.#once("trading", { kind: "in-force", table, from });
    }
    const refused = {
      kind: "refused",
      table: heldBack?.table.number ?? "",
      problem: problemOf(known) ?? "",
    } as const;
    this.#once("held back", heldBack && refused);
    this.#once(
      "ledger",
      ledgerFailure === undefined ? undefined : { kind: "failed", problem: ledgerFailure, retryInMs },
    );
    const clock = clockProblem(known.clockAheadMs, source.name);
    this.#once("clock", clock === undefined ? undefined : { kind: "clock", problem: clock });
  }

  /** @param event undefined when there is nothing to tell of `topic` any more */
  #once(topic: string, event: RatesEvent | undefined): void {
    if (isDeepStrictEqual(event, this.#told.get(topic))) return;
    this.#told.set(topic, event);
    if (event !== undefined) this.#onEvent(event);
  }
}
