import { housePlaceOf } from "../core/house.ts";
import { maskPesels } from "../core/mask.ts";
import type { StatementJson } from "../wire/entries.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import type { RatesJson } from "../wire/rates.ts";
import { isRefusal, NoAnswer, newKey, type Server, urlOf } from "./answers.ts";
import { type Customer, type CustomerEvent, newCustomer, type Order, orderOut, step } from "./customer.ts";
import { digitsOf } from "./format.ts";
import type { Reads } from "./reads.ts";
import {
  accountIn,
  accountUrl,
  balancesUrl,
  type DeskRequest,
  type ExchangeTermsJson,
  exchange,
  type Name,
  quoteUrl,
  termsOf,
  tradingNumber,
} from "./requests.ts";
import type { Kept } from "./session.ts";
import { Watched } from "./watched.ts";

/** The contents of the forms for one customer, as they were typed. */
export interface Draft {
  /** The ticket. */
  readonly from: string;
  readonly to: string;
  readonly side: "toBuy" | "toSell";
  readonly amount: string;
  /** The form for cash. */
  readonly sum: string;
  readonly currency: string;
  readonly note: string;
  /** The form for a new name, or for a new account. */
  readonly name: string | undefined;
  readonly surname: string | undefined;
  /** The form for a new account. */
  readonly pesel: string;
}

export const emptyDraft: Draft = {
  ...{ from: "PLN", to: "USD", side: "toBuy", amount: "" },
  ...{ sum: "", currency: "PLN", note: "" },
  ...{ name: undefined, surname: undefined, pesel: "" },
};

/** The fields that are emptied when an order is done. */
const emptied: Partial<Record<DeskRequest["kind"], Partial<Draft>>> = {
  exchange: { amount: "" },
  deposit: { sum: "", note: "" },
  withdrawal: { sum: "", note: "" },
  renaming: { name: undefined, surname: undefined },
};

/** In place of a PESEL: the form for a new account. */
export const newHolder = "";

/** The answer to an order. */
export type Outcome =
  | { readonly order: Order; readonly receiptId: string }
  | { readonly order: Order; readonly failure: unknown };

/** Where orders without an answer survive a reload. */
const storageName = "fx-orders";

/**
 * Everything that is under way at the counter, by customer. It outlives the parts that show it: another view, another
 * customer and the lock leave it as it is.
 */
export class Desk extends Watched {
  readonly #api: Server;
  readonly #reads: Reads;
  readonly #storage: Kept;
  readonly #customers = new Map<string, Customer>();
  /** By PESEL; the house has one for both its accounts. */
  readonly #drafts = new Map<string, Draft>();
  /** The keys of the orders in sight. */
  readonly #shown = new Set<string>();
  #outcomes: readonly Outcome[] = [];
  /** The name of the teller's token. */
  #teller: string | null | undefined;

  constructor(api: Server, reads: Reads, storage: Kept) {
    super();
    this.#api = api;
    this.#reads = reads;
    this.#storage = storage;
    for (const order of JSON.parse(storage.getItem(storageName) ?? "[]") as Order[]) {
      this.#customers.set(order.pesel, { ...newCustomer, at: { stage: "unknown", order } });
    }
  }

  customer(pesel: string): Customer {
    return this.#customers.get(pesel) ?? newCustomer;
  }

  /** @param pesel of the customer, or `newHolder` */
  draft(pesel: string): Draft {
    return this.#drafts.get(draftName(pesel)) ?? emptyDraft;
  }

  /** Changes a form, and takes away the question about an order, which would be about another one. */
  edit(pesel: string, change: Partial<Draft>): void {
    const draft = this.draft(pesel);
    this.#drafts.set(draftName(pesel), { ...draft, ...change });
    this.tell(pesel === newHolder ? digitsOf(draft.pesel) : pesel, { is: "cancels" });
  }

