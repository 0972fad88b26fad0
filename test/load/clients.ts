import { setTimeout as pause } from "node:timers/promises";
import type { EntryKind } from "../../src/core/journal.ts";
import { type Asked, fieldsOf, jsonText, lineOf, pathOf } from "../support/asked.ts";
import { Chance } from "../support/chance.ts";
import { adult } from "../support/fixture.ts";
import { until } from "../support/until.ts";
import type { Happening, History, Read } from "./history.ts";
import { passingRefusals } from "./judge.ts";
import { type Answer, type Answered, amountText, ofLines, ofOrder, ofRead } from "./wire.ts";

/** Relative frequencies of the actions of a client that sends orders. */
type Mix = Readonly<Partial<Record<Action, number>>>;
type Action = "read" | "order" | "unkeyed" | "transfer" | "bulk" | "renaming" | "reversal" | Rare;
type Rare = "own account" | "new account" | "order at two servers";

export interface LoadOptions {
  /** Addresses of fx or of a proxy: each request goes to any of them. */
  readonly urls: readonly string[];
  readonly history: History;
  readonly seed: number;
  readonly mix?: Mix;
  readonly accounts?: number;
  /** Grosze of each account at the beginning. */
  readonly initialMinor?: number;
  /** Bound of the amounts, in minor units. */
  readonly mostMinor?: number;
  /** Bound of the lines of a batch. */
  readonly mostLines?: number;
  /** Number of clients that send orders one at a time. */
  readonly writers?: number;
  /** Number of clients that only read. */
  readonly readers?: number;
  /** Mean pause of each client between two requests; the actual one is between 0 and twice as much. */
  readonly pauseMs?: number;
  readonly answerWithinMs?: number;
  readonly authorization?: string;
}

const usual = {
  mix: { order: 66, unkeyed: 12, transfer: 8, bulk: 4, read: 10 } as Mix,
  accounts: 24,
  initialMinor: 1_000_000_000,
  mostMinor: 50_000,
  mostLines: 12,
  writers: 12,
  readers: 6,
  pauseMs: 60,
  answerWithinMs: 4000,
  authorization: undefined,
};

/** The same load with every kind of entry in it. */
export const everyKind: Mix = {
  ...{ order: 30, unkeyed: 6, transfer: 6, bulk: 4, read: 10 },
  ...{ renaming: 12, reversal: 12, "own account": 20 },
};

const foreign = ["USD", "EUR", "CHF", "JPY"] as const;

/** Carries the number of the attempt to a proxy's log; fx ignores it. */
export const attemptHeader = "x-attempt";

