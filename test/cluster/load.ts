import { setTimeout as pause } from "node:timers/promises";
import { Chance } from "../support/chance.ts";
import { adult } from "../support/fixture.ts";
import type { Happening, History, Order, Read } from "./history.ts";
import { passingRefusals } from "./judge.ts";
import {
  type Answer,
  type Answered,
  attemptHeader,
  bodyOf,
  lineOf,
  ofLines,
  ofOrder,
  ofRead,
  pathOf,
} from "./wire.ts";

export interface LoadOptions {
  /** HAProxy's address. */
  readonly url: string;
  readonly history: History;
  readonly seed: number;
}

export interface Load {
  /**
   * Begins no new orders, and resolves when every order is settled or, after `withinMs`, given up. Call it once every
   * fault is undone.
   * @returns the number of orders given up
   */
  finish(withinMs: number): Promise<number>;
}

const accounts = 24;
/** Number of clients that send orders one at a time, and read now and then. */
const writers = 12;
/** Number of clients that only read. */
const readers = 6;
/** Mean pause of each client between two requests; the actual one is between 0 and twice as much. */
const pauseMs = 60;
const answerWithinMs = 4000;
const initialMinor = 1_000_000_000;
const foreign = ["USD", "EUR", "CHF", "JPY"] as const;

/** Opens the accounts, then starts the clients. Each repeats an order with its key until it is settled. */
export async function startLoad({ url, history, seed }: LoadOptions): Promise<Load> {
  const pesels = Array.from({ length: accounts }, (_, index) => adult(index));
  const state: State = { history, pesels, url, stopAt: undefined, givenUp: 0, unkeyed: new Map() };
  const opener = new Client(state, { name: "opener", seed });
  for (const pesel of pesels) {
    await opener.settle({
      kind: "opening",
      pesel,
      key: opener.nextKey(),
      currency: "PLN",
      minor: initialMinor,
    });
  }
  const clients = Array.from({ length: writers + readers }, (_, index) => {
    return new Client(state, { name: `client-${index + 1}`, seed: seed + 1 + index });
  });
  const running = Promise.all(
    clients.map((client, index) => (index < writers ? client.write() : client.readOn())),
  );
  running.catch(() => {});
  return {
    finish: async (withinMs) => {
      state.stopAt = performance.now() + withinMs;
      await running;
      return state.givenUp;
    },
  };
}

/** State that all clients share. */
interface State {
  readonly url: string;
  readonly history: History;
  readonly pesels: readonly string[];
  /** Number of orders without a key by account. It makes their amounts unique. */
  readonly unkeyed: Map<string, number>;
  /** Deadline of the orders in flight; once it is set, no order is begun. */
  stopAt: number | undefined;
  givenUp: number;
}

/** A client that does one thing at a time. */
class Client {
  readonly #state: State;
  readonly #name: string;
  readonly #chance: Chance;
  #keys = 0;

  constructor(state: State, { name, seed }: { readonly name: string; readonly seed: number }) {
    this.#state = state;
    this.#name = name;
    this.#chance = new Chance(seed);
  }

  nextKey(): string {
    this.#keys += 1;
    return `${this.#name}-${this.#keys}`;
  }

