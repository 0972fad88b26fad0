import { Chance } from "../support/chance.ts";
import { peselOf } from "../support/fixture.ts";
import type { ApiDocument, Operation, Parameter } from "./document.ts";
import { changed, damaged, hostileText, Members, type Node, write } from "./json.ts";
import { type Heard, Values } from "./values.ts";

export type Role = "viewer" | "teller" | "operator";

/** What may stand in Authorization: the tokens that count, and others. */
export interface Tokens {
  readonly valid: Readonly<Record<Role, readonly string[]>>;
  readonly invalid: readonly string[];
}

export interface Asked {
  readonly method: string;
  /** What the document says of it; undefined where the path or the method is of none. */
  readonly operation: Operation | undefined;
  /** Of the token that it has, if that is valid. */
  readonly role: Role | undefined;
  readonly bytes: Buffer;
  readonly body: Buffer;
  /** Whether it is HTTP; what is not may be answered by the end of the connection. */
  readonly isHttp: boolean;
}

/** How often each is asked for. What takes long is rare. */
const weights: Readonly<Record<string, number>> = {
  ...{ exchange: 12, deposit: 8, withdraw: 5, createAccount: 6, bulk: 5, reverse: 4, closeAccount: 2 },
  ...{ audit: 0.3, checkpoint: 0.3, compareCheckpoint: 0.5, exportJournal: 0.3, position: 0.3 },
  ...{
    metrics: 0.1,
    openApi: 0.1,
    live: 1,
    ready: 1,
    token: 1,
    rateHistory: 0.5,
    accounts: 0.7,
    statement: 1,
    account: 2,
  },
};
const usualWeight = 3;
const mediaTypes = [
  ...[
    "text/plain",
    "application/xml",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
  ],
  ...[
    "",
    "application/json;",
    "application/JSON",
    "application/json; charset=utf-16",
    "application/json, text/plain",
  ],
  ...[
    "application/x-ndjson",
    "application/problem+json",
    "a/b/c",
    "/",
    "80010112340",
    'application/json;charset="\xff"',
  ],
];
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY"];

/** Request number `nth` of a seed: the same bytes each time, but for what was heard from the server. */
export function makeRequest({
  seed,
  nth,
  document,
  heard,
  tokens,
}: {
  readonly seed: number;
  readonly nth: number;
  readonly document: ApiDocument;
  readonly heard: Heard;
  readonly tokens: Tokens;
}): Asked {
  const chance = new Chance(Math.imul(seed, 0x9e3779b1) ^ Math.imul(nth + 1, 0x85ebca6b));
  const values = new Values(document, chance, heard, `k-${seed}-${nth}`);
  const operation = operationOf(document, chance);
  if (chance.percent(1.5)) return notHttp(chance, operation);
  return new Maker(chance, values, operation, tokens, heard).make();
}

function operationOf({ operations }: ApiDocument, chance: Chance): Operation {
  const weighted = Object.fromEntries(
    operations.map(({ operationId }) => [operationId, weights[operationId] ?? usualWeight]),
  );
  const wanted = chance.weighted(weighted);
  return operations.find(({ operationId }) => operationId === wanted) as Operation;
}

/** Makes one request, in which more or less is wrong. */
class Maker {
  readonly #chance: Chance;
  readonly #values: Values;
  readonly #operation: Operation;
  readonly #tokens: Tokens;
  readonly #heard: Heard;
  readonly #headers: [name: string, value: string][] = [];
  /** In how many of a hundred places something is wrong. */
  readonly #wrong: number;
  /** In the path and in the body. */
  readonly #pesel: string;

  constructor(chance: Chance, values: Values, operation: Operation, tokens: Tokens, heard: Heard) {
    this.#chance = chance;
    this.#values = values;
    this.#operation = operation;
    this.#tokens = tokens;
    this.#heard = heard;
    this.#wrong = chance.pick([0, 0, 0, 0, 8, 8, 40]);
    this.#pesel = chance.percent(3)
      ? peselOf(String(chance.below(10 ** 10)).padStart(10, "0"))
      : values.pesel();
  }