/** Clients that repeat each order with its key until it is settled. */
export class Load {
  readonly #state: State;
  readonly #clients: readonly Client[];
  readonly #writers: number;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(options: LoadOptions) {
    const all = { ...usual, ...options };
    const pesels = Array.from({ length: all.accounts }, (_, index) => adult(index));
    const times = { stopAt: undefined, everyMs: undefined, due: 0, requests: 0 };
    this.#state = { ...all, ...times, pesels, opened: all.accounts, givenUp: 0, unkeyed: new Map() };
    this.#writers = all.writers;
    this.#clients = Array.from(
      { length: all.writers + all.readers },
      (_, nth) => new Client(this.#state, nth),
    );
  }

  /** Opens the accounts, then starts the clients. */
  static async start(options: LoadOptions): Promise<Load> {
    const load = new Load(options);
    const { pesels, initialMinor } = load.#state;
    await load.#settle(pesels.map((pesel) => openingOf(pesel, `opening-${pesel}`, initialMinor)));
    load.#running = Promise.all(
      load.#clients.map((client, nth) => (nth < load.#writers ? client.write() : client.readOn())),
    );
    load.#running.catch(() => {});
    return load;
  }

  /** Sends these orders, each until it is settled. */
  static async repeat(options: LoadOptions, orders: readonly Asked[]): Promise<void> {
    await new Load(options).#settle([...orders]);
  }

  async #settle(orders: Asked[]): Promise<void> {
    const writers = this.#clients.slice(0, this.#writers);
    await Promise.all(writers.map((client) => client.settleAll(orders)));
  }

  /** Number of requests so far that have ended. */
  get requests(): number {
    return this.#state.requests;
  }

  /** Lets all clients together send one request in each such interval, or fewer if fewer are answered. */
  pace(everyMs: number): void {
    this.#state.everyMs = everyMs;
    this.#state.due = performance.now();
  }

  /** Resolves when each client has settled an order, or read, what it sent from now on. */
  async reachesEveryClient(): Promise<void> {
    const now = performance.now();
    await Promise.race([this.#running, until(() => this.#clients.every(({ sentMs }) => sentMs > now))]);
  }

  /** Resolves after this number of further orders. */
  async does(more: number): Promise<void> {
    const { history } = this.#state;
    const { done: before = 0 } = history.counts;
    await Promise.race([this.#running, until(() => (history.counts.done ?? 0) >= before + more)]);
  }

  /**
   * Begins no new orders, and resolves when every order is settled or, after `withinMs`, given up. Call it once every
   * fault is undone.
   * @returns the number of orders given up
   */
  async finish(withinMs: number): Promise<number> {
    this.#state.stopAt = performance.now() + withinMs;
    await this.#running;
    return this.#state.givenUp;
  }
}

/** State that all clients share. */
interface State extends Omit<Required<LoadOptions>, "authorization" | "accounts"> {
  readonly authorization: string | undefined;
  readonly pesels: readonly string[];
  /** Number of accounts that were opened or are being opened. */
  opened: number;
  /** Number of orders without a key by account. It makes their amounts unique. */
  readonly unkeyed: Map<string, number>;
  /** Deadline of the orders in flight; once it is set, no order is begun. */
  stopAt: number | undefined;
  givenUp: number;
  requests: number;
  /** Interval of the requests of all clients; undefined if each pauses by itself. */
  everyMs: number | undefined;
  /** Time of the next request at that interval. */
  due: number;
}

/** A client that does one thing at a time. */
class Client {
  /** Time at which the newest of its requests that are settled was sent. */
  sentMs = 0;
  readonly #state: State;
  readonly #name: string;
  readonly #chance: Chance;
  /** An account that only this client changes. */
  readonly #own: string;
  #ownTurns = 0;
  #keys = 0;
  readonly #actions: Readonly<Record<Action, () => Promise<unknown>>> = {
    read: () => this.#read(),
    order: () => this.#orderPerhapsTwice(),
    unkeyed: () => this.#settle(this.#unkeyedOrder()),
    transfer: () => this.#transfer(),
    bulk: () => this.#bulk(this.#lines()),
    renaming: () => this.#settle(this.#renaming()),
    reversal: () => this.#reversal(),
    "own account": () => this.#settle(this.#ofOwnAccount()),
    "new account": () => this.#atTwoServers(this.#opening()),
    "order at two servers": () => this.#atTwoServers(this.#order()),
  };
  /** Some of its orders that are done. */
  readonly #done: Asked[] = [];
  /** The newest of its orders that can be reversed. */
  #slip: { readonly pesel: string; readonly receipt: string } | undefined;

  constructor(state: State, nth: number) {
    this.#state = state;
    this.#name = `client-${nth + 1}`;
    this.#chance = new Chance(state.seed + nth);
    this.#own = adult(1_000_000 + nth);
  }

  /** Settles those of these orders that no other client has taken, in batches. */
  async settleAll(orders: Asked[]): Promise<void> {
    while (orders.length > 0) await this.#bulk(orders.splice(0, 100));
  }

  async write(): Promise<void> {
    while (this.#state.stopAt === undefined) {
      await this.#actions[this.#chance.weighted(this.#state.mix as Record<Action, number>)]();
      await this.#rest();
    }
  }

  async readOn(): Promise<void> {
    while (this.#state.stopAt === undefined) {
      await this.#read();
      await this.#rest();
    }
  }

  /** Sends an order until it is settled, and returns whether it was done. */
  async #settle(order: Asked): Promise<boolean> {
    for (;;) {
      const event = await this.#attempt(order);
      if (event === "done") return true;
      if (event === "refused" || order.key === undefined) return false;
      if (!(await this.#mayTryAgain(1))) return false;
    }
  }

  async #rest(): Promise<void> {
    const { everyMs, pauseMs } = this.#state;
    if (everyMs === undefined) return pause(this.#chance.below(2 * pauseMs));
    const due = this.#state.due;
    this.#state.due += everyMs;
    await pause(Math.max(0, due - performance.now()));
  }

  async #mayTryAgain(orders: number): Promise<boolean> {
    await pause(50 + this.#chance.below(200));
    const { stopAt = Number.POSITIVE_INFINITY } = this.#state;
    if (performance.now() < stopAt) return true;
    this.#state.givenUp += orders;
    return false;
  }

  #nextKey(): string {
    this.#keys += 1;
    return `${this.#name}-${this.#keys}`;
  }

  #order(): Asked {
    const pesel = this.#chance.pick(this.#state.pesels);
    const key = this.#nextKey();
    const minor = 1 + this.#chance.below(this.#state.mostMinor);
    const code = this.#chance.pick(foreign);
    switch (this.#chance.weighted({ buy: 6, sell: 3, deposit: 3, withdrawal: 1 })) {
      case "buy":
        return { kind: "exchange", pesel, key, from: "PLN", to: code, toBuy: amountText(minor, code) };
      case "sell":
        return { kind: "exchange", pesel, key, from: code, to: "PLN", toSell: amountText(minor, code) };
      case "deposit":
        return { kind: "deposit", pesel, key, currency: "PLN", amount: amountText(10 * minor, "PLN") };
      case "withdrawal":
        return { kind: "withdrawal", pesel, key, currency: "PLN", amount: amountText(minor, "PLN") };
    }
  }

  /** An order that is sent once; its unique amount identifies its entry. */
  #unkeyedOrder(): Asked {
    const pesel = this.#chance.pick(this.#state.pesels);
    const minor = (this.#state.unkeyed.get(pesel) ?? 0) + 1;
    this.#state.unkeyed.set(pesel, minor);
    const amount = amountText(minor, "PLN");
    if (this.#chance.percent(50)) return { kind: "deposit", pesel, currency: "PLN", amount };
    return { kind: "exchange", pesel, from: "PLN", to: "USD", toBuy: amount };
  }

  #renaming(): Asked {
    const pesel = this.#chance.pick(this.#state.pesels);
    const key = this.#nextKey();
    return { kind: "renaming", pesel, key, name: `Jan ${key}`, surname: "Kowalski" };
  }

  #opening(): Asked {
    this.#state.opened += 1;
    return openingOf(adult(this.#state.opened), this.#nextKey(), 500);
  }

  /** Opens the account, blocks, unblocks and closes it, and opens it again. */
  #ofOwnAccount(): Asked {
    const kinds = ["opening", "block", "unblock", "closing"] as const satisfies EntryKind[];
    const kind = kinds[this.#ownTurns % kinds.length] ?? "opening";
    this.#ownTurns += 1;
    const [pesel, key] = [this.#own, this.#nextKey()];
    if (kind === "opening") return openingOf(pesel, key, 0);
    return kind === "closing" ? { kind, pesel, key } : { kind, pesel, key, reason: "a freeze" };
  }

  async #reversal(): Promise<void> {
    const slip = this.#slip;
    this.#slip = undefined;
    if (slip === undefined) return this.#orderPerhapsTwice();
    await this.#settle({ kind: "reversal", ...slip, key: this.#nextKey(), reason: "a slip" });
  }

  async #orderPerhapsTwice(): Promise<void> {
    const order = this.#order();
    if (!(await this.#settle(order))) return;
    this.#done[this.#chance.below(20)] = order;
    // Some clients miss an answer, and send the order again at once or later.
    if (this.#chance.percent(3)) await this.#attempt(this.#done[this.#chance.below(20)] ?? order);
  }

  /** Sends an order to two servers at once, and once more if neither has settled it. */
  async #atTwoServers(order: Asked): Promise<void> {
    const { urls } = this.#state;
    const first = this.#chance.below(urls.length);
    const servers = [first, first + 1].map((nth) => urls[nth % urls.length]);
    const events = await Promise.all(servers.map((url) => this.#attempt(order, url)));
    if (events.every((event) => event === "open")) await this.#settle(order);
  }

  /** Withdraws from one account and, once that is done, deposits to another. */
  async #transfer(): Promise<void> {
    const { pesels } = this.#state;
    const index = this.#chance.below(pesels.length);
    const other = (index + 1 + this.#chance.below(pesels.length - 1)) % pesels.length;
    const amount = amountText(1 + this.#chance.below(this.#state.mostMinor), "PLN");
    const leg = (kind: "withdrawal" | "deposit", at: number): Asked => {
      return { kind, pesel: pesels[at] ?? "", key: this.#nextKey(), currency: "PLN", amount };
    };
    if (await this.#settle(leg("withdrawal", index))) await this.#settle(leg("deposit", other));
  }

  #lines(): Asked[] {
    return Array.from({ length: 2 + this.#chance.below(this.#state.mostLines - 1) }, () => this.#order());
  }

  /** Sends orders as lines of one batch request; those without an answer go into another one. */
  async #bulk(orders: readonly Asked[]): Promise<void> {
    let open = [...orders];
    for (;;) {
      open = await this.#bulkAttempt(open);
      if (open.length === 0 || !(await this.#mayTryAgain(open.length))) return;
    }
  }

  async #bulkAttempt(orders: readonly Asked[]): Promise<Asked[]> {
    const { history } = this.#state;
    const attempts = orders.map((order) => history.sent(order));
    const lines = orders.map((order) => `${jsonText(lineOf(order))}\n`).join("");
    const answer = await this.#send("POST", "/api/bulk", lines, { "content-type": "application/x-ndjson" });
    const answers = ofLines(answer, orders.length);
    return orders.filter((_, index) => {
      const answered = answers[index] as Answered;
      history.add({ ...answered, attempt: attempts[index] } as Happening);
      return !isSettled(answered);
    });
  }

  async #attempt(order: Asked, url?: string): Promise<"done" | "refused" | "open"> {
    const { history } = this.#state;
    const attempt = history.sent(order);
    const sentMs = performance.now();
    const headers = {
      "content-type": "application/json",
      [attemptHeader]: String(attempt),
      ...(order.key !== undefined && { "idempotency-key": order.key }),
    };
    const answer = await this.#send("POST", pathOf(order), jsonText(fieldsOf(order)), headers, url);
    const happened = ofOrder(answer, order.pesel);
    history.add({ ...happened, attempt } as Happening);
    if (!isSettled(happened)) return "open";
    this.sentMs = sentMs;
    if (happened.event !== "done") return "refused";
    const { kind, pesel } = order;
    const isReversible = ["exchange", "deposit", "withdrawal"].includes(kind);
    if (isReversible && !happened.replayed) {
      this.#slip = { pesel, receipt: happened.receipt };
    }
    return "done";
  }

  async #read(): Promise<void> {
    const { history, pesels } = this.#state;
    const pesel = this.#chance.pick(pesels);
    const read: Read = { kind: this.#chance.percent(60) ? "account" : "newest", pesel };
    const attempt = history.sent(read);
    const sentMs = performance.now();
    const path = `/api/user/${pesel}${read.kind === "newest" ? "/history?limit=1" : ""}`;
    const happened = ofRead(await this.#send("GET", path), read);
    history.add({ ...happened, attempt } as Happening);
    if (happened.event === "read") this.sentMs = sentMs;
  }

  async #send(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
    url = this.#chance.pick(this.#state.urls),
  ): Promise<Answer> {
    const { authorization, answerWithinMs } = this.#state;
    let answered: Response | undefined;
    let text = "";
    let failure: string | undefined;
    try {
      const signal = AbortSignal.timeout(answerWithinMs);
      const sent = { ...headers, ...(authorization !== undefined && { authorization }) };
      answered = await fetch(`${url}${path}`, {
        method,
        headers: sent,
        signal,
        ...(body !== undefined && { body }),
      });
      const decoder = new TextDecoder();
      // Answers from before a connection broke count, too.
      for await (const bytes of answered.body ?? []) text += decoder.decode(bytes, { stream: true });
    } catch (error) {
      failure = failureOf(error as Error);
    }
    this.#state.requests += 1;
    return { status: answered?.status ?? 0, headers: answered?.headers ?? new Headers(), text, failure };
  }
}

function openingOf(pesel: string, key: string, minor: number): Asked {
  return { kind: "opening", pesel, key, name: "Jan", surname: "Kowalski", pln: amountText(minor, "PLN") };
}

function failureOf({ name, message, cause }: Error): string {
  if (name === "TimeoutError") return "no answer in time";
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
}

/** Whether the order need not be sent again. */
function isSettled(happened: Answered): boolean {
  return happened.event === "done" || (happened.event === "refused" && !passingRefusals.has(happened.code));
}
