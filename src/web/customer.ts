import type { EntryKind } from "../core/journal.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import { isOutcomeUnknown, isRefusal } from "./answers.ts";
import type { DeskRequest, Name } from "./requests.ts";

/** A request that is asked about, or was sent. */
export interface Order extends DeskRequest {
  readonly holder: Name;
  /** The idempotency key: one order, however often it is sent. */
  readonly key: string;
}

/** A message about an order: the name of a text, or a failure. */
export type Message =
  | { readonly text: "rateMoved"; readonly was: QuoteJson }
  | { readonly text: "notSoFar" | "givenUp" | "notSent" | "reasonMissing" }
  | { readonly failure: unknown };

/**
 * Where an order stands. Until it is settled or given up, the same one is sent again or looked up, and no other begun:
 * a statement without it says nothing of a request that is still on its way.
 * asking: its price and the account are being read. asked: it is shown, and waits for a yes. sending: sent, the answer
 * is under way; `isRepeat` if it was sent before, too. unknown: sent, and no answer of fx came. looking: being looked
 * up in the statement.
 */
export type OrderState =
  | { readonly stage: "asking"; readonly key: string; readonly kind: EntryKind }
  | { readonly stage: "asked" | "unknown" | "looking"; readonly order: Order }
  | { readonly stage: "sending"; readonly order: Order; readonly isRepeat: boolean };

/** The work under way for one customer. */
export interface Customer {
  readonly at: OrderState | undefined;
  /** The newest message, with the kind of its order, and the price that was refused. */
  readonly message:
    | { readonly kind: EntryKind; readonly what: Message; readonly quote?: QuoteJson | undefined }
    | undefined;
  /** The receipt in sight. */
  readonly receiptId: string | undefined;
}

export type CustomerEvent =
  | { readonly is: "asks"; readonly key: string; readonly kind: EntryKind }
  | { readonly is: "priced"; readonly order: Order; readonly what?: Message | undefined }
  | { readonly is: "not priced"; readonly key: string; readonly failure: unknown }
  | { readonly is: "cancels" }
  | { readonly is: "gives reason"; readonly key: string; readonly reason: string }
  | { readonly is: "confirms"; readonly key: string }
  | { readonly is: "done"; readonly key: string; readonly receiptId: string }
  | { readonly is: "failed"; readonly key: string; readonly failure: unknown }
  | { readonly is: "looks"; readonly key: string }
  | { readonly is: "not found"; readonly key: string; readonly what: Message }
  | { readonly is: "gives up"; readonly key: string }
  | { readonly is: "shows receipt"; readonly receiptId: string | undefined };

export const newCustomer: Customer = {
  at: undefined,
  message: undefined,
  receiptId: undefined,
};

/** The order that was sent and is not settled. */
export function orderOut({ at }: Customer): Order | undefined {
  return at === undefined || at.stage === "asking" || at.stage === "asked" ? undefined : at.order;
}

/** Whether the order was sent, no answer of fx came, and it is not settled since. */
export function isUnknown(at: OrderState): boolean {
  if (at.stage === "sending") return at.isRepeat;
  return at.stage === "unknown" || at.stage === "looking";
}

/** The order of these kinds that is asked about, or sent and not settled. */
export function orderOf({ at }: Customer, kinds: readonly EntryKind[]): Order | undefined {
  if (at === undefined || at.stage === "asking") return undefined;
  return kinds.includes(at.order.kind) ? at.order : undefined;
}

/** The state after an event. An event of an earlier question or order changes nothing. */
export function step(state: Customer, event: CustomerEvent): Customer {
  switch (event.is) {
    case "shows receipt":
      return { ...state, receiptId: event.receiptId };
    case "asks":
      if (orderOut(state) !== undefined) return state;
      // The receipt of the order before would stand beside this one.
      return { ...newCustomer, at: { stage: "asking", key: event.key, kind: event.kind } };
    case "cancels":
      return orderOut(state) === undefined ? { ...state, at: undefined, message: undefined } : state;
    case "priced":
    case "not priced":
      return priced(state, event);
    default:
      return sent(state, event);
  }
}

function priced(state: Customer, event: Extract<CustomerEvent, { is: "priced" | "not priced" }>): Customer {
  const { at } = state;
  const key = event.is === "priced" ? event.order.key : event.key;
  if (at?.stage !== "asking" || at.key !== key) return state;
  const { kind } = at;
  if (event.is === "not priced") {
    const { failure } = event;
    // Whoever has signed in again is not told of the earlier token.
    const message = isRefusal(failure, "unauthorized") ? undefined : { kind, what: { failure } };
    return { ...state, at: undefined, message };
  }
  const message = event.what && { kind, what: event.what };
  return { ...state, at: { stage: "asked", order: event.order }, message };
}

type SentEvent = Exclude<Extract<CustomerEvent, { readonly key: string }>, { is: "asks" | "not priced" }>;

function sent(state: Customer, event: SentEvent): Customer {
  const { at } = state;
  if (at === undefined || at.stage === "asking" || at.order.key !== event.key) return state;
  const { order, stage } = at;
  const tell = (what: Message) => ({ kind: order.kind, what });
  switch (event.is) {
    case "gives reason":
      // A repeated request is the same as the first.
      return stage === "asked"
        ? { ...state, at: { stage, order: { ...order, body: { reason: event.reason } } }, message: undefined }
        : state;
    case "confirms":
      // The server would refuse it, and the question about the entry would close.
      if ("reason" in order.body && reasonOf(order).trim() === "") {
        return { ...state, message: tell({ text: "reasonMissing" }) };
      }
      return stage === "asked" || stage === "unknown"
        ? { ...state, at: { stage: "sending", order, isRepeat: stage === "unknown" }, message: undefined }
        : state;
    case "done":
      return stage === "asked" ? state : { at: undefined, message: undefined, receiptId: event.receiptId };
    case "failed":
      return at.stage === "sending" ? failed(state, at, event.failure) : state;
    case "looks":
      return stage === "unknown" ? { ...state, at: { stage: "looking", order }, message: undefined } : state;
    case "not found":
      return stage === "looking"
        ? { ...state, at: { stage: "unknown", order }, message: tell(event.what) }
        : state;
    case "gives up":
      return stage === "unknown" ? { ...state, at: undefined, message: tell({ text: "givenUp" }) } : state;
  }
}

/** The reason typed for a reversal, a block or an unblock. */
export function reasonOf({ body }: Order): string {
  return (body as { readonly reason?: string }).reason ?? "";
}

function failed(
  state: Customer,
  { order, isRepeat }: Extract<OrderState, { stage: "sending" }>,
  failure: unknown,
): Customer {
  const tell = (what: Message) => ({ kind: order.kind, what });
  if (isOutcomeUnknown(failure, isRepeat)) return { ...state, at: { stage: "unknown", order } };
  // Whoever has to sign in again finds the question as it was.
  if (isRefusal(failure, "unauthorized")) {
    return { ...state, at: { stage: "asked", order }, message: tell({ text: "notSent" }) };
  }
  return { ...state, at: undefined, message: { ...tell({ failure }), quote: order.quote } };
}
