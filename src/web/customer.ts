import type { EntryKind } from "../core/journal.ts";
import type { MoneyJson, QuoteJson } from "../wire/schemas.ts";
import { isOpen, ProblemAnswer } from "./answers.ts";

/** What is typed in the ticket. */
export interface TicketDraft {
  readonly from: string;
  readonly to: string;
  readonly side: "toBuy" | "toSell";
  readonly typed: string;
}

/** What is typed for a deposit or a withdrawal. */
export interface CashDraft {
  readonly typed: string;
  readonly currency: string;
  readonly note: string;
}

/** One request that moves money, or changes an account. */
export interface Order {
  readonly kind: EntryKind;
  readonly pesel: string;
  readonly holder: { readonly name: string; readonly surname: string };
  readonly path: string;
  readonly body: object;
  /** The idempotency key: one order, however often it is sent. */
  readonly key: string;
  /** The id of the only rate table that it may be settled at. */
  readonly tableId?: string | undefined;
  /** What leaves the account. */
  readonly out?: MoneyJson | undefined;
  /** What comes to it. */
  readonly in?: MoneyJson | undefined;
  readonly quote?: QuoteJson | undefined;
  /** The holder's name after a renaming. */
  readonly renamed?: { readonly name: string; readonly surname: string } | undefined;
  /** The entry that a reversal undoes. */
  readonly undone?: { readonly kind: EntryKind; readonly time: string } | undefined;
}

/** What the teller is told of an order: by the name of a text, or as the failure that came. */
export type Told =
  | { readonly text: "outcomeUnknown" | "rateMoved" | "notSoFar" | "mayStillBeDone" | "givenUp" | "notSent" }
  | { readonly failure: unknown };

/**
 * Where an order stands. Until it is settled or given up, the same one is sent again or looked up, and no other begun:
 * a statement without it says nothing of a request that is still on its way.
 * asking: its price and the account are being read. asked: it is shown, and waits for a yes. sending: sent, the answer
 * is under way; `isRepeat` if it was sent before, too. unknown: sent, and no answer of fx came. looking: being looked
 * up in the statement. leaving: the teller is asked whether to give it up, although it may still be done.
 */
export type OrderState =
  | { readonly stage: "asking"; readonly nth: number; readonly kind: EntryKind }
  | { readonly stage: "asked" | "unknown" | "looking" | "leaving"; readonly order: Order }
  | { readonly stage: "sending"; readonly order: Order; readonly isRepeat: boolean };

/** What is under way for one customer. */
export interface Customer {
  readonly ticket: TicketDraft;
  readonly cash: CashDraft;
  readonly at: OrderState | undefined;
  /** What was told last, and of which kind of order. */
  readonly told: { readonly kind: EntryKind; readonly what: Told } | undefined;
  /** The receipt in sight. */
  readonly receiptId: string | undefined;
  /** The key of the order that was done last. */
  readonly doneKey: string | undefined;
}

export type CustomerEvent =
  | { readonly is: "typed"; readonly ticket?: Partial<TicketDraft>; readonly cash?: Partial<CashDraft> }
  | { readonly is: "asks"; readonly nth: number; readonly kind: EntryKind }
  | { readonly is: "priced"; readonly nth: number; readonly order: Order; readonly what?: Told | undefined }
  | { readonly is: "not priced"; readonly nth: number; readonly failure: unknown }
  | { readonly is: "cancels" }
  | { readonly is: "confirms"; readonly key: string; readonly body?: object | undefined }
  | { readonly is: "done"; readonly key: string; readonly receiptId: string }
  | { readonly is: "failed"; readonly key: string; readonly failure: unknown }
  | { readonly is: "looks"; readonly key: string }
  | { readonly is: "not found"; readonly key: string }
  | { readonly is: "not looked up"; readonly key: string; readonly failure: unknown }
  | { readonly is: "leaves" | "stays" | "gives up"; readonly key: string }
  | { readonly is: "shows receipt"; readonly receiptId: string | undefined };

const noCash: CashDraft = { typed: "", currency: "PLN", note: "" };

export const newCustomer: Customer = {
  ticket: { from: "PLN", to: "USD", side: "toBuy", typed: "" },
  cash: noCash,
  at: undefined,
  told: undefined,
  receiptId: undefined,
  doneKey: undefined,
};

/** The order that was sent and is not settled. */
export function orderOut({ at }: Customer): Order | undefined {
  return at === undefined || at.stage === "asking" || at.stage === "asked" ? undefined : at.order;
}

