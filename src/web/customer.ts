import { FxError } from "../core/errors.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import { isOutcomeUnknown, isRefusal } from "./answers.ts";
import type { DeskRequest, Name } from "./requests.ts";

/** A request that is asked about, or was sent. */
export interface Order extends DeskRequest {
  readonly holder: Name;
  /** The idempotency key: one order, however often it is sent. */
  readonly key: string;
  /** The name of the token of the teller who was asked. */
  readonly by: string | null;
}

/** A message about an order: the name of a text, or a failure with what was refused, and its price. */
export type Message = (
  | { readonly text: "rateMoved"; readonly was: QuoteJson }
  | { readonly text: "notSoFar" | "tradingDiffers" | "givenUp" | "notSent" }
  | {
      readonly failure: unknown;
      readonly kind?: DeskRequest["kind"];
      readonly quote?: QuoteJson | undefined;
    }
) & {
  /** The key of the order whose outcome this tells. */
  readonly key?: string | undefined;
};

/**
 * Where an order stands. Until it is settled or given up, the same one is sent again or looked up, and no other begun:
 * a statement without it says nothing of a request that is still on its way.
 * asking: its price and the account are being read; `was` is the price that the teller knows of. asked: it is shown,
 * and waits for a yes. sending: sent, the answer is under way; `isRepeat` if it was sent before, too. unknown: sent, and
 * no answer of fx came. looking: the same, and the statement is being read for it.
 */
export type OrderState =
  | { readonly stage: "asking"; readonly key: string; readonly was?: QuoteJson | undefined }
  | { readonly stage: "asked" | "unknown" | "looking"; readonly order: Order }
  | { readonly stage: "sending"; readonly order: Order; readonly isRepeat: boolean };

/** The work under way for one customer. */
export interface Customer {
  readonly at: OrderState | undefined;
  readonly message: Message | undefined;
  /** The order that was done last, until the next is asked about. */
  readonly done: Order | undefined;
  /** The receipt in sight: its own, or one of the statement. */
  readonly receiptId: string | undefined;
}

type OrderEvent =
  | { readonly is: "priced"; readonly order: Order; readonly what?: Message | undefined }
  | { readonly is: "not priced"; readonly kind: DeskRequest["kind"]; readonly failure: unknown }
  | { readonly is: "gives reason"; readonly reason: string }
  | { readonly is: "confirms" }
  | { readonly is: "done"; readonly receiptId: string }
  | { readonly is: "failed"; readonly failure: unknown }
  | { readonly is: "looks" }
  | { readonly is: "not found"; readonly what: Message }
  | { readonly is: "gives up" };

export type CustomerEvent =
  | { readonly is: "asks"; readonly key: string; readonly was?: QuoteJson | undefined }
  | { readonly is: "cancels" }
  | { readonly is: "shows receipt"; readonly receiptId: string | undefined }
  | (OrderEvent & { readonly key: string });

export const newCustomer: Customer = {
  at: undefined,
  message: undefined,
  done: undefined,
  receiptId: undefined,
};

/** The order that was sent and is not settled. */
export function orderOut({ at }: Customer): Order | undefined {
  return at === undefined || at.stage === "asking" || at.stage === "asked" ? undefined : at.order;
}

/** The order that is asked about, or sent and not settled. */
export function orderOf({ at }: Pick<Customer, "at">): Order | undefined {
  return at === undefined || at.stage === "asking" ? undefined : at.order;
}

export function keyOf(at: OrderState): string {
  return at.stage === "asking" ? at.key : at.order.key;
}

/** The state after an event. An event of an earlier question or order changes nothing. */
export function step(state: Customer, event: CustomerEvent): Customer {
  const { at } = state;
  switch (event.is) {
    case "shows receipt":
      return { ...state, done: undefined, receiptId: event.receiptId };
    case "asks": {
      if (orderOut(state) !== undefined) return state;
      // The receipt of the order before would stand beside this one.
      const { key, was } = event;
      return { ...newCustomer, at: { stage: "asking", key, was }, message: refusedPrice(state, was) };
    }
    case "cancels":
      return orderOut(state) === undefined ? { ...state, at: undefined, message: undefined } : state;
    default: {
      if (at === undefined || keyOf(at) !== event.key) return state;
      return { ...state, ...(at.stage === "asking" ? priced(state, event) : sent(at, event)) };
    }
  }
}

/** The refusal of this price. It stays until a question at another price tells it. */
function refusedPrice({ message }: Customer, was: QuoteJson | undefined): Message | undefined {
  if (message === undefined || !("failure" in message) || message.quote !== was) return undefined;
  return isRefusal(message.failure, "rate-changed") ? message : undefined;
}

function priced({ message }: Customer, event: OrderEvent): Partial<Customer> {
  if (event.is === "priced") {
    const { order, what } = event;
    return { at: { stage: "asked", order }, message: what ? { ...what, key: message?.key } : message };
  }
  if (event.is !== "not priced") return {};
  const { kind, failure } = event;
  // Whoever has signed in again is not told of the earlier token.
  const told = isRefusal(failure, "unauthorized") ? undefined : { kind, failure };
  return { at: undefined, message: message ?? told };
}

function sent(at: Exclude<OrderState, { stage: "asking" }>, event: OrderEvent): Partial<Customer> {
  const { order, stage } = at;
  switch (event.is) {
    case "gives reason":
      // A repeated request is the same as the first.
      return stage === "asked" ? { at: { stage, order: { ...order, body: { reason: event.reason } } } } : {};
    case "confirms":
      if (stage === "sending" || stage === "looking") return {};
      return { at: { stage: "sending", order, isRepeat: stage === "unknown" }, message: undefined };
    case "done":
      if (stage === "asked") return {};
      return { at: undefined, message: undefined, done: order, receiptId: event.receiptId };
    case "failed":
      return at.stage === "sending" ? failed(order, at.isRepeat, event.failure) : {};
    case "looks":
      return stage === "unknown" ? { at: { stage: "looking", order }, message: undefined } : {};
    case "not found":
      return stage === "looking" ? { at: { stage: "unknown", order }, message: event.what } : {};
    case "gives up":
      return stage === "unknown" ? { at: undefined, message: { text: "givenUp" } } : {};
    default:
      return {};
  }
}

function failed(order: Order, isRepeat: boolean, failure: unknown): Partial<Customer> {
  const isSignedOut = isRefusal(failure, "unauthorized");
  if (isOutcomeUnknown(failure, isRepeat)) {
    // The reason of a refusal: another teller's role may not allow the order.
    const isTold = failure instanceof FxError && !isSignedOut;
    return { at: { stage: "unknown", order }, message: isTold ? { failure } : undefined };
  }
  // Whoever has to sign in again finds the question as it was.
  const { kind, quote, key } = order;
  if (isSignedOut) return { at: { stage: "asked", order }, message: { text: "notSent", key } };
  return { at: undefined, message: { kind, failure, quote, key } };
}