  make(): Asked {
    const chance = this.#chance;
    const isOther = chance.percent(this.#wrong / 5);
    const method = isOther ? chance.pick(methods) : this.#isHead() ? "HEAD" : this.#operation.method;
    const path = this.#path();
    const role = this.#authorize();
    if (chance.percent(98)) this.#headers.unshift(["Host", "127.0.0.1"]);
    else
      this.#headers.unshift([
        "Host",
        chance.pick(["", "evil.example", "[::1]:80", "80010112340", "a".repeat(300)]),
      ]);
    for (const parameter of this.#operation.parameters) this.#header(parameter);
    if (this.#isWrong()) this.#oddHeaders();
    const body = this.#body();
    const lines = this.#headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, "latin1");
    const { method: own } = this.#operation;
    // An empty part in the middle of a path is no value of its parameter: there is nothing under such a path.
    const isWhole = path.split("?")[0] === this.#plainPath && !this.#plainPath.includes("//");
    const isKnown = isWhole && (method === own || (method === "HEAD" && own === "GET"));
    return {
      method,
      operation: isKnown ? this.#operation : undefined,
      role,
      bytes: Buffer.concat([head, ...body.framed]),
      body: body.plain,
      isHttp: true,
    };
  }

  #plainPath = "";

  #isWrong(): boolean {
    return this.#chance.percent(this.#wrong);
  }