  /** The orders that were sent and are not settled. */
  get out(): readonly Order[] {
    return [...this.#customers.values()].flatMap((customer) => orderOut(customer) ?? []);
  }

  /** Whether an order of this customer was sent and is not settled. No other is begun meanwhile. */
  isOut(pesel: string): boolean {
    return orderOut(this.customer(pesel)) !== undefined;
  }

  /** Whether there is an order, a question or a typed text that goes with the page. */
  get isInUse(): boolean {
    const isTyped = ({ amount, sum, note, name, surname, pesel }: Draft) =>
      [amount, sum, note, name, surname, pesel].some(Boolean);
    return (
      [...this.#customers.values()].some(({ at }) => at !== undefined) ||
      [...this.#drafts.values()].some(isTyped)
    );
  }

  /** The orders that were sent and are not settled, and are not in sight. */
  get outOfSight(): readonly Order[] {
    return this.out.filter(({ key }) => !this.#shown.has(key));
  }

  /**
   * Notes that the order with this key is in sight.
   * @returns what ends that
   */
  show(key: string): () => void {
    this.#shown.add(key);
    this.changed();
    return () => {
      this.#shown.delete(key);
      this.changed();
    };
  }

  /** The outcomes that were not shown. */
  get outcomes(): readonly Outcome[] {
    return this.#outcomes;
  }

  /** Removes the outcome of the order with this key: its words were shown. */
  dismiss(key: string): void {
    this.#outcomes = this.#outcomes.filter(({ order }) => order.key !== key);
    this.changed();
  }

  /**
   * Notes who works at the desk. If that is another teller, forgets what the one before typed and was asked, but no order
   * that was sent and is not settled.
   * @returns whether it is another one
   */
  handOver(to: string | null): boolean {
    const before = this.#teller;
    this.#teller = to;
    if (before === undefined || before === to) return false;
    this.#drafts.clear();
    for (const pesel of this.#customers.keys()) {
      if (!this.isOut(pesel)) this.#customers.delete(pesel);
    }
    this.changed();
    return true;
  }

  /** Whether an order was confirmed and not sent, because the server asks for the token again. */
  get isNotSent(): boolean {
    return [...this.#customers.values()].some(
      ({ message }) => message !== undefined && "text" in message && message.text === "notSent",
    );
  }

  tell(pesel: string, event: CustomerEvent): Customer {
    const after = step(this.customer(pesel), event);
    this.#customers.set(pesel, after);
    const { out } = this;
    if (out.length === 0) this.#storage.removeItem(storageName);
    else this.#storage.setItem(storageName, JSON.stringify(out));
    this.changed();
    return after;
  }

  /**
   * Reads the account, and then shows the request, to be confirmed.
   * @param was the price that the teller knows of
   */
  async ask(pesel: string, request: DeskRequest | Promise<DeskRequest>, was?: QuoteJson): Promise<void> {
    const key = newKey();
    this.tell(pesel, { is: "asks", key, was });
    const url = balancesUrl(pesel);
    const shown = this.#reads.get(url).value;
    try {
      const [answer, asked] = await Promise.all([this.#reads.fresh<object>(url), request]);
      const { name, surname } = accountIn(answer, pesel);
      if (answer !== shown) this.#reads.refresh(`${url}/`);
      const order = { ...asked, holder: { name, surname }, key, by: this.#teller ?? null };
      const isMoved = was !== undefined && was.tableId !== asked.tableId;
      this.tell(pesel, { is: "priced", key, order, what: isMoved ? { text: "rateMoved", was } : undefined });
    } catch (failure) {
      // Only an exchange waits for its price.
      const kind = request instanceof Promise ? "exchange" : request.kind;
      this.tell(pesel, { is: "not priced", key, kind, failure });
    }
  }

  /** Reads the account and the price, and then shows the exchange, to be confirmed, with the price in sight if that has moved. */
  async askExchange(
    pesel: string,
    terms: ExchangeTermsJson,
    was = this.#priceInSight(pesel, terms),
  ): Promise<void> {
    const url = quoteUrl(terms);
    const price = this.#api.get<QuoteJson>(url);
    await this.ask(
      pesel,
      price.then((quote) => exchange(pesel, quote)),
      was,
    );
  }

  /** The price that the teller knows of: of the order that is asked about or was refused, or else of the ticket. */
  #priceInSight(pesel: string, terms: ExchangeTermsJson): QuoteJson | undefined {
    const { at, message } = this.customer(pesel);
    // A price that stands beside the one before may not have been read.
    const moved = message !== undefined && "was" in message ? message.was : undefined;
    const refused = message !== undefined && "quote" in message ? message.quote : undefined;
    const quote = at?.stage === "asking" ? at.was : (moved ?? at?.order.quote ?? refused);
    const url = quoteUrl(terms);
    const isSame = quote !== undefined && quoteUrl(termsOf(quote)) === url;
    return isSame ? quote : this.#reads.get<QuoteJson>(url).value;
  }

  /** Shows a request that no account is read for, to be confirmed. */
  askAtOnce(request: DeskRequest, holder: Name = { name: "", surname: "" }): void {
    const key = newKey();
    this.tell(request.pesel, { is: "asks", key });
    this.tell(request.pesel, {
      is: "priced",
      key,
      order: { ...request, holder, key, by: this.#teller ?? null },
    });
  }

  /** Sends the order of this key, or sends it again if it has no answer: once, however often it is clicked. */
  async confirm(pesel: string, key: string): Promise<void> {
    const before = this.customer(pesel);
    const { at } = this.tell(pesel, { is: "confirms", key });
    if (at === before.at || at?.stage !== "sending") return;
    const { order } = at;
    try {
      // A change of trading has no receipt. Any other answer without one is not of fx.
      const receiptId =
        (await this.#api.change(order.path, order)) || (await this.#receiptOf(order).catch(() => undefined));
      if (receiptId === undefined) throw new NoAnswer();
      this.#settled(order, receiptId);
    } catch (failure) {
      if (orderOut(this.tell(pesel, { is: "failed", key, failure })) === undefined) {
        this.#add({ order, failure });
        // The page shows an earlier state than the one refused: without the block, the reversal or the suspension.
        this.#reads.refresh();
        this.#askAgain(order, failure);
      }
      // An earlier attempt with another token has arrived: the statement shows whether the order was done.
      if (isRefusal(failure, "idempotency-key-reused")) await this.look(pesel);
    }
  }

  /** Looks in the statement for the order whose answer was lost. One that is not there may still be under way. */
  async look(pesel: string): Promise<void> {
    const { at } = this.customer(pesel);
    if (at?.stage !== "unknown") return;
    const { order } = at;
    const { key } = order;
    this.tell(pesel, { is: "looks", key });
    try {
      const receiptId = await this.#receiptOf(order);
      const text = pesel === tradingNumber ? "tradingDiffers" : "notSoFar";
      if (receiptId === undefined) this.tell(pesel, { is: "not found", key, what: { text } });
      else this.#settled(order, receiptId);
    } catch (failure) {
      // An account that is not there has no entry.
      const what = isRefusal(failure, "account-not-found") ? ({ text: "notSoFar" } as const) : { failure };
      this.tell(pesel, { is: "not found", key, what });
    }
  }

  /** The id of an order's entry, undefined if there is none; of a change of trading, "" if trading is as it asks. */
  async #receiptOf({ pesel, key, body }: Order): Promise<string | undefined> {
    if (pesel === tradingNumber) {
      const { suspension } = await this.#api.get<RatesJson>("api/rates");
      const { reason } = body as { readonly reason?: string };
      return suspension?.reason === (reason && maskPesels(reason.trim())) ? "" : undefined;
    }
    const url = urlOf(`${accountUrl(pesel)}/history`, { key });
    return (await this.#api.get<StatementJson>(url)).entries[0]?.id;
  }

  /** Reads again what an order has changed, and empties its form. */
  #settled(order: Order, receiptId: string): void {
    const { pesel, kind, key } = order;
    this.#reads.refresh();
    // Its form is empty before the order is done: the form for a new account leads then to what it has opened.
    this.#drafts.set(draftName(pesel), { ...this.draft(pesel), ...emptied[kind] });
    if (kind === "opening" && digitsOf(this.draft(newHolder).pesel) === pesel) this.#drafts.delete(newHolder);
    this.tell(pesel, { is: "done", key, receiptId });
    this.#add({ order, receiptId });
  }

  #add(outcome: Outcome): void {
    this.#outcomes = [...this.#outcomes, outcome];
    this.changed();
  }

  /** Shows the next price of an exchange whose price is gone. Nobody is asked about the order of another teller. */
  #askAgain({ pesel, by, quote }: Order, failure: unknown): void {
    if (by !== (this.#teller ?? null)) this.tell(pesel, { is: "cancels" });
    else if (quote !== undefined && isRefusal(failure, "rate-changed")) {
      void this.askExchange(pesel, termsOf(quote), quote);
    }
  }
}

function draftName(pesel: string): string {
  return housePlaceOf(pesel) === undefined ? pesel : "house";
}
