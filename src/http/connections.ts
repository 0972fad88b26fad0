import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { FxError } from "../core/errors.ts";

/** What Node is given when it makes the server, of http or https. Without a Host it would answer without a body. */
export const nodeOptions = {
  requireHostHeader: false,
  connectionsCheckingInterval: 1000,
  handshakeTimeout: 30_000,
} as const;

export interface ConnectionOptions {
  /** Further connections are closed as they come. No limit if absent. */
  readonly maxConnections?: number;
  /** How many requests may wait for earlier answers, on all connections: each takes 3 KB. 25,000 if absent. */
  readonly maxWaiting?: number;
  /** How long a client may take nothing of an answer that waits for it. 30 s if absent. */
  readonly unreadTimeoutMs?: number;
}

export interface Connections {
  /**
   * What broke a connection, such as bytes that are no HTTP. `answer` is called in its turn: when the requests before
   * it have been answered, and few at a time where many connections run into their time limit at once.
   */
  broken(fault: { readonly code?: string }, socket: Socket, answer: () => void): void;
  /** Closes those over which nothing ever came, which Node does not count as idle. */
  closeUnused(): void;
  /** Closes all; tells how many there were. */
  closeAll(): number;
  /** Stops looking after them. */
  end(): void;
}

/** What is known of a connection that a request has come over. */
interface Connection {
  /** To its newest request. */
  latest: ServerResponse;
  /** How many requests wait for the one before to be answered. */
  waiting: number;
  /** Reads on when none waits any more; only where one has ever waited. */
  readOn: (() => void) | undefined;
  isBroken: boolean;
  /** How much had been written when it was last seen to move, and when that was. */
  written: number;
  movedAt: number;
}

const headersAtMost = 2000;
const sliceBytes = 1024;
const lookMs = 1000;
/** To close one takes 0.2 ms: that is a quarter of the time. */
const closedAtOnce = 5;
const betweenClosesMs = 4;
const dropsToldMs = 10_000;

/**
 * Keeps any one connection from holding up the others. Each has one request at a time handled, in the order in which
 * they came; meanwhile no more is read from it.
 * @param refuse answers a request that reaches no route
 */
