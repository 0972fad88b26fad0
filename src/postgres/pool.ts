import { Connection, ConnectionLost } from "./connection.ts";
import type { PostgresPlace } from "./url.ts";

export interface Lease {
  /** On the clock of `performance.now()`. What is still under way then fails as lost. */
  readonly deadline: number;
  /** Whether this goes before others that wait for a connection. */
  readonly first?: boolean;
}

/** Keeps connections, at most `poolSize`, to whichever of the hosts can be worked with. */
export class Pool {
  readonly #place: PostgresPlace;
  readonly #waiting: (() => void)[] = [];
  readonly #all = new Set<Connection>();
  readonly #endings = new Map<Connection, number>();
  #idle: Connection[] = [];
  #slots: number;
  #nextHost = 0;
  #closing = false;
  #closed = false;

  constructor(place: PostgresPlace) {
    this.#place = place;
    this.#slots = Math.ceil(place.poolSize);
  }

  /**
   * Works on a connection that is its own until it is done.
   * @throws ConnectionLost, and whatever `work` throws
   */
  async use<T>({ deadline, first = false }: Lease, work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#closing) throw closedHere();
    await this.#takeSlot(deadline, first);
    let connection: Connection | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      if (this.#closed) throw closedHere();
      connection = this.#reusable() ?? (await this.#open());
      timer = setTimeout(
        () => connection?.destroy("the database did not answer in time"),
        deadline - performance.now(),
      );
      return await work(connection);
    } finally {
      clearTimeout(timer);
      if (connection !== undefined) this.#putBack(connection);
      this.#giveSlot();
    }
  }

  /** Waits up to a second for work under way. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    const deadline = performance.now() + 1000;
    const slots = Array.from({ length: Math.ceil(this.#place.poolSize) });
    await Promise.allSettled(slots.map(() => this.#takeSlot(deadline, false)));
    this.#closed = true;
    await Promise.allSettled(this.#idle.map((connection) => connection.close()));
    for (const connection of this.#all) connection.destroy();
  }

  #reusable(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.usable) return connection;
      this.#forget(connection);
    }
  }

  #putBack(connection: Connection): void {
    if (connection.usable && performance.now() < (this.#endings.get(connection) ?? 0)) {
      this.#idle.push(connection);
      return;
    }
    // An old connection is closed, because the server's process grows with use.
    this.#forget(connection);
    connection.close().catch(() => {});
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection);
    this.#endings.delete(connection);
  }

  /** Tries each host once, from the one that worked last. */
  async #open(): Promise<Connection> {
    const { hosts } = this.#place;
    let failure: ConnectionLost | undefined;
    for (const _ of hosts) {
      const host = hosts[this.#nextHost % hosts.length];
      if (host === undefined) break;
      try {
        const connection = await Connection.open(this.#place, host);
        this.#all.add(connection);
        this.#endings.set(connection, performance.now() + (30 + 30 * Math.random()) * 60_000);
        return connection;
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        failure = new ConnectionLost(`${host.host}:${host.port}: ${error.message}`, error);
        this.#nextHost += 1;
        if (error.permanent) break;
      }
    }
    throw failure ?? new ConnectionLost("there is no host");
  }

  #takeSlot(deadline: number, first: boolean): Promise<void> {
    if (this.#slots > 0) {
      this.#slots -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const take = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(new ConnectionLost("all connections to the database are busy"));
      }, deadline - performance.now());
      if (first) this.#waiting.unshift(take);
      else this.#waiting.push(take);
    });
  }

  #giveSlot(): void {
    const take = this.#waiting.shift();
    if (take === undefined) this.#slots += 1;
    else take();
  }
}

function closedHere(): ConnectionLost {
  return new ConnectionLost("it was closed here", { permanent: true });
}
