import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * The fault of a COMMIT:
 * - "lost": the connection breaks before the server receives it;
 * - "unanswered": the server receives it, and the connection breaks before the answer;
 * - "late": the connection breaks, and the server receives it after `lateMs`;
 * - "all late": the same, together with the writes before it. For one small transaction at a time.
 */
export type CommitFault = "lost" | "unanswered" | "late" | "all late";

/** A network on loopback between fx and a database, with faults on demand. */
export class Network {
  /** Delay of each direction. */
  delayMs = 0;
  lateMs = 300;
  /** Faults of the next COMMITs, one each. */
  nextCommits: CommitFault[] = [];
  /** Number of COMMITs that were disturbed. */
  disturbed = 0;
  /** Falls silent, for one connection, where this text begins in what it sends next. Nothing is closed. */
  silentFrom: string | undefined;
  /** Number of round trips: writes that follow an answer. */
  roundTrips = 0;
  #away = false;
  readonly #target: URL;
  readonly #server = createServer({ noDelay: true }, (client) => this.#join(client));
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL) {
    this.#target = target;
  }

  /** Opens a proxy in front of the server of this URL. */
  static async open(url: string): Promise<Network> {
    const proxy = new Network(new URL(url));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** The database's URL through the proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.hostname = "127.0.0.1";
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** Breaks every connection and refuses new ones until `restore`. */
  cut(): void {
    this.#away = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Keeps existing connections open but passes nothing on. New connections work. */
  silence(): void {
    for (const socket of this.#sockets) socket.removeAllListeners("data").pause();
  }

  restore(): void {
    this.#away = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket): void {
    const server = connect({ host: this.#target.hostname, port: Number(this.#target.port), noDelay: true });
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        const other = socket === client ? server : client;
        if (!other.writableEnded) other.destroy();
      });
    }
    if (this.#away) return void client.destroy();
    let held = Buffer.alloc(0);
    let answered = true;
    client.on("data", (chunk) => {
      if (answered) this.roundTrips += 1;
      answered = false;
      const place = this.silentFrom === undefined ? -1 : chunk.indexOf(this.silentFrom);
      if (place >= 0) {
        this.silentFrom = undefined;
        client.removeAllListeners("data").removeAllListeners("close");
        return this.#pass(server, chunk.subarray(0, place));
      }
      const writes = held.length > 0 || chunk.includes("insert into");
      const isHeld = chunk.includes("commit\0") || (this.nextCommits[0] === "all late" && writes);
      if (this.nextCommits.length === 0 || !isHeld) return this.#pass(server, chunk);
      held = Buffer.concat([held, chunk]);
      if (held.includes("commit\0")) this.#disturb(client, server, held);
    });
    server.on("data", (chunk) => {
      this.#pass(client, chunk, () => {
        answered = true;
      });
    });
  }

  #pass(to: Socket, chunk: Buffer, onPassed = () => {}): void {
    const pass = () => {
      if (to.writable) to.write(chunk);
      onPassed();
    };
    if (this.delayMs === 0) pass();
    else setTimeout(pass, this.delayMs);
  }

  #disturb(client: Socket, server: Socket, held: Buffer): void {
    const fault = this.nextCommits.shift();
    this.disturbed += 1;
    server.removeAllListeners("data").resume();
    this.#sockets.delete(server);
    if (fault === "unanswered") server.end(held);
    if (fault === "late" || fault === "all late") {
      client.removeAllListeners("close");
      setTimeout(() => server.end(held), this.lateMs);
    }
    client.destroy();
  }
}
