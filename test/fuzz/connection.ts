import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  /** Values by lower-case name, joined by commas if the name is repeated. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** A connection that sends any bytes, and parses answers strictly. */
export class Connection {
  readonly #socket: Socket;
  #arrived: Buffer = Buffer.alloc(0);
  #isOver = false;
  #wake = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    const over = () => {
      this.#isOver = true;
      this.#wake();
    };
    socket.on("error", over).on("end", over).on("close", over);
    socket.setTimeout(120_000, () => socket.destroy());
    socket.on("data", (bytes: Buffer) => {
      this.#arrived = Buffer.concat([this.#arrived, bytes]);
      this.#wake();
    });
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, "connect");
    return new Connection(socket);
  }

  /** Whether the server may accept more requests. */
  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** Bytes received that belong to no answer. */
  get rest(): string {
    return this.#arrived.toString("latin1");
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Half-closes the connection. */
  end(): void {
    this.#socket.end();
  }

  close(): void {
    this.#isOver = true;
    this.#socket.destroy();
  }

  /**
   * The next answer; undefined if the connection ends, or stands still for two minutes, without it.
   * @throws Error if it is not HTTP or breaks off
   */
  async read(method: string): Promise<Answer | undefined> {
    for (;;) {
      const found = parseAnswer(this.#arrived, method);
      if (found !== undefined) {
        this.#arrived = this.#arrived.subarray(found.length);
        if (found.answer.status >= 200) return found.answer;
        continue;
      }
      if (this.#isOver) {
        if (this.#arrived.length > 0) throw new Error(`the answer breaks off: ${this.rest.slice(0, 500)}`);
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** The first answer in these bytes and its length; undefined if it is not complete. */
function parseAnswer(bytes: Buffer, method: string): { answer: Answer; length: number } | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) [ -~]*$/.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not the first line of an answer: ${first}`);
  const headers = headersOf(lines);
  const start = end + 4;
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) {
    return { answer: { status, headers, body: Buffer.alloc(0) }, length: start };
  }
  const size = headers.get("content-length");
  if (headers.get("transfer-encoding") === "chunked") {
    if (size !== undefined) throw new Error("an answer with Content-Length and Transfer-Encoding");
    const chunked = readChunks(bytes, start);
    return chunked && { answer: { status, headers, body: chunked.body }, length: chunked.end };
  }
  if (size === undefined) throw new Error("an answer without a length");
  const length = start + Number(size);
  if (bytes.length < length) return undefined;
  return { answer: { status, headers, body: bytes.subarray(start, length) }, length };
}

function readChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const pieces: Buffer[] = [];
  for (let at = start; ; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    if (Number.isNaN(size)) throw new Error("a chunk without a size");
    at = line + 2 + size + 2;
    if (bytes.length < at) return undefined;
    if (size === 0) return { body: Buffer.concat(pieces), end: at };
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
  }
}

function headersOf(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value = ""] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([ -~\t]*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a header: ${line}`);
    const known = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), known === undefined ? value : `${known}, ${value}`);
  }
  return headers;
}
