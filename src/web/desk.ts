import { housePlaceOf } from "../core/house.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import type { EntryJson, StatementJson } from "../wire/entries.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import type { MoneyJson } from "../wire/fields.ts";
import { movedBy } from "../wire/statement-csv.ts";
import { isRefusal, newKey, type Server, urlOf } from "./answers.ts";
import {
  type Customer,
  type CustomerEvent,
  newCustomer,
  type Order,
  orderOut,
  step,
  type Told,
} from "./customer.ts";
import type { Reads } from "./reads.ts";
import type { Kept } from "./session.ts";
import { Watched } from "./watched.ts";

/** A request of the teller for an account, before it is priced. */
export type Wish =
  | {
      readonly kind: "exchange";
      readonly from: string;
      readonly to: string;
      readonly side: "toBuy" | "toSell";
      readonly amount: number;
    }
  | { readonly kind: "deposit" | "withdrawal"; readonly money: MoneyJson; readonly note?: string | undefined }
  | { readonly kind: "opening"; readonly name: string; readonly surname: string; readonly pln: number }
  | { readonly kind: "renaming"; readonly name: string; readonly surname: string }
  | { readonly kind: "reversal"; readonly entry: EntryJson }
  | { readonly kind: "closing" | "block" | "unblock" };

/** The content of the form for a new account. */
export interface OpeningDraft {
  readonly pesel: string;
  readonly name: string;
  readonly surname: string;
  readonly initial: string;
  /** The idempotency key under which it was sent. */
  readonly key: string | undefined;
}