export function guardConnections(
  server: Server,
  options: ConnectionOptions,
  refuse: (error: FxError, request: IncomingMessage, response: ServerResponse) => void,
  warn: (facts: object, message: string) => void,
): Connections {
  const { maxConnections, maxWaiting = 25_000, unreadTimeoutMs = 30_000 } = options;
  const sockets = new Set<Socket>();
  const connections = new Map<Socket, Connection>();
  const closing: (() => void)[] = [];
  let waiting = 0;

  const handle = server.listeners("request")[0] as RequestListener;
  server.off("request", handle);
  server.on("request", (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket) ?? track(socket, response);
    connection.latest = response;
    // Node gives the response its socket when those before it have gone out.
    if (response.socket === null) wait(connection, request, response);
    else start(request, response);
  });
  // A longer one, as it is by itself, Node takes for the limit of the whole request.
  server.headersTimeout = server.requestTimeout;
  // What is over Node's own limit would be left out without a word.
  server.maxHeadersCount = 0;

  function start(request: IncomingMessage, response: ServerResponse): void {
    const fault = faultOf(request);
    if (fault === undefined) handle(request, response);
    else refuse(new FxError("invalid-request", fault), request, response);
  }

  function track(socket: Socket, latest: ServerResponse): Connection {
    const connection: Connection = {
      latest,
      waiting: 0,
      readOn: undefined,
      isBroken: false,
      written: 0,
      movedAt: 0,
    };
    connections.set(socket, connection);
    socket.once("close", () => {
      connections.delete(socket);
      waiting -= connection.waiting;
    });
    return connection;
  }

  function wait(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (socket.destroyed) return;
    connection.waiting += 1;
    waiting += 1;
    if (waiting > maxWaiting) {
      warn({ waiting: connection.waiting }, "connection closed: too many requests wait for earlier answers");
      socket.destroy();
      return;
    }
    // When Node has been through what it has read, and before it reads more.
    if (connection.waiting === 1 && connection.readOn === undefined) {
      process.nextTick(() => {
        connection.readOn ??= readInSlices(socket, () => connection.waiting === 0);
      });
    }
    response.once("socket", () => {
      // In another turn, so that others take theirs.
      setImmediate(() => {
        if (socket.destroyed) return;
        connection.waiting -= 1;
        waiting -= 1;
        start(request, response);
        if (connection.waiting === 0) connection.readOn?.();
      });
    });
  }

  const look = setInterval(
    () => {
      const now = performance.now();
      const stuck: (() => void)[] = [];
      for (const [socket, connection] of connections) {
        const { bytesWritten } = socket;
        // Bulks and exports set time limits of their own.
        if (socket.writableLength === 0 || socket.timeout || bytesWritten !== connection.written) {
          connection.written = bytesWritten;
          connection.movedAt = now;
        } else if (now - connection.movedAt >= unreadTimeoutMs) {
          stuck.push(() => socket.destroy());
        }
      }
      closeInTurns(...stuck);
    },
    Math.min(lookMs, unreadTimeoutMs),
  ).unref();

  let isClosing = false;

  /** To close two thousand at once would hold up all others. */
  function closeInTurns(...more: (() => void)[]): void {
    closing.push(...more);
    if (isClosing || closing.length === 0) return;
    isClosing = true;
    setTimeout(closeSome, betweenClosesMs);
  }

  function closeSome(): void {
    for (const close of closing.splice(0, closedAtOnce)) close();
    isClosing = closing.length > 0;
    if (isClosing) setTimeout(closeSome, betweenClosesMs);
  }

  let dropped = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  server.on("drop", () => {
    dropped += 1;
    if (performance.now() - toldAt < dropsToldMs) return;
    toldAt = performance.now();
    warn(
      { dropped, maxConnections },
      "connections closed as they came: there are as many as --max-connections",
    );
    dropped = 0;
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });

  return {
    broken(fault, socket, answer) {
      const connection = connections.get(socket);
      if (connection?.isBroken) return;
      if (connection !== undefined) connection.isBroken = true;
      const answerInTurn = () => {
        const latest = connection?.latest;
        if (latest === undefined || latest.writableFinished) answer();
        // The fault is in what came after the latest request, or in its body.
        else if (latest.req.complete) latest.once("close", answer);
        else if (latest.socket === null) latest.once("socket", answer);
        else if (latest.headersSent) socket.destroy();
        else answer();
      };
      if (fault.code === "ERR_HTTP_REQUEST_TIMEOUT") closeInTurns(answerInTurn);
      else answerInTurn();
    },
    closeUnused() {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    },
    closeAll() {
      const { size } = sockets;
      for (const socket of sockets) socket.destroy();
      return size;
    },
    end: () => clearInterval(look),
  };
}

/** Why a request reaches no route. */
function faultOf({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  if (rawHeaders.length > 2 * headersAtMost) return `The request has more than ${headersAtMost} headers.`;
  if (headers.host === undefined && httpVersion === "1.1") return "The request has no Host header.";
  return undefined;
}

/**
 * Has a connection read a little at a time, because 64 KiB, as Node reads at once, hold thousands of requests; and
 * nothing while it is not open. What it returns reads on when it is open again.
 */
function readInSlices(socket: Socket, isOpen: () => boolean): () => void {
  const push = socket.push.bind(socket);
  const read = socket._read.bind(socket);
  let rest: Uint8Array = new Uint8Array();
  let hasEnded = false;
  const pass = (): boolean => {
    let wantsMore = true;
    while (rest.length > 0 && isOpen()) {
      const slice = rest.subarray(0, sliceBytes);
      rest = rest.subarray(sliceBytes);
      wantsMore = push(slice);
    }
    return rest.length === 0 && (hasEnded ? push(null) : wantsMore);
  };
  socket.push = (chunk: unknown) => {
    if (chunk instanceof Uint8Array) rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    else hasEnded = true;
    return pass();
  };
  socket._read = (size) => {
    if (rest.length === 0) read(size);
  };
  // A listener has Node hand over what arrives. Otherwise its parser takes that from the system by itself.
  const listener = () => {};
  socket.on("data", listener).off("data", listener);
  return () => {
    pass();
    socket._read(0);
  };
}
