import type { StatementJson } from "../wire/entries.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import { isRefusal, NoAnswer, newKey, type Server, urlOf } from "./answers.ts";
import {
  type Customer,
  type CustomerEvent,
  type Message,
  newCustomer,
  type Order,
  orderOut,
  step,
} from "./customer.ts";
import { cashForm, type Form, openingForm, renamingForm, ticketForm } from "./drafts.ts";
import { digitsOf } from "./format.ts";
import type { Reads } from "./reads.ts";
import {
  accountIn,
  accountUrl,
  balancesUrl,
  type DeskRequest,
  type ExchangeWish,
  exchange,
  type Name,
  quoteUrl,
  wishOf,
} from "./requests.ts";
import type { Kept } from "./session.ts";
import { Watched } from "./watched.ts";

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
  /** The contents of forms, by their names. */
  readonly #drafts = new Map<string, object>();
  #opened: string | undefined;
  #outcomes: readonly Outcome[] = [];

  constructor(api: Server, reads: Reads, storage: Kept) {
    super();
    this.#api = api;
    this.#reads = reads;
    this.#storage = storage;
    for (const order of JSON.parse(storage.getItem(storageName) ?? "[]") as Order[]) {
      this.#customers.set(order.pesel, { ...newCustomer, at: { stage: "unknown", order } });
      this.#fillForm(order);
    }
  }

  customer(pesel: string): Customer {
    return this.#customers.get(pesel) ?? newCustomer;
  }

  /** The content of a form. */
  draft<Draft extends object>({ name, empty }: Form<Draft>): Draft {
    return (this.#drafts.get(name) ?? empty) as Draft;
  }

  /** Whether anything is typed into a form. */
  isTyped({ name }: Form<object>): boolean {
    return this.#drafts.has(name);
  }

  edit<Draft extends object>(form: Form<Draft>, change: Partial<Draft>): void {
    this.#drafts.set(form.name, { ...this.draft(form), ...change });
    this.changed();
  }

  /** The account that the form for a new one has opened, until that form begins or ends. */
  get opened(): string | undefined {
    return this.#opened;
  }

  /** Begins with the form for a PESEL that was typed elsewhere, without what was typed for another one. */
  beginOpening(pesel: string): void {
    this.#opened = undefined;
    if (pesel === "" || pesel === this.draft(openingForm).pesel) return;
    this.#empty(openingForm);
    this.edit(openingForm, { pesel });
  }

  /** Empties the form for a new account, which the next customer may see, unless its order is out. */
  endOpening(): void {
    this.#opened = undefined;
    const pesel = digitsOf(this.draft(openingForm).pesel);
    if (orderOut(this.customer(pesel)) !== undefined) return;
    this.tell(pesel, { is: "cancels" });
    this.#empty(openingForm);
  }

  /** The orders that were sent and are not settled. */
  get out(): readonly Order[] {
    return [...this.#customers.values()].flatMap((customer) => orderOut(customer) ?? []);
  }

  /** The outcomes that the teller has not seen. */
  get outcomes(): readonly Outcome[] {
    return this.#outcomes;
  }

  /** Removes the outcome of the order with this key, which was seen. */
  dismiss(key: string): void {
    this.#outcomes = this.#outcomes.filter(({ order }) => order.key !== key);
    this.changed();
  }

  /** Forgets what the teller before typed and was asked, but no order that was sent and is not settled. */
  handOver(): void {
    this.#drafts.clear();
    this.#opened = undefined;
    for (const [pesel, customer] of this.#customers) {
      const order = orderOut(customer);
      if (order === undefined) this.#customers.delete(pesel);
      else this.#fillForm(order);
    }
    this.changed();
  }

  /** Whether an order was confirmed and not sent, because the server asks for the token again. */
  get isNotSent(): boolean {
    return [...this.#customers.values()].some(
      ({ message }) => message !== undefined && "text" in message.what && message.what.text === "notSent",
    );
  }

  tell(pesel: string, event: CustomerEvent): Customer {
    const before = this.customer(pesel);
    const after = step(before, event);
    if (after === before) return before;
    this.#customers.set(pesel, after);
    const { out } = this;
    if (out.length === 0) this.#storage.removeItem(storageName);
    else this.#storage.setItem(storageName, JSON.stringify(out));
    this.changed();
    return after;
  }

  /** Reads the account, and then shows the request, to be confirmed. */
  async ask(request: DeskRequest): Promise<void> {
    await this.#ask(request, async () => request);
  }

  /** Reads the account and the price, and then shows the exchange, to be confirmed. */
  async askExchange(pesel: string, wish: ExchangeWish, what?: Message): Promise<void> {
    const price = async () => exchange(pesel, await this.#api.get<QuoteJson>(quoteUrl(wish)));
    await this.#ask({ kind: "exchange", pesel }, price, what);
  }

  /** Shows a request for a holder who is known already, to be confirmed. */
  show(request: DeskRequest, { name, surname }: Name): string {
    const { pesel, kind } = request;
    const key = newKey();
    this.tell(pesel, { is: "asks", key, kind });
    this.tell(pesel, { is: "priced", order: { ...request, holder: { name, surname }, key } });
    return key;
  }

  /** Carries out what needs no question beyond the form that was filled in. */
  async carryOut(request: DeskRequest, holder: Name): Promise<void> {
    await this.confirm(request.pesel, this.show(request, holder));
  }

  /** Sends the order of this key, or sends it again if it has no answer: once, however often it is clicked. */
  async confirm(pesel: string, key: string): Promise<void> {
    const before = this.customer(pesel);
    const { at } = this.tell(pesel, { is: "confirms", key });
    if (at === before.at || at?.stage !== "sending") return;
    const { order } = at;
    try {
      const receiptId = await this.#api.change(order.path, order);
      // Whatever fx has done has a receipt. Something else answered.
      if (receiptId === "") throw new NoAnswer();
      this.#settled(order, receiptId);
    } catch (failure) {
      const after = this.tell(pesel, { is: "failed", key: order.key, failure });
      if (after.at === undefined) {
        this.#add({ order, failure });
        // The page shows an earlier state than the one refused: without the block, the reversal or the suspension.
        this.#reads.stale(balancesUrl(pesel), "api/rates");
      }
      if (isRefusal(failure, "rate-changed") && after.at === undefined) this.#askAgain(order);
      // An earlier attempt with another token has arrived: the statement shows whether the order was done.
      if (isRefusal(failure, "idempotency-key-reused")) await this.look(pesel);
    }
  }

  /** Looks in the statement for the order whose answer was lost. One that is not there may still be under way. */
  async look(pesel: string): Promise<void> {
    const before = this.customer(pesel);
    if (before.at?.stage !== "unknown") return;
    const { order } = before.at;
    const { key } = order;
    this.tell(pesel, { is: "looks", key });
    try {
      const url = urlOf(`${accountUrl(pesel)}/history`, { key });
      const [entry] = (await this.#api.get<StatementJson>(url)).entries;
      if (entry === undefined) this.tell(pesel, { is: "not found", key, what: { text: "notSoFar" } });
      else this.#settled(order, entry.id);
    } catch (failure) {
      // An account that is not there has no entry.
      const what = isRefusal(failure, "account-not-found") ? ({ text: "notSoFar" } as const) : { failure };
      this.tell(pesel, { is: "not found", key, what });
    }
  }

  async #ask(
    { pesel, kind }: Pick<DeskRequest, "pesel" | "kind">,
    price: () => Promise<DeskRequest>,
    what?: Message,
  ): Promise<void> {
    const key = newKey();
    this.tell(pesel, { is: "asks", key, kind });
    const url = balancesUrl(pesel);
    const shown = this.#reads.get(url).value;
    try {
      const [answer, request] = await Promise.all([this.#reads.fresh<object>(url), price()]);
      const { name, surname } = accountIn(answer, pesel);
      if (answer !== shown) this.#reads.stale(`${url}/`);
      this.tell(pesel, { is: "priced", order: { ...request, holder: { name, surname }, key }, what });
    } catch (failure) {
      this.tell(pesel, { is: "not priced", key, failure });
    }
  }

  /** Reads again what an order has changed, and empties its form, but for the currency of cash. */
  #settled(order: Order, receiptId: string): void {
    const { pesel, kind, key } = order;
    this.#reads.stale(balancesUrl(pesel), "api/position", "api/receipts/", "api/rates", "health/ready");
    const before = this.customer(pesel);
    if (this.tell(pesel, { is: "done", key, receiptId }) === before) return;
    this.#add({ order, receiptId });
    if (kind === "exchange") this.edit(ticketForm(pesel), { typed: "" });
    if (kind === "deposit" || kind === "withdrawal") this.edit(cashForm(pesel), { typed: "", note: "" });
    if (kind === "renaming") this.#empty(renamingForm(pesel));
    if (kind === "opening" && digitsOf(this.draft(openingForm).pesel) === pesel) {
      this.#opened = pesel;
      this.#empty(openingForm);
    }
  }

  #add(outcome: Outcome): void {
    this.#outcomes = [...this.#outcomes, outcome];
    this.changed();
  }

  /** Fills the form for money as it was when its order was asked for. */
  #fillForm({ pesel, kind, quote, body, ...order }: Order): void {
    const money = order.in ?? order.out;
    if (quote !== undefined) {
      const { amount, ...ticket } = wishOf(quote);
      this.edit(ticketForm(pesel), { ...ticket, typed: String(amount) });
    } else if (money !== undefined && (kind === "deposit" || kind === "withdrawal")) {
      const { note = "" } = body as { readonly note?: string };
      this.edit(cashForm(pesel), { typed: String(money.amount), currency: money.symbol, note });
    }
  }

  #empty({ name }: Form<object>): void {
    this.#drafts.delete(name);
    this.changed();
  }

  #askAgain({ pesel, quote }: Order): void {
    this.#reads.stale("api/quote");
    if (quote !== undefined) void this.askExchange(pesel, wishOf(quote), { text: "rateMoved", was: quote });
  }
}