const noOpening: OpeningDraft = { pesel: "", name: "", surname: "", initial: "", key: undefined };

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
  #opening = noOpening;

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

  get opening(): OpeningDraft {
    return this.#opening;
  }

  /** @param draft undefined to begin with an empty form */
  setOpening(draft: Partial<OpeningDraft> | undefined): void {
    this.#opening = draft === undefined ? noOpening : { ...this.#opening, ...draft };
    this.changed();
  }

  /**
   * Begins with the form for a PESEL that was typed elsewhere, without what was typed for another one, or for an account
   * that was opened after the teller had closed the form.
   */
  beginOpening(pesel: string): void {
    const { opening, isOpened } = this;
    const isAnother = pesel !== "" && pesel !== opening.pesel;
    this.setOpening(isAnother || isOpened ? { ...noOpening, pesel } : {});
  }

  /** Empties the form, which the next customer may see, unless its order is out. */
  endOpening(): void {
    const pesel = digitsOf(this.#opening.pesel);
    if (orderOut(this.customer(pesel)) !== undefined) return;
    this.tell(pesel, { is: "cancels" });
    this.setOpening(undefined);
  }

  /** Whether the account of the form has been opened. */
  get isOpened(): boolean {
    const { key, pesel } = this.#opening;
    return key !== undefined && this.customer(digitsOf(pesel)).doneKey === key;
  }

  /** The orders that were sent and are not settled. */
  get out(): readonly Order[] {
    return [...this.#customers.values()].flatMap((customer) => orderOut(customer) ?? []);
  }

  /** Whether an order was confirmed and not sent, because the server asks for the token again. */
  get isNotSent(): boolean {
    return [...this.#customers.values()].some(
      ({ told }) => told !== undefined && isText(told.what, "notSent"),
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

  /** Reads the account, and the price where there is one, and then shows what is to be confirmed. */
  async ask(pesel: string, wish: Wish, what?: Told): Promise<void> {
    const key = newKey();
    this.tell(pesel, { is: "asks", key, kind: wish.kind });
    const url = accountUrl(pesel);
    const shown = this.#reads.get(url).value;
    try {
      const [account, quote] = await Promise.all([
        this.#reads.fresh<ListedAccountJson>(url),
        wish.kind === "exchange" ? this.#api.get<QuoteJson>(quoteUrl(wish)) : undefined,
      ]);
      const { name, surname } = account;
      const order = { ...orderOf(pesel, wish, quote), holder: { name, surname }, key };
      if (account !== shown) this.#reads.stale(`${url}/`);
      this.tell(pesel, { is: "priced", order, what });
    } catch (failure) {
      this.tell(pesel, { is: "not priced", key, failure });
    }
  }

  /** Carries out what needs no question beyond the form that was filled in. */
  async carryOut(
    pesel: string,
    wish: Exclude<Wish, { kind: "exchange" }>,
    holder: Order["holder"],
  ): Promise<void> {
    const key = newKey();
    this.tell(pesel, { is: "asks", key, kind: wish.kind });
    this.tell(pesel, { is: "priced", order: { ...orderOf(pesel, wish, undefined), holder, key } });
    if (wish.kind === "opening") this.setOpening({ key });
    await this.confirm(pesel, key);
  }

  /** Sends the order of this key, or sends it again if it has no answer: once, however often it is clicked. */
  async confirm(pesel: string, key: string): Promise<void> {
    const before = this.customer(pesel);
    const { at } = this.tell(pesel, { is: "confirms", key });
    if (at === before.at || at?.stage !== "sending") return;
    const { order } = at;
    try {
      this.#settled(order, await this.#api.change(order.path, order));
    } catch (failure) {
      const after = this.tell(pesel, { is: "failed", key: order.key, failure });
      if (isRefusal(failure, "account-blocked")) this.#reads.stale(accountUrl(pesel));
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

  /** Reads again what an order has changed. */
  #settled({ pesel, key }: Order, receiptId: string): void {
    this.#reads.stale(accountUrl(pesel), "api/position", "api/receipts/");
    this.tell(pesel, { is: "done", key, receiptId });
  }

  #askAgain({ pesel, quote }: Order): void {
    this.#reads.stale("api/rates", "api/quote");
    if (quote === undefined) return;
    const { sold, bought, side } = quote;
    const { amount } = side === "toBuy" ? bought : sold;
    const wish = { kind: "exchange", from: sold.symbol, to: bought.symbol, side, amount } as const;
    void this.ask(pesel, wish, { text: "rateMoved" });
  }
}

function isText(told: Told, text: string): boolean {
  return "text" in told && told.text === text;
}

/** A PESEL as it was typed, without spaces and dashes. */
export function digitsOf(typed: string): string {
  return typed.replace(/[\s-]/g, "");
}

/** The path of an account of a customer or of the house. */
export function accountUrl(pesel: string): string {
  const place = housePlaceOf(pesel);
  return place === undefined ? `api/user/${pesel}` : `api/house/${place}`;
}

export function quoteUrl({ from, to, side, amount }: Extract<Wish, { kind: "exchange" }>): string {
  return urlOf("api/quote", { from, to, [side]: amount });
}

function orderOf(pesel: string, wish: Wish, quote: QuoteJson | undefined): Omit<Order, "holder" | "key"> {
  const { kind } = wish;
  const account = accountUrl(pesel);
  switch (kind) {
    case "exchange": {
      if (quote === undefined) throw new Error("an exchange has a price");
      const { sold, bought, side, tableId } = quote;
      const { amount } = side === "toBuy" ? bought : sold;
      const body = { pesel, from: sold.symbol, to: bought.symbol, [side]: amount };
      return { kind, pesel, path: `api/exchange/${pesel}`, body, tableId, out: sold, in: bought, quote };
    }
    case "deposit":
    case "withdrawal": {
      const { symbol, amount } = wish.money;
      const place = housePlaceOf(pesel);
      const body = {
        ...(place !== undefined && { account: place }),
        ...{ amount, currency: symbol },
        ...(wish.note !== undefined && { note: wish.note }),
      };
      const path = `${place === undefined ? account : "api/house"}/${kind}s`;
      const moves = kind === "deposit" ? { in: wish.money } : { out: wish.money };
      return { kind, pesel, path, body, ...moves };
    }
    case "opening": {
      const { name, surname, pln } = wish;
      const money = { symbol: "PLN", amount: pln };
      return { kind, pesel, path: "api/user", body: { pesel, name, surname, pln }, in: money };
    }
    case "renaming": {
      const renamed = { name: wish.name, surname: wish.surname };
      return { kind, pesel, path: `${account}/name`, body: renamed, renamed };
    }
    case "reversal": {
      const { entry } = wish;
      const moved = movedBy(entry);
      const undone = { kind: entry.kind, time: entry.time };
      const path = `api/receipts/${entry.id}/reversal`;
      return { kind, pesel, path, body: { reason: "" }, out: moved.in, in: moved.out, undone };
    }
    case "closing":
      return { kind, pesel, path: `${account}/closing`, body: {} };
    case "block":
    case "unblock":
      return { kind, pesel, path: `${account}/${kind}`, body: { reason: "" } };
  }
}
