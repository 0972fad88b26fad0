import { limits } from "../ledger/limits.ts";
import { Connection } from "./connection.ts";
import { ConnectionLost } from "./failures.ts";
import type { PostgresHost, PostgresPlace } from "./url.ts";

/**
 * At most `poolSize` connections, all to the same host: after a fail-over the old primary may still answer, with data that
 * is out of date.
 */
export class Pool {
  readonly #place: PostgresPlace;
  readonly #waiting: (() => void)[] = [];
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  #slots: number;
  /** The hosts in the order in which they are tried. */
  #hosts: readonly PostgresHost[];
  /** The host of the newest connection; undefined after one was lost, until a new one has found a host. */
  #server: PostgresHost | undefined;
  #isClosing = false;
  #isClosed = false;

  constructor(place: PostgresPlace) {
    this.#place = place;
    this.#slots = place.poolSize;
    this.#hosts = place.hosts;
  }

  /**
   * Works on a connection that is its own until it is done.
   * @param deadline a time of `performance.now()`. Work still under way then fails as lost.
   * @throws ConnectionLost, and whatever `work` throws
   */
  async use<T>(deadline: number, work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#isClosing) throw closedHere();
    await this.#takeSlot(deadline);
    let connection: Connection | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      if (this.#isClosed) throw closedHere();
      connection = this.#reusable() ?? (await this.#open(deadline));
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
    if (this.#isClosing) return;
    this.#isClosing = true;
    const deadline = performance.now() + limits.closeMs;
    const slots = Array.from({ length: this.#place.poolSize });
    await Promise.allSettled(slots.map(() => this.#takeSlot(deadline)));
    this.#isClosed = true;
    for (const connection of this.#all) connection.destroy();
  }

  #reusable(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || this.#isGood(connection)) return connection;
      this.#drop(connection);
    }
  }

  #putBack(connection: Connection): void {
    if (this.#isGood(connection)) {
      this.#idle.push(connection);
      return;
    }
    if (!connection.usable) {
      // A server that hangs, or whose commits wait for a standby in vain, would be chosen again.
      this.#passOver(connection.server);
      this.#server = undefined;
    }
    this.#drop(connection);
  }

  #isGood({ usable, server }: Connection): boolean {
    return usable && server === this.#server;
  }

  #drop(connection: Connection): void {
    this.#all.delete(connection);
    connection.destroy();
  }

  #passOver(host: PostgresHost): void {
    this.#hosts = [...this.#hosts.filter((other) => other !== host), host];
  }

  /** Tries each host once, until the deadline. */
  async #open(deadline: number): Promise<Connection> {
    let failure: ConnectionLost | undefined;
    for (const host of this.#hosts) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) break;
      try {
        const connection = await Connection.open(this.#place, host, leftMs);
        this.#all.add(connection);
        this.#server = host;
        return connection;
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        failure = new ConnectionLost(`${host.host}:${host.port}: ${error.message}`, error);
        this.#passOver(host);
        if (error.permanent) break;
      }
    }
    throw failure ?? new ConnectionLost("it did not answer in time");
  }

  #takeSlot(deadline: number): Promise<void> {
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
      this.#waiting.push(take);
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