  #isHead(): boolean {
    return this.#operation.method === "GET" && this.#chance.percent(5);
  }

  /** The path and the query, as they go over the network. */
  #path(): string {
    const chance = this.#chance;
    const { path, parameters } = this.#operation;
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      if (this.#isWrong()) return this.#wrongSegment();
      const parameter = parameters.find((each) => each.name === name && each.in === "path") as Parameter;
      return name === "pesel"
        ? this.#pesel
        : encodeURIComponent(plain(this.#values.of(parameter.schema, name)));
    });
    this.#plainPath = filled;
    const query: string[] = [];
    for (const { name, required, schema, in: place } of parameters) {
      if (place !== "query" || !(required || chance.percent(35)) || (required && this.#isWrong())) continue;
      const value = this.#isWrong() ? hostileText(chance) : plain(this.#values.of(schema, name));
      query.push(`${name}=${this.#isWrong() ? raw(value) : encoded(value)}`);
      if (this.#isWrong())
        query.push(chance.pick([`${name}=`, `${name}[]=1`, `${name}=%ff`, name, query[0] ?? ""]));
    }
    // The document cannot say that an order has one amount, and not two.
    const amounts = query.filter((each) => /^to(Buy|Sell)=/.test(each));
    if (!this.#isWrong()) {
      if (amounts.length === 2) query.splice(query.indexOf(amounts[0] as string), 1);
      else if (amounts.length === 0 && this.#operation.operationId === "quote") query.push("toBuy=1");
    }
    if (this.#isWrong()) query.push(`${encoded(hostileText(chance))}=${encoded(hostileText(chance))}`);
    const whole = filled + (query.length > 0 ? `?${query.join("&")}` : "");
    if (!chance.percent(this.#wrong / 8)) return whole;
    const odd = [
      "*",
      "/",
      "//",
      "/docs",
      "/docs/static/index.html",
      "/docs/../api/users",
      "/%2e%2e/",
      "/api",
      "/favicon.ico",
    ];
    return chance.pick([
      ...[
        ...odd,
        `/${whole}`,
        `${whole}/`,
        whole.toUpperCase(),
        `http://127.0.0.1${whole}`,
        whole.replaceAll("/", "%2F"),
      ],
      ...[
        `${whole}#a`,
        `${whole}%`,
        `${whole};a=b`,
        `/${"a".repeat(10_000)}`,
        whole.replace("?", "??"),
        "/api/user/%C0%AF",
      ],
    ]);
  }

  #wrongSegment(): string {
    const chance = this.#chance;
    const mistyped = this.#pesel.slice(0, 10) + ((Number(this.#pesel[10]) + 1) % 10);
    return chance.pick([
      ...[
        mistyped,
        `${this.#pesel}0`,
        this.#pesel.slice(0, 10),
        `%20${this.#pesel}`,
        `${this.#pesel}%00`,
        "%ff",
        "%zz",
      ],
      ...[
        "00000000000",
        "99999999999",
        "..",
        ".",
        "%2e%2e",
        "%2F",
        "0".repeat(3000),
        encoded(hostileText(chance)),
      ],
    ]);
  }

  /** The role of the token that the request gets, if it gets a valid one. */
  #authorize(): Role | undefined {
    const chance = this.#chance;
    const { valid, invalid } = this.#tokens;
    const needed = this.#operation.role as Role | undefined;
    const kind = chance.weighted({ enough: 65, any: 20, none: 6, invalid: 6, odd: 3 });
    if (kind === "none") return undefined;
    if (kind === "odd") {
      const token = chance.pick(valid.operator);
      const odd = [
        token,
        `Basic ${token}`,
        "Bearer",
        "Bearer ",
        `Bearer ${token} x`,
        `Bearer ${token},`,
        "Bearer \xff",
      ];
      this.#headers.push(["Authorization", chance.pick(odd)]);
      return undefined;
    }
    if (kind === "invalid") {
      this.#headers.push(["Authorization", `Bearer ${chance.pick(invalid)}`]);
      return undefined;
    }
    const enough = needed === undefined ? roles : roles.slice(roles.indexOf(needed));
    const role = chance.pick(kind === "enough" ? enough : roles);
    this.#headers.push([
      chance.percent(80) ? "Authorization" : "AUTHORIZATION",
      `Bearer ${chance.pick(valid[role])}`,
    ]);
    return role;
  }

  #header({ name, in: place, schema }: Parameter): void {
    const chance = this.#chance;
    if (place !== "header" || !chance.percent(name === "Fx-Table" ? 15 : 60)) return;
    const value = this.#isWrong() ? latin1(hostileText(chance)) : plain(this.#values.of(schema, name));
    this.#headers.push([name, chance.percent(10) ? `"${value}"` : value]);
    if (chance.percent(this.#wrong / 5)) this.#headers.push([name, value]);
  }

  #oddHeaders(): void {
    const chance = this.#chance;
    const odd: readonly [string, string][] = [
      ...([
        "X-Request-Id",
        "X-Http-Method-Override",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "Origin",
        "Referer",
      ].map((name) => [name, latin1(hostileText(chance))]) as [string, string][]),
      ["X-Request-Id", chance.pick(["abc", this.#pesel, chance.pick(this.#tokens.valid.operator)])],
      [
        "traceparent",
        chance.pick(["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", this.#pesel, "00-0-0-0"]),
      ],
      ["Origin", chance.pick(["null", "http://evil.example", "http://127.0.0.1"])],
      ["Sec-Fetch-Site", chance.pick(["cross-site", "same-origin", "x"])],
      ["Accept", chance.pick(["text/html", "*/*;q=0", "application/xml", "\xff"])],
      ["Accept-Encoding", "gzip, br, zstd"],
      ["Range", "bytes=0-0"],
      ["If-None-Match", "*"],
      ["Cookie", `token=${chance.pick(this.#tokens.valid.operator)}`],
      ["Expect", chance.pick(["100-continue", "bogus"])],
      ["Connection", chance.pick(["close", "keep-alive, Authorization"])],
      ["Upgrade", chance.pick(["websocket", "h2c"])],
      ["Content-Encoding", chance.pick(["gzip", "identity", "br"])],
      ["__proto__", "1"],
      ["X-Long", "x".repeat(chance.pick([1000, 6000]))],
    ];
    this.#headers.push(chance.pick(odd));
    if (chance.percent(5)) for (let nth = 0; nth < 500; nth += 1) this.#headers.push([`X-${nth}`, "1"]);
  }

  #body(): { readonly plain: Buffer; readonly framed: readonly Buffer[] } {
    const chance = this.#chance;
    const { body } = this.#operation;
    const isOmitted =
      body === undefined
        ? !chance.percent(this.#wrong / 10)
        : body.isOptional
          ? chance.percent(50)
          : this.#isOdd();
    if (isOmitted) {
      if (body !== undefined) this.#headers.push(["Content-Length", "0"]);
      return { plain: Buffer.alloc(0), framed: [] };
    }
    const type = this.#isOdd() ? chance.pick(mediaTypes) : (body?.type ?? "application/json");
    if (!this.#isOdd())
      this.#headers.push(["Content-Type", type + (chance.percent(20) ? "; charset=utf-8" : "")]);
    else this.#headers.push(["Content-Type", chance.pick(mediaTypes)]);
    const isLines = body?.type === "application/x-ndjson";
    const plainBody = isLines ? this.#lines() : this.#json();
    if (chance.percent(75)) {
      this.#headers.push(["Content-Length", String(plainBody.length)]);
      return { plain: plainBody, framed: [plainBody] };
    }
    this.#headers.push(["Transfer-Encoding", "chunked"]);
    const framed: Buffer[] = [];
    for (let at = 0; at < plainBody.length; ) {
      const piece = plainBody.subarray(at, at + 1 + chance.below(chance.pick([10, 5000])));
      const extension = this.#isOdd() ? ";a=b" : "";
      framed.push(Buffer.from(`${piece.length.toString(16)}${extension}\r\n`), piece, Buffer.from("\r\n"));
      at += piece.length;
    }
    framed.push(Buffer.from(this.#isOdd() ? "0\r\nX-Trailer: 1\r\n\r\n" : "0\r\n\r\n"));
    return { plain: plainBody, framed };
  }

  #isOdd(): boolean {
    return this.#chance.percent(this.#wrong / 4);
  }

  #json(): Buffer {
    const { body } = this.#operation;
    return this.#value(body === undefined ? new Members([]) : this.#values.of(body.schema), true);
  }

  #value(made: Node, hasPath: boolean): Buffer {
    const chance = this.#chance;
    let node = made;
    if (node instanceof Members && hasPath) {
      const pesel = node.list.find(([name]) => name === "pesel");
      if (pesel !== undefined) pesel[1] = this.#pesel;
    }
    while (this.#isWrong()) node = changed(chance, node);
    const text = write(node);
    return this.#isOdd() ? damaged(chance, text) : Buffer.from(text);
  }

  #lines(): Buffer {
    const chance = this.#chance;
    const { body, operationId } = this.#operation;
    const { checkpoint } = this.#heard;
    if (operationId === "compareCheckpoint" && checkpoint !== undefined && chance.percent(60)) {
      return this.#isOdd() ? damaged(chance, checkpoint.toString()) : checkpoint;
    }
    const end = chance.percent(10) ? "\r\n" : "\n";
    const lines: Buffer[] = [];
    for (let count = chance.below(chance.pick([3, 10, 80])); count >= 0; count -= 1) {
      if (chance.percent(3)) lines.push(Buffer.from(chance.pick(["", " ", "\t\t"])));
      else lines.push(this.#value(this.#values.of(body?.schema ?? {}), false));
      lines.push(Buffer.from(end));
    }
    if (chance.percent(30)) lines.pop();
    return Buffer.concat(lines);
  }
}

const roles: readonly Role[] = ["viewer", "teller", "operator"];

const plain = (node: Node): string => (typeof node === "object" ? write(node) : String(node));

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** As some clients send it, without what no request line can have. */
function raw(text: string): string {
  return latin1(text).replaceAll(/[\s#&]/g, "+");
}

/** What a header can hold. */
function latin1(text: string): string {
  return Buffer.from(text.replaceAll(/[^\t -~\u0080-\uffff]/g, "").slice(0, 4000))
    .toString("latin1")
    .trim();
}

/** What is not HTTP, or two requests to some and one to others. */
function notHttp(chance: Chance, { method, path }: Operation): Asked {
  const line = `${method} ${path.replaceAll(/\{\w+\}/g, "80010112340")} HTTP/1.1\r\n`;
  const host = "Host: a\r\n";
  const bytes = Buffer.from(
    chance.pick([
      ...[
        `${line}\r\n`,
        `${line}${host}${host}\r\n`,
        `${line}${host}No colon\r\n\r\n`,
        `${line}${host} folded\r\n\r\n`,
      ],
      ...[
        `${line}${host}A: a\0b\r\n\r\n`,
        `${line}${host}A: ${"a".repeat(20_000)}\r\n\r\n`,
        `${line}${host}A\xff: b\r\n\r\n`,
      ],
      ...[`${line}${host}Content-Length: -1\r\n\r\n`, `${line}${host}Content-Length: 1, 2\r\n\r\nab`],
      `${line}${host}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`,
      `${line}${host}Content-Length: 99999999999999999999\r\n\r\n`,
      `${line}${host}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
      `${line}${host}Transfer-Encoding: gzip\r\n\r\n`,
      `${line}${host}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
      `${line}${host}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nffffffffffffffffff\r\n{}\r\n`,
      ...[
        "GET / HTTP/9.9\r\n\r\n",
        "GET /\r\n\r\n",
        "get / HTTP/1.1\r\nHost: a\r\n\r\n",
        "G\0T / HTTP/1.1\r\n\r\n",
      ],
      ...[
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "\r\n\r\n\r\nx\r\n\r\n",
      ],
      ...[
        `GET ${"/a".repeat(9000)} HTTP/1.1\r\n\r\n`,
        "GET /\u00ff\u0000 HTTP/1.1\r\n\r\n",
        "80010112340\r\n\r\n",
      ],
      chance.bytes(200).toString("latin1"),
    ]),
    "latin1",
  );
  return { method, operation: undefined, role: undefined, bytes, body: Buffer.alloc(0), isHttp: false };
}