  async write(): Promise<void> {
    while (this.#state.stopAt === undefined) {
      const what = this.#chance.weighted({ order: 66, unkeyed: 12, transfer: 8, bulk: 4, read: 10 });
      if (what === "read") await this.#read();
      if (what === "unkeyed") await this.settle(this.#unkeyedOrder());
      if (what === "transfer") await this.#transfer();
      if (what === "bulk") await this.#bulk();
      if (what === "order") {
        const order = this.#order();
        const isDone = await this.settle(order);
        // Some clients miss the answer and send the order again.
        if (isDone && this.#chance.percent(3)) await this.#attempt(order);
      }
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
  async settle(order: Order): Promise<boolean> {
    for (;;) {
      const { event } = await this.#attempt(order);
      if (event === "done") return true;
      if (event === "refused" || order.key === null) return false;
      if (!(await this.#mayTryAgain(1))) return false;
    }
  }

  #rest(): Promise<void> {
    return pause(this.#chance.below(2 * pauseMs));
  }

  async #mayTryAgain(orders: number): Promise<boolean> {
    await pause(50 + this.#chance.below(200));
    const { stopAt = Number.POSITIVE_INFINITY } = this.#state;
    if (performance.now() < stopAt) return true;
    this.#state.givenUp += orders;
    return false;
  }

  #order(): Order {
    const pesel = this.#chance.pick(this.#state.pesels);
    const key = this.nextKey();
    const minor = 1 + this.#chance.below(50_000);
    const currency = this.#chance.pick(foreign);
    switch (this.#chance.weighted({ buy: 6, sell: 3, deposit: 3, withdrawal: 1 })) {
      case "buy":
        return { kind: "exchange", pesel, key, from: "PLN", to: currency, side: "toBuy", minor };
      case "sell":
        return { kind: "exchange", pesel, key, from: currency, to: "PLN", side: "toSell", minor };
      case "deposit":
        return { kind: "deposit", pesel, key, currency: "PLN", minor: 10 * minor };
      case "withdrawal":
        return { kind: "withdrawal", pesel, key, currency: "PLN", minor };
    }
  }

  /** An order that is sent once; its unique amount identifies its entry. */
  #unkeyedOrder(): Order {
    const pesel = this.#chance.pick(this.#state.pesels);
    const minor = (this.#state.unkeyed.get(pesel) ?? 0) + 1;
    this.#state.unkeyed.set(pesel, minor);
    if (this.#chance.percent(50)) return { kind: "deposit", pesel, key: null, currency: "PLN", minor };
    return { kind: "exchange", pesel, key: null, from: "PLN", to: "USD", side: "toBuy", minor };
  }

  /** Withdraws from one account and, once that is done, deposits to another. */
  async #transfer(): Promise<void> {
    const { pesels } = this.#state;
    const index = this.#chance.below(pesels.length);
    const other = (index + 1 + this.#chance.below(pesels.length - 1)) % pesels.length;
    const minor = 1 + this.#chance.below(50_000);
    const leg = (kind: "withdrawal" | "deposit", at: number): Order => {
      return { kind, pesel: pesels[at] ?? "", key: this.nextKey(), currency: "PLN", minor };
    };
    if (await this.settle(leg("withdrawal", index))) await this.settle(leg("deposit", other));
  }

  /** Sends orders as lines of one batch request; those without an answer go into another one. */
  async #bulk(): Promise<void> {
    let open = Array.from({ length: 2 + this.#chance.below(10) }, () => this.#order());
    for (;;) {
      open = await this.#bulkAttempt(open);
      if (open.length === 0 || !(await this.#mayTryAgain(open.length))) return;
    }
  }

  async #bulkAttempt(orders: readonly Order[]): Promise<Order[]> {
    const { history } = this.#state;
    const attempts = orders.map((order) => history.sent(order));
    const lines = orders.map((order) => JSON.stringify(lineOf(order))).join("\n");
    const answer = await this.#send("POST", "/api/bulk", `${lines}\n`, {
      "content-type": "application/x-ndjson",
    });
    const answers = ofLines(answer, orders.length);
    return orders.filter((_, index) => {
      const answered = answers[index] as Answered;
      history.add({ ...answered, attempt: attempts[index] } as Happening);
      return !isSettled(answered);
    });
  }

  async #attempt(order: Order): Promise<{ readonly event: "done" | "refused" | "open" }> {
    const { history } = this.#state;
    const attempt = history.sent(order);
    const { key, pesel } = order;
    const headers = {
      "content-type": "application/json",
      [attemptHeader]: String(attempt),
      ...(key !== null && { "idempotency-key": key }),
    };
    const answer = await this.#send("POST", pathOf(order), JSON.stringify(bodyOf(order)), headers);
    const happened = ofOrder(answer, pesel);
    history.add({ ...happened, attempt } as Happening);
    if (!isSettled(happened)) return { event: "open" };
    return { event: happened.event === "done" ? "done" : "refused" };
  }

  async #read(): Promise<void> {
    const { history, pesels } = this.#state;
    const pesel = this.#chance.pick(pesels);
    const read: Read = { kind: this.#chance.percent(60) ? "account" : "newest", pesel };
    const attempt = history.sent(read);
    const path = `/api/user/${pesel}${read.kind === "newest" ? "/history?limit=1" : ""}`;
    const happened = ofRead(await this.#send("GET", path), read);
    history.add({ ...happened, attempt } as Happening);
  }

  async #send(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    let answered: Response | undefined;
    let text = "";
    let failure: string | undefined;
    try {
      const signal = AbortSignal.timeout(answerWithinMs);
      const sent = { method, headers, signal, ...(body !== undefined && { body }) };
      answered = await fetch(`${this.#state.url}${path}`, sent);
      const decoder = new TextDecoder();
      // Answers from before a connection broke count, too.
      for await (const bytes of answered.body ?? []) text += decoder.decode(bytes, { stream: true });
    } catch (error) {
      failure = failureOf(error as Error);
    }
    return { status: answered?.status ?? 0, headers: answered?.headers ?? new Headers(), text, failure };
  }
}

function failureOf({ name, message, cause }: Error): string {
  if (name === "TimeoutError") return "no answer in time";
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
}

/** Whether the order need not be sent again. */
function isSettled(happened: Answered): boolean {
  return happened.event === "done" || (happened.event === "refused" && !passingRefusals.has(happened.code));
}