/** The order of these kinds that is asked about, or sent and not settled. */
export function orderOf({ at }: Customer, kinds: readonly EntryKind[]): Order | undefined {
  if (at === undefined || at.stage === "asking") return undefined;
  return kinds.includes(at.order.kind) ? at.order : undefined;
}

/** What becomes of a customer with an event. One that belongs to an earlier question or order changes nothing. */
export function step(state: Customer, event: CustomerEvent): Customer {
  switch (event.is) {
    case "shows receipt":
      return { ...state, receiptId: event.receiptId };
    case "typed":
    case "asks":
    case "cancels":
      return orderOut(state) === undefined ? begin(state, event) : state;
    case "priced":
    case "not priced":
      return priced(state, event);
    default:
      return sent(state, event);
  }
}

function begin(
  state: Customer,
  event: Extract<CustomerEvent, { is: "typed" | "asks" | "cancels" }>,
): Customer {
  const next = { ...state, at: undefined, told: undefined };
  if (event.is === "cancels") return next;
  if (event.is === "asks") return { ...next, at: { stage: "asking", nth: event.nth, kind: event.kind } };
  return {
    ...next,
    ticket: { ...state.ticket, ...event.ticket },
    cash: { ...state.cash, ...event.cash },
  };
}

function priced(state: Customer, event: Extract<CustomerEvent, { is: "priced" | "not priced" }>): Customer {
  const { at } = state;
  if (at?.stage !== "asking" || at.nth !== event.nth) return state;
  const { kind } = at;
  if (event.is === "not priced")
    return { ...state, at: undefined, told: { kind, what: { failure: event.failure } } };
  const told = event.what && { kind, what: event.what };
  return { ...state, at: { stage: "asked", order: event.order }, told };
}

type SentEvent = Extract<CustomerEvent, { readonly key: string }>;

function sent(state: Customer, event: SentEvent): Customer {
  const { at } = state;
  if (at === undefined || at.stage === "asking" || at.order.key !== event.key) return state;
  const { order, stage } = at;
  const tell = (what: Told) => ({ kind: order.kind, what });
  switch (event.is) {
    case "confirms": {
      if (stage !== "asked" && stage !== "unknown") return state;
      const isRepeat = stage === "unknown";
      // What is sent again is what was sent before.
      const confirmed = isRepeat || event.body === undefined ? order : { ...order, body: event.body };
      return { ...state, at: { stage: "sending", order: confirmed, isRepeat }, told: undefined };
    }
    case "done":
      return stage === "asked" ? state : settled(state, order, event.receiptId);
    case "failed":
      return at.stage === "sending" ? failed(state, at, event.failure) : state;
    case "looks":
      return stage === "unknown" ? { ...state, at: { stage: "looking", order } } : state;
    case "not found":
      return stage === "looking"
        ? { ...state, at: { stage: "unknown", order }, told: tell({ text: "notSoFar" }) }
        : state;
    case "not looked up":
      return stage === "looking"
        ? { ...state, at: { stage: "unknown", order }, told: tell({ failure: event.failure }) }
        : state;
    case "leaves":
      return stage === "unknown"
        ? { ...state, at: { stage: "leaving", order }, told: tell({ text: "mayStillBeDone" }) }
        : state;
    case "stays":
      return stage === "leaving"
        ? { ...state, at: { stage: "unknown", order }, told: tell({ text: "outcomeUnknown" }) }
        : state;
    case "gives up":
      return stage === "leaving" ? { ...state, at: undefined, told: tell({ text: "givenUp" }) } : state;
  }
}

function settled(state: Customer, { kind, key }: Order, receiptId: string): Customer {
  const isCash = kind === "deposit" || kind === "withdrawal";
  return {
    ticket: kind === "exchange" ? { ...state.ticket, typed: "" } : state.ticket,
    cash: isCash ? noCash : state.cash,
    at: undefined,
    told: undefined,
    // Whoever opens an account goes on with it.
    receiptId: kind === "opening" ? undefined : receiptId,
    doneKey: key,
  };
}

function failed(
  state: Customer,
  { order, isRepeat }: Extract<OrderState, { stage: "sending" }>,
  failure: unknown,
): Customer {
  const tell = (what: Told) => ({ kind: order.kind, what });
  if (isOpen(failure, isRepeat)) {
    return { ...state, at: { stage: "unknown", order }, told: tell({ text: "outcomeUnknown" }) };
  }
  // Whoever has to sign in again finds the question as it was.
  if (failure instanceof ProblemAnswer && failure.problem.code === "unauthorized") {
    return { ...state, at: { stage: "asked", order }, told: tell({ text: "notSent" }) };
  }
  return { ...state, at: undefined, told: tell({ failure }) };
}
