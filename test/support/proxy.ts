import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * What becomes of a COMMIT:
 * - "lost": it never arrives, and the connection breaks;
 * - "unanswered": it arrives, and the connection breaks before the answer;
 * - "late": the connection breaks, and it arrives when `lateMs` have passed;
 * - "all late": so do the writes that were sent with it. For one small transaction at a time.
 */
export type CommitFault = "lost" | "unanswered" | "late" | "all late";

/** A network between fx and a database, on loopback, that can be spoilt. */
export class Network {
  /** For each direction. */
  delayMs = 0;
  lateMs = 300;
  /** What becomes of the next ones, each once. */
  nextCommits: CommitFault[] = [];
  /** How many COMMITs were spoilt. */
  spoilt = 0;
  /** How often something was sent after an answer had come: how often a slow network is waited for. */
  roundTrips = 0;
  #away = false;
  readonly #target: URL;
  readonly #server = createServer({ noDelay: true }, (client) => this.#join(client));
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL) {
    this.#target = target;
  }

  /** Stands in front of the server of this URL. */
  static async open(url: string): Promise<Network> {
    const proxy = new Network(new URL(url));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** The URL that leads through here. */
  get url(): string {
    const url = new URL(this.#target);
    url.hostname = "127.0.0.1";
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** Breaks every connection, and lets none be made until `restore`. */
  cut(): void {
    this.#away = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Leaves the connections that there are open, and passes nothing on. New ones work. */
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
      const writes = held.length > 0 || chunk.includes("insert into");
      const isHeld = chunk.includes("commit\0") || (this.nextCommits[0] === "all late" && writes);
      if (this.nextCommits.length === 0 || !isHeld) return this.#pass(server, chunk);
      held = Buffer.concat([held, chunk]);
      if (held.includes("commit\0")) this.#spoil(client, server, held);
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

  #spoil(client: Socket, server: Socket, held: Buffer): void {
    const fault = this.nextCommits.shift();
    this.spoilt += 1;
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
