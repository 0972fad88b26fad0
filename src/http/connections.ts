import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";

/** Requests that a connection may send before the answer to its first. A client that sends more is cut off. */
const pipelinedAtMost = 16;
const dropsToldMs = 10_000;

/** A request that was begun and has no whole answer yet. */
interface UnderWay {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Each begins a request that was pipelined behind it, in their order. */
  readonly waiting: (() => void)[];
}

/** Calls `act` once: when the answer was sent, when its connection has broken, or at once if that is so already. */
export function whenOver({ raw }: FastifyReply, act: () => void): void {
  if (raw.closed) act();
  else raw.once("close", act);
}

/** Aborted when the answer is over. */
export function closingOf(reply: FastifyReply): AbortSignal {
  const closing = new AbortController();
  whenOver(reply, () => closing.abort());
  return closing.signal;
}

/** Limits what one connection may ask for at once, and how many connections there are. */
export class Connections {
  readonly #open = new Set<Socket>();
  /** The TLS sockets on top of those of `#open`, after their handshake. */
  readonly #secure = new Set<Socket>();
  readonly #underWay = new Map<Socket, UnderWay>();
  /** The request that each connection began last. */
  readonly #latest = new WeakMap<Socket, UnderWay>();
  #isRefusing = false;

  constructor(
    server: Server,
    maxConnections: number | undefined,
    warn: (facts: object, message: string) => void,
  ) {
    server.on("connection", (socket: Socket) => {
      if (this.#isRefusing) socket.destroy();
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
    });
    server.on("secureConnection", (socket: Socket) => {
      this.#secure.add(socket);
      socket.once("close", () => this.#secure.delete(socket));
    });
    // Node leaves to its listeners whether a connection stays whose handshake failed.
    server.on("tlsClientError", (_, socket: Socket) => socket.destroy());
    if (maxConnections !== undefined) server.maxConnections = maxConnections;
    tellDrops(server, (dropped) =>
      warn({ dropped, maxConnections }, "connections closed as they came: --max-connections are open"),
    );
  }

  /**
   * Calls `start` when the requests before it on the connection are answered: at once, if there are none, and never, if
   * the connection is closed before (RFC 9112, 9.3.2 and 9.6). The request is under way from then until its answer is over.
   */
  begin({ raw: request }: FastifyRequest, { raw: response }: FastifyReply, start: () => void): void {
    const { socket } = request;
    const before = this.#underWay.get(socket);
    const each = { request, response, waiting: before?.waiting ?? [] };
    if (before === undefined) this.#start(socket, each, start);
    else if (each.waiting.length + 1 >= pipelinedAtMost) socket.destroy();
    else each.waiting.push(() => this.#start(socket, each, () => void unlessEnded(socket, start)));
  }

  #start(socket: Socket, each: UnderWay, start: () => void): void {
    // An answer that closes its connection is the last: the client takes what it sent after that for not begun.
    if (!socket.writable) return;
    this.#underWay.set(socket, each);
    this.#latest.set(socket, each);
    // A streamed answer has a dozen, of Fastify's and of fx's. Node warns from 11 on.
    each.response.setMaxListeners(20);
    each.response.once("close", () => {
      this.#underWay.delete(socket);
      each.waiting.shift()?.();
    });
    start();
  }

  /** The request under way on a connection, or the last one if the rest of its body is still to come. */
  underWay(socket: Socket): Pick<UnderWay, "request" | "response"> | undefined {
    const latest = this.#latest.get(socket);
    return this.#underWay.get(socket) ?? (latest?.request.complete ? undefined : latest);
  }

  /** Closes a connection once the request under way is answered. */
  endAfterAnswer(socket: Socket): void {
    const { response } = this.#underWay.get(socket) ?? {};
    if (response?.headersSent === false) response.setHeader("connection", "close");
    response?.once("close", () => socket.destroySoon());
  }

  /** Answers that are complete here, and that their clients have not yet read to the end. */
  unsent(): readonly ServerResponse[] {
    return [...this.#underWay.values()]
      .map(({ response }) => response)
      .filter((response) => response.writableEnded);
  }

  /** Has further connections closed as they come. */
  refuse(): void {
    this.#isRefusing = true;
  }

  /** Closes those over which no request ever came: Node does not count them as idle. */
  closeUnused(): void {
    for (const socket of this.#open) if (socket.bytesRead === 0) socket.destroy();
    // Their handshake has brought bytes.
    for (const socket of this.#secure) if (!this.#latest.has(socket)) socket.destroy();
  }

  /** Closes all, and returns how many there were. */
  closeAll(): number {
    const { size } = this.#open;
    for (const socket of this.#open) socket.destroy();
    return size;
  }
}

/**
 * Calls `start` unless the client has ended its side: Node then sends no further answer. It reads an end in the turn of
 * the event loop after that of the requests before it, at the earliest.
 */
async function unlessEnded(socket: Socket, start: () => void): Promise<void> {
  await nextTurn();
  await nextTurn();
  if (socket.writable) start();
}

/** Reports the number of dropped connections, at most once in ten seconds. */
function tellDrops(server: Server, tell: (dropped: number) => void): void {
  let dropped = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  server.on("drop", () => {
    dropped += 1;
    if (performance.now() - toldAt < dropsToldMs) return;
    toldAt = performance.now();
    tell(dropped);
    dropped = 0;
  });
}
