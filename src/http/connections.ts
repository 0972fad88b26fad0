import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { FxError } from "../core/errors.ts";
import { isRepeated } from "./headers.ts";

/** What Node is given when it makes the server, of http or https. Without a Host it would answer without a body. */
export const nodeOptions = {
  requireHostHeader: false,
  connectionsCheckingInterval: 1000,
  // Always so without TLS. Otherwise a connection would be ended with its client's end, before node:http hears of it.
  allowHalfOpen: true,
  handshakeTimeout: 30_000,
} as const;

export interface ConnectionOptions {
  /** Further connections are closed as they come. No limit if absent. */
  readonly maxConnections?: number;
  /** How long a client may take nothing of an answer that waits for it. 30 s if absent. */
  readonly unreadTimeoutMs?: number;
}

export interface Connections {
  /**
   * What broke a connection, such as bytes that are no HTTP. `answer` is called in its turn: when the requests before
   * it have been answered, and few at a time where many connections run into their time limit at once. Also takes what
   * is no fault: that Node's parser stopped where it was told to.
   */
  broken(fault: ParserFault, socket: Socket, answer: () => void): void;
  /** Closes those over which nothing ever came, which Node does not count as idle. */
  closeUnused(): void;
  /** Closes all; tells how many there were. */
  closeAll(): number;
  /** Stops looking after them. */
  end(): void;
}

/** The error of Node's `clientError` event. */
export interface ParserFault {
  readonly code?: string | undefined;
  /** Of `rawPacket`. */
  readonly bytesParsed?: number;
  readonly rawPacket?: Uint8Array;
}

/** Node's parser of HTTP, as far as it is used here. Not documented: connections.test.ts fails if it changes. */
interface Parser {
  /** Called when the headers of a request have come. Returns what llhttp's `on_headers_complete` does. */
  onIncoming(request: IncomingMessage, keepAlive: boolean): number;
  resume(): void;
}

/** llhttp's HPE_PAUSED: stop here. What was not parsed comes back with an error of this code. */
const pausedParser = { verdict: 21, code: "HPE_PAUSED" };

/** What is known of a connection that a request has come over. */
interface TrackedConnection {
  /** To its newest request. */
  latest: ServerResponse;
  /** Whether the newest request waits for the one before to be answered. Nothing after it is parsed meanwhile. */
  isWaiting: boolean;
  /** That the time of the request that waits is over, which Node says once. It begins again when its turn comes. */
  expired: ParserFault | undefined;
  /** What has arrived and was not parsed; only where a request has ever waited. */
  unparsed: Unparsed | undefined;
  isBroken: boolean;
  /** How much had been written when it was last seen to move, and when that was. */
  written: number;
  movedAt: number;
}

const headersAtMost = 2000;
/** Read on while a request waits, so that it shows when the client leaves. */
const keptBytes = 64 * 1024;
const requestTimeout = "ERR_HTTP_REQUEST_TIMEOUT";
const lookMs = 1000;
/** To end one takes up to 0.2 ms: that is a quarter of the time. */
const endedAtOnce = 5;
const betweenEndsMs = 4;
const dropsToldMs = 10_000;

/**
 * Keeps any one connection from holding up the others. Each has one request at a time handled, in the order in which
 * they came; meanwhile no more than the next one is parsed.
 * @param refuse answers a request that reaches no route
 */
