import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";

/** Requests of one connection that wait for an answer. A client that pipelines more is cut off. */
const pipelinedAtMost = 16;
const dropsToldMs = 10_000;

export interface Connections {
  /**
   * Counts a request of a connection until it is answered or the connection breaks, which calls `ended` once. Calls
   * `start` when the requests before it have been answered, at once if there are none: RFC 9112 (9.3.2) lets a server
   * work on pipelined requests at the same time only if all are safe.
   * @returns false, and closes the connection, if it has too many
   */
  begin(request: FastifyRequest, reply: FastifyReply, ended: () => void, start: () => void): boolean;
  /**
   * Calls `act` when every request of a connection that has arrived whole is answered: at once, or not at all if the
   * connection breaks before. A request that has not, whose response `act` gets, is not begun any more.
   */
  whenAnswered(socket: Socket, act: (broken: ServerResponse | undefined) => void): void;
  /** Closes those over which no request ever came: Node does not count them as idle. */
  closeUnused(): void;
  /** Closes all, and returns how many there were. */
  closeAll(): number;
}

interface UnderWay {
  /** Undefined once it was called. */
  start: (() => void) | undefined;
  readonly end: () => void;
}

/** Callbacks for the end of an answer, by response. */
const endings = new WeakMap<ServerResponse, (() => void)[]>();

/**
 * Calls `act` once: when the answer was sent, its connection has broken, or at once if that is so already. A response
 * that waits behind another one of its connection does not hear of a break by itself.
 */
export function whenOver({ raw }: FastifyReply, act: () => void): void {
  const acts = endings.get(raw);
  if (acts === undefined) act();
  else acts.push(act);
}

/** Aborted when the answer is over. */
export function closingOf(reply: FastifyReply): AbortSignal {
  const closing = new AbortController();
  whenOver(reply, () => closing.abort());
  return closing.signal;
}

/** Requests in their order, by connection and response. */
const underWay = new WeakMap<Socket, Map<ServerResponse, UnderWay>>();

function requestsOf(socket: Socket): Map<ServerResponse, UnderWay> {
  const known = underWay.get(socket);
  if (known !== undefined) return known;
  const requests = new Map<ServerResponse, UnderWay>();
  underWay.set(socket, requests);
  socket.once("close", () => {
    for (const request of requests.values()) request.end();
  });
  return requests;
}

/** Starts the oldest request of a connection, if it waits. */
function startNext(socket: Socket, requests: Map<ServerResponse, UnderWay>): void {
  const next = requests.values().next().value;
  // An answer that closes its connection is the last: the client takes what it sent after that for not begun.
  if (next?.start === undefined || !socket.writable) return;
  const { start } = next;
  next.start = undefined;
  start();
}

/** Limits what one connection may ask for at once, and how many connections there are. */
export function limitConnections(
  server: Server,
  maxConnections: number | undefined,
  warn: (facts: object, message: string) => void,
): Connections {
  const open = new Set<Socket>();
  /** Those over TLS, on top of them, after their handshake. */
  const secure = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.on("secureConnection", (socket: Socket) => {
    secure.add(socket);
    socket.once("close", () => secure.delete(socket));
  });
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  tellDrops(server, (dropped) =>
    warn({ dropped, maxConnections }, "connections closed as they came: --max-connections are open"),
  );

  return {
    begin({ raw: { socket } }, { raw: response }, ended, start) {
      const requests = requestsOf(socket);
      if (socket.destroyed || requests.size >= pipelinedAtMost) {
        socket.destroy();
        return false;
      }
      const end = () => {
        if (!requests.delete(response)) return;
        const acts = endings.get(response) ?? [];
        endings.delete(response);
        for (const act of acts) act();
        startNext(socket, requests);
      };
      requests.set(response, { start, end });
      endings.set(response, [ended]);
      response.once("close", end);
      startNext(socket, requests);
      return true;
    },
    whenAnswered(socket, act) {
      const requests = [...(underWay.get(socket) ?? [])];
      const [broken, request] = requests.find(([{ req }]) => !req.complete) ?? [];
      if (request !== undefined) request.start = undefined;
      const [last] = requests.findLast(([response]) => response !== broken) ?? [];
      if (last === undefined) act(broken);
      else last.once("close", () => act(broken));
    },
    closeUnused() {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
      // Their handshake has brought bytes.
      for (const socket of secure) if (!underWay.has(socket)) socket.destroy();
    },
    closeAll() {
      const { size } = open;
      for (const socket of open) socket.destroy();
      return size;
    },
  };
}

/** Tells how many connections were dropped, at most once in ten seconds. */
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
