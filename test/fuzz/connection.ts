import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  /** By their names in small letters; of a name that comes twice, both values with a comma between them. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** A connection that sends any bytes, and reads answers strictly. */
export class Connection {
  readonly #socket: Socket;
  #arrived: Buffer = Buffer.alloc(0);
  #isOver = false;
  #isLate = false;
  #wake = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    const over = () => {
      this.#isOver = true;
      this.#wake();
    };
    socket.on("error", over).on("end", over).on("close", over);
    socket.on("data", (bytes: Buffer) => {
      this.#arrived = this.#arrived.length === 0 ? bytes : Buffer.concat([this.#arrived, bytes]);
      this.#wake();
    });
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, "connect");
    return new Connection(socket);
  }

  /** Whether the server may be sent more. */
  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** What arrived and belongs to no answer. */
  get rest(): string {
    return this.#arrived.toString("latin1");
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Says that no more will be sent. */
  end(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroy();
  }

  /**
   * The next answer; undefined if the connection ends without it.
   * @throws Error if it is no HTTP, breaks off in the middle, or does not come within two minutes
   */
  async read(method: string): Promise<Answer | undefined> {
    const timer = setTimeout(() => {
      this.#socket.destroy();
      this.#isOver = true;
      this.#isLate = true;
      this.#wake();
    }, 120_000);
    try {
      for (;;) {
        const head = await this.#until("\r\n\r\n");
        if (head === undefined) {
          if (this.#isLate) throw new Error("no answer came within two minutes");
          if (this.#arrived.length > 0) throw new Error(`the answer breaks off: ${this.rest}`);
          return undefined;
        }
        const [first = "", ...lines] = head.split("\r\n");
        const [, status] = /^HTTP\/1\.1 (\d{3}) [ -~]*$/.exec(first) ?? [];
        if (status === undefined) throw new Error(`not the first line of an answer: ${first}`);
        const headers = headersOf(lines);
        if (Number(status) < 200) continue;
        return { status: Number(status), headers, body: await this.#body(method, Number(status), headers) };
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #body(method: string, status: number, headers: ReadonlyMap<string, string>): Promise<Buffer> {
    const length = headers.get("content-length");
    if (method === "HEAD" || status === 204 || status === 304) return Buffer.alloc(0);
    if (headers.get("transfer-encoding") === "chunked") {
      if (length !== undefined) throw new Error("an answer with Content-Length and Transfer-Encoding");
      const pieces: Buffer[] = [];
      for (;;) {
        const size = Number.parseInt((await this.#until("\r\n")) ?? "", 16);
        if (Number.isNaN(size)) throw new Error("the body breaks off");
        const piece = await this.#take(size + 2);
        if (piece === undefined) throw new Error("the body breaks off");
        if (size === 0) return Buffer.concat(pieces);
        pieces.push(piece.subarray(0, size));
      }
    }
    if (length === undefined) throw new Error("an answer without a length");
    const body = await this.#take(Number(length));
    if (body === undefined) throw new Error(`the body breaks off: ${this.rest.slice(0, 500)}`);
    return body;
  }

  async #until(mark: string): Promise<string | undefined> {
    for (;;) {
      const at = this.#arrived.indexOf(mark);
      if (at >= 0) {
        const text = this.#arrived.toString("latin1", 0, at);
        this.#arrived = this.#arrived.subarray(at + mark.length);
        return text;
      }
      if (this.#isOver) return undefined;
      await this.#more();
    }
  }

  async #take(length: number): Promise<Buffer | undefined> {
    while (this.#arrived.length < length) {
      if (this.#isOver) return undefined;
      await this.#more();
    }
    const taken = this.#arrived.subarray(0, length);
    this.#arrived = this.#arrived.subarray(length);
    return taken;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
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