export function guardConnections(
  server: Server,
  options: ConnectionOptions,
  refuse: (error: FxError, request: IncomingMessage, response: ServerResponse) => void,
  warn: (facts: object, message: string) => void,
): Connections {
  const { maxConnections, unreadTimeoutMs = 30_000 } = options;
  const sockets = new Set<Socket>();
  const connections = new Map<Socket, TrackedConnection>();
  const ending: (() => void)[] = [];
  /** Requests that have waited and whose turn it is. */
  const next: (() => void)[] = [];

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

  function track(socket: Socket, latest: ServerResponse): TrackedConnection {
    const connection: TrackedConnection = {
      latest,
      isWaiting: false,
      expired: undefined,
      unparsed: undefined,
      isBroken: false,
      written: 0,
      movedAt: 0,
    };
    connections.set(socket, connection);
    socket.once("close", () => connections.delete(socket));
    const parser = parserOf(socket);
    if (parser === undefined) return connection;
    const onIncoming = parser.onIncoming;
    parser.onIncoming = (request, keepAlive) => {
      const verdict = onIncoming(request, keepAlive);
      return connection.isWaiting ? pausedParser.verdict : verdict;
    };
    return connection;
  }

  function wait(connection: TrackedConnection, request: IncomingMessage, response: ServerResponse): void {
    connection.isWaiting = true;
    response.once("socket", () => {
      next.push(() => {
        if (request.socket.destroyed) return;
        connection.isWaiting = false;
        start(request, response);
        connection.unparsed?.readOn();
        if (connection.expired !== undefined) expireAgain(request, connection.expired);
        connection.expired = undefined;
      });
      if (next.length === 1) setImmediate(startNext);
    });
  }

  function expireAgain(request: IncomingMessage, fault: ParserFault): void {
    const { socket } = request;
    const expire = () => request.complete || server.emit("clientError", fault, socket);
    setTimeout(expire, server.requestTimeout).unref();
  }

  /** One in each turn of the event loop, whatever their connections, so that others take theirs. */
  function startNext(): void {
    next.shift()?.();
    if (next.length > 0) setImmediate(startNext);
  }

  const look = setInterval(
    () => {
      const now = performance.now();
      for (const [socket, connection] of connections) {
        const { bytesWritten } = socket;
        // Bulks and exports set time limits of their own.
        if (socket.writableLength === 0 || socket.timeout || bytesWritten !== connection.written) {
          connection.written = bytesWritten;
          connection.movedAt = now;
        } else if (now - connection.movedAt >= unreadTimeoutMs) {
          endInTurn(() => socket.destroy());
        }
      }
    },
    Math.min(lookMs, unreadTimeoutMs),
  ).unref();

  let isEnding = false;

  /** Two thousand connections may end at once: because their client does, or their time is over. */
  function endInTurn(end: () => void): void {
    ending.push(end);
    if (!isEnding) setTimeout(endSome, betweenEndsMs);
    isEnding = true;
  }

  function endSome(): void {
    for (const end of ending.splice(0, endedAtOnce)) end();
    isEnding = ending.length > 0;
    if (isEnding) setTimeout(endSome, betweenEndsMs);
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
  // With https, not the socket that TLS runs over.
  server.on("setSecureContext" in server ? "secureConnection" : "connection", (socket: Socket) => {
    // However fast they come and go, those that wait for their end do not become more.
    ending.shift()?.();
    const { destroy } = socket;
    socket.destroy = (error?: NodeJS.ErrnoException) => {
      if (error?.code !== "ECONNRESET") return destroy.call(socket, error);
      endInTurn(() => destroy.call(socket, error));
      return socket;
    };
    // Node's own, which has its parser look whether a request was left unfinished.
    const onEnd = socket.listeners("end").at(-1) as () => void;
    socket.off("end", onEnd).on("end", () => endInTurn(() => socket.destroyed || onEnd()));
  });

  return {
    broken(fault, socket, answer) {
      const connection = connections.get(socket);
      if (connection?.isWaiting && fault.code === pausedParser.code) {
        connection.unparsed ??= new Unparsed(socket, () => !connection.isWaiting);
        connection.unparsed.hold(fault);
        return;
      }
      if (connection?.isWaiting && fault.code === requestTimeout) {
        connection.expired = fault;
        return;
      }
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
      if (fault.code === requestTimeout) endInTurn(answerInTurn);
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
function faultOf(request: IncomingMessage): string | undefined {
  const { headers, rawHeaders, httpVersion } = request;
  if (rawHeaders.length > 2 * headersAtMost) return `The request has more than ${headersAtMost} headers.`;
  if (headers.host === undefined && httpVersion === "1.1") return "The request has no Host header.";
  if (isRepeated(request, "host")) return "The request has more than one Host header.";
  if (isCompressed(headers)) return "The body is compressed. Send it without Content-Encoding.";
  return undefined;
}

/** Whether the request has a body in another coding than its own. */
function isCompressed({
  "content-encoding": encoding = "identity",
  "transfer-encoding": transfer = "",
  "content-length": length = "0",
}: IncomingMessage["headers"]): boolean {
  const hasBody = transfer !== "" || length !== "0";
  const isPlain = /^(\s*identity\s*,?)*\s*$/i.test(encoding) && /^(chunked|identity)?$/i.test(transfer);
  return hasBody && !isPlain;
}

function parserOf(socket: Socket): Parser | undefined {
  return (socket as Socket & { readonly parser?: Parser | null }).parser ?? undefined;
}

/** What has arrived over a connection while its parser was stopped. */
class Unparsed {
  readonly #socket: Socket;
  readonly #isOpen: () => boolean;
  readonly #push: Socket["push"];
  #bytes: Uint8Array = new Uint8Array();
  #isParserStopped = false;

  /** @param isOpen whether the parser may go on */
  constructor(socket: Socket, isOpen: () => boolean) {
    this.#socket = socket;
    this.#isOpen = isOpen;
    this.#push = socket.push.bind(socket);
    const read = socket._read.bind(socket);
    socket.push = (chunk: unknown) => {
      if (!(chunk instanceof Uint8Array)) return this.#push(chunk);
      this.#add(chunk);
      return this.#pass();
    };
    socket._read = (size) => {
      if (this.#bytes.length < keptBytes) read(size);
    };
    // A listener has Node hand over what arrives. Otherwise its parser takes that from the system by itself.
    const listener = () => {};
    socket.on("data", listener).off("data", listener);
  }

  /** Keeps what the parser did not take. A parser that had stopped before does not say how much it took: nothing. */
  hold({ rawPacket = new Uint8Array(), bytesParsed = 0 }: ParserFault): void {
    this.#add(this.#isParserStopped ? rawPacket : rawPacket.subarray(bytesParsed));
    this.#isParserStopped = true;
  }

  readOn(): void {
    if (this.#isParserStopped) {
      this.#isParserStopped = false;
      parserOf(this.#socket)?.resume();
      // The end of a request without a body may need no more bytes, but the parser has to run. `push` skips empty chunks.
      if (this.#bytes.length === 0) this.#socket.emit("data", Buffer.alloc(0));
    }
    this.#pass();
    this.#socket._read(0);
  }

  #add(chunk: Uint8Array): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
  }

  /** @returns whether more should be read */
  #pass(): boolean {
    let wantsMore = true;
    while (this.#bytes.length > 0 && this.#isOpen()) {
      const bytes = this.#bytes;
      this.#bytes = new Uint8Array();
      wantsMore = this.#push(bytes);
    }
    return this.#bytes.length < keptBytes && wantsMore;
  }
}
