import fc from "fast-check";
import { adult } from "../support/fixture.ts";
import type { ApiDocument, Operation, Parameter } from "./document.ts";
import { accounts, arbitraryOf, changedJson, damaged, hostileText, hostileTexts } from "./values.ts";

export type Role = "viewer" | "teller" | "operator";
const roles: readonly Role[] = ["viewer", "teller", "operator"];

/** Tokens for the Authorization header. */
export interface Tokens {
  readonly valid: Readonly<Record<Role, readonly string[]>>;
  readonly invalid: readonly string[];
}

/** The newest values received from the server, which a client may send back. */
export interface Heard {
  readonly receipt: string[];
  readonly cursor: string[];
  readonly table: string[];
  checkpoint: Buffer | undefined;
}

export interface Asked {
  readonly method: string;
  /** The documented operation; undefined if path or method is undocumented. */
  readonly operation: Operation | undefined;
  /** The role of its token, if that is valid. */
  readonly role: Role | undefined;
  readonly bytes: Buffer;
  readonly body: Buffer;
  /** Whether it is valid HTTP; otherwise the server may just end the connection. */
  readonly isHttp: boolean;
}

/** A request that still has placeholders for what the server has answered. */
export type Draft = (heard: Heard) => Asked;

/** Relative frequencies of operations (default 3); slow ones are rare. */
const weights: Readonly<Record<string, number>> = {
  ...{ exchange: 48, deposit: 32, withdraw: 20, createAccount: 24, bulk: 20, reverse: 16, closeAccount: 24 },
  ...{ blockAccount: 8, unblockAccount: 16, suspendTrading: 1, resumeTrading: 12, compareCheckpoint: 2 },
  ...{ audit: 1, checkpoint: 1, exportJournal: 1, position: 1, till: 1, metrics: 1, openApi: 1 },
  ...{ live: 4, ready: 4, token: 4, rateHistory: 2, accounts: 3, statement: 4, account: 8 },
};
const mediaTypes = [
  ...["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "", "a/b/c"],
  ...["/", "application/json;", "application/JSON", "application/json; charset=utf-16", "80010112340"],
  ...["application/json, text/plain", "application/x-ndjson", "application/problem+json"],
  'application/json;charset="\xff"',
];
const methods = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY".split(" ");
/** Path segments that are sent as they are. */
const rawSegments = ["%ff", "%zz", "%2e%2e", "..", ".", "%2F", "%00", "0".repeat(3000)];
const otherPaths = [
  ...["*", "/", "//", "/docs", "/docs/static/index.html", "/docs/../api/users", "/%2e%2e/", "/api"],
  ...["/favicon.ico", `/${"a".repeat(10_000)}`, "/api/user/%C0%AF"],
];
/** Other spellings of a path, and other paths. */
const twists: readonly ((path: string) => string)[] = [
  ...otherPaths.map((other) => () => other),
  (path) => `/${path}`,
  (path) => path.replace(/(?=\?|$)/, "/"),
  (path) => path.toUpperCase(),
  (path) => `http://127.0.0.1${path}`,
  (path) => path.replaceAll("/", "%2F"),
  ...["#a", "%", ";a=b"].map((end) => (path: string) => path + end),
  (path) => path.replace("?", "??"),
];

/** Random requests to every operation of the document, valid ones more often than others. */
export function anyRequest(document: ApiDocument, tokens: Tokens): fc.Arbitrary<Draft> {
  const valid = document.operations.map((operation) => ({
    weight: 4 * (weights[operation.operationId] ?? 12),
    arbitrary: requestTo(document, tokens, operation, false),
  }));
  const hostile = document.operations.map((operation) => ({
    weight: 3 * (weights[operation.operationId] ?? 12),
    arbitrary: requestTo(document, tokens, operation, true),
  }));
  return fc.oneof(...valid, ...hostile, {
    weight: 20,
    arbitrary: fc.oneof(...document.operations.map(notHttp)),
  });
}

function requestTo(
  document: ApiDocument,
  tokens: Tokens,
  operation: Operation,
  isHostile: boolean,
): fc.Arbitrary<Draft> {
  /** In a hostile request the other value once in a while. */
  const or = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>, weight = 8): fc.Arbitrary<T> =>
    isHostile ? fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other }) : usual;
  const of = (parameter: Parameter) =>
    or(arbitraryOf(document, parameter.schema, parameter.name).map(String), hostileText);
  const inPlace = (place: Parameter["in"], frequency: number) =>
    fc.tuple(
      ...operation.parameters
        .filter((parameter) => parameter.in === place)
        .map((parameter) =>
          fc
            .tuple(
              fc.constant(parameter.name),
              of(parameter),
              parameter.required ? fc.constant(0) : fc.nat(99),
            )
            .map(([name, value, chance]) => (chance < frequency ? ([name, value] as const) : undefined)),
        ),
    );
  const own = operation.method;
  const path = inPlace("path", 100).chain((pairs) => {
    const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => `@path-${name}@`);
    return fc.constant({ filled, values: Object.fromEntries(pairs.flatMap((pair) => (pair ? [pair] : []))) });
  });
  return fc
    .record({
      method: or(
        own === "GET"
          ? fc.oneof(
              { weight: 19, arbitrary: fc.constant(own) },
              { weight: 1, arbitrary: fc.constant("HEAD") },
            )
          : fc.constant(own),
        fc.constantFrom(...methods),
        40,
      ),
      path,
      segment: or(fc.constant(""), fc.constantFrom(...rawSegments), 20),
      query: inPlace("query", 35),
      oddQuery: or(
        fc.constant(""),
        fc.oneof(fc.constantFrom("limit=", "limit[]=1", "limit=%ff", "limit"), hostileText),
      ),
      twist: or(
        fc.constant<((path: string) => string) | undefined>(undefined),
        fc.constantFrom(...twists),
        40,
      ),
      account: fc.nat(accounts - 1),
      token: tokenFor(operation, tokens),
      headers: inPlace("header", 40),
      oddHeaders: or(fc.constant<Header[]>([]), oddHeaders(tokens)),
      body: bodyOf(document, operation, isHostile),
    })
    .map((draft) => (heard: Heard) => {
      const fill = (text: string) => filled(text, heard, draft.account);
      const segments = draft.path.filled.replaceAll(/@path-(\w+)@/g, (_, name) =>
        draft.segment === "" ? encoded(fill(draft.path.values[name] ?? "")) : draft.segment,
      );
      const query = draft.query.flatMap((pair) => (pair ? [`${pair[0]}=${encoded(fill(pair[1]))}`] : []));
      if (draft.oddQuery !== "") query.push(encoded(draft.oddQuery));
      const whole = segments + (query.length > 0 ? `?${query.join("&")}` : "");
      const target = draft.twist?.(whole) ?? whole;
      const headers = draft.headers.flatMap((pair) =>
        pair ? [[pair[0], latin1(fill(pair[1]))] as Header] : [],
      );
      const body = draft.body(heard, draft.account);
      const lines = [
        ["Host", "127.0.0.1"],
        ...draft.token.headers,
        ...headers,
        ...draft.oddHeaders,
        ...body.headers,
      ];
      const head = `${draft.method} ${target} HTTP/1.1\r\n${lines.map((line) => `${line.join(": ")}\r\n`).join("")}\r\n`;
      // A path with an empty segment is undocumented, and not a parameter without a value.
      const isKnown = draft.twist === undefined && !segments.includes("//") && !segments.endsWith("/");
      const isOwn = draft.method === own || (draft.method === "HEAD" && own === "GET");
      return {
        method: draft.method,
        operation: isKnown && isOwn ? operation : undefined,
        role: draft.token.role,
        bytes: Buffer.concat([Buffer.from(head, "latin1"), body.framed]),
        body: body.plain,
        isHttp: true,
      };
    });
}

type Header = [name: string, value: string];

/** A token with enough rights for the operation; sometimes another, none, or one that is not valid. */
function tokenFor({ role }: Operation, { valid, invalid }: Tokens) {
  const enough = role === undefined ? roles : roles.slice(roles.indexOf(role as Role));
  const operator = valid.operator[0] ?? "";
  const odd = ["Basic ", "", "Token "].map((scheme) => `${scheme}${operator}`);
  const header = (value: string): Header[] => [["Authorization", value]];
  const bearer = (of: readonly Role[]) =>
    fc.tuple(fc.constantFrom(...of), fc.nat(1)).map(([own, nth]) => {
      return {
        role: own as Role | undefined,
        headers: header(`Bearer ${valid[own][nth % valid[own].length]}`),
      };
    });
  const none = (value: string) => ({ role: undefined, headers: header(value) });
  return fc.oneof(
    { weight: 65, arbitrary: bearer(enough) },
    { weight: 20, arbitrary: bearer(roles) },
    { weight: 6, arbitrary: fc.constant({ role: undefined, headers: [] }) },
    { weight: 6, arbitrary: fc.constantFrom(...invalid).map((token) => none(`Bearer ${token}`)) },
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(
          ...odd,
          "Bearer",
          "Bearer ",
          `Bearer ${operator} x`,
          `Bearer ${operator},`,
          "Bearer \xff",
        )
        .map(none),
    },
  );
}

function oddHeaders({ valid }: Tokens): fc.Arbitrary<Header[]> {
  const named = [
    "X-Request-Id",
    "X-Http-Method-Override",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "Origin",
    "Referer",
  ];
  const fixed: readonly Header[] = [
    ["X-Request-Id", adult()],
    ["X-Request-Id", valid.operator[0] ?? ""],
    ["traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
    ["traceparent", adult()],
    ["Host", "evil.example"],
    ["Origin", "http://evil.example"],
    ["Sec-Fetch-Site", "cross-site"],
    ["Accept", "*/*;q=0"],
    ["Accept-Encoding", "gzip, br, zstd"],
    ["Range", "bytes=0-0"],
    ["If-None-Match", "*"],
    ["Cookie", `token=${valid.operator[0]}`],
    ["Expect", "100-continue"],
    ["Expect", "bogus"],
    ["Connection", "close"],
    ["Upgrade", "h2c"],
    ["Content-Encoding", "gzip"],
    ["__proto__", "1"],
    ["X-Long", "x".repeat(6000)],
  ];
  return fc.oneof(
    fc.constantFrom(...fixed).map((header) => [header]),
    fc
      .tuple(fc.constantFrom(...named), fc.constantFrom(...hostileTexts).map(latin1))
      .map((header) => [header]),
    fc.constant(Array.from({ length: 500 }, (_, nth): Header => [`X-${nth}`, "1"])),
  );
}

interface Body {
  readonly headers: readonly Header[];
  readonly plain: Buffer;
  /** The body as it is sent. */
  readonly framed: Buffer;
}

function bodyOf(
  document: ApiDocument,
  { body, operationId }: Operation,
  isHostile: boolean,
): fc.Arbitrary<(heard: Heard, account: number) => Body> {
  const none: Body = { headers: [], plain: Buffer.alloc(0), framed: Buffer.alloc(0) };
  if (body === undefined) return fc.constant(() => none);
  const isLines = body.type === "application/x-ndjson";
  const valid = arbitraryOf(document, body.schema, "", isLines);
  const one = valid.map((value) => JSON.stringify(value));
  const json = isHostile
    ? fc.oneof({ weight: 3, arbitrary: one }, { weight: 2, arbitrary: changedJson(valid) })
    : one;
  const line = fc.oneof(
    { weight: 30, arbitrary: json },
    { weight: 1, arbitrary: fc.constantFrom("", " ", "\t\t") },
  );
  const lines = fc
    .tuple(
      fc.array(line, { minLength: 1, maxLength: 80 }),
      fc.constantFrom("\n", "\n", "\n", "\r\n"),
      fc.boolean(),
    )
    .map(([all, end, isEnded]) => all.join(end) + (isEnded ? end : ""));
  const text = isLines ? lines : json;
  const bytes = isHostile
    ? fc.oneof(
        { weight: 8, arbitrary: text.map((whole) => Buffer.from(whole)) },
        { weight: 1, arbitrary: damaged(text) },
      )
    : text.map((whole) => Buffer.from(whole));
  const types = isHostile
    ? fc.constantFrom(...Array<string>(40).fill(body.type), ...mediaTypes)
    : fc.constant(body.type);
  const isOmitted = body.isOptional ? fc.boolean() : fc.constant(false);
  return fc
    .tuple(bytes, types, fc.option(fc.integer({ min: 1, max: 5000 }), { freq: 3 }), isOmitted)
    .map(([given, type, chunk, isNone]) => (heard: Heard, account: number): Body => {
      if (isNone) return { ...none, headers: [["Content-Length", "0"]] };
      const checkpoint = operationId === "compareCheckpoint" && !isHostile ? heard.checkpoint : undefined;
      const plain = checkpoint ?? Buffer.from(filled(given.toString("latin1"), heard, account), "latin1");
      const headers: Header[] = [["Content-Type", type]];
      if (chunk === null) {
        headers.push(["Content-Length", String(plain.length)]);
        return { headers, plain, framed: plain };
      }
      headers.push(["Transfer-Encoding", "chunked"]);
      return { headers, plain, framed: inChunks(plain, chunk) };
    });
}

function inChunks(bytes: Buffer, size: number): Buffer {
  const framed: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    framed.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n"));
  }
  return Buffer.concat([...framed, Buffer.from("0\r\n\r\n")]);
}

const unheard = {
  receipt: "01a1fc0e-8c6f-70af-a44a-e5ac3576edce",
  cursor: "01a1fc0e-8c6f-70af-a44a-e5ac3576edce",
  table: "1/C/NBP/2020",
};

/** The text with a PESEL and the server's own values for its placeholders. */
function filled(text: string, heard: Heard, account: number): string {
  return text
    .replaceAll(/@(receipt|cursor|table)-(\d+)@/g, (_, kind: keyof typeof unheard, nth) => {
      return heard[kind][Number(nth) % Math.max(1, heard[kind].length)] ?? unheard[kind];
    })
    .replaceAll(/@pesel-(\d+)@/g, (_, nth) => adult(Number(nth)))
    .replaceAll("@pesel@", adult(account));
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** A text reduced to what a header can hold. */
function latin1(text: string): string {
  const kept = text.replaceAll(/[^\t -~\u0080-\uffff]/g, "").slice(0, 4000);
  return Buffer.from(kept).toString("latin1").trim();
}

/** Invalid HTTP, or a text that some servers take for one request and others for two. */
function notHttp({ method, path }: Operation): fc.Arbitrary<Draft> {
  const line = `${method} ${path.replaceAll(/\{\w+\}/g, "80010112340")} HTTP/1.1\r\n`;
  const begun = `${line}Host: a\r\n`;
  const chunked = `${begun}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n`;
  const texts = [
    ...[`${line}\r\n`, `${begun}Host: a\r\n\r\n`, `${begun}No colon\r\n\r\n`, `${begun} folded\r\n\r\n`],
    ...[`${begun}A: a\0b\r\n\r\n`, `${begun}A: ${"a".repeat(20_000)}\r\n\r\n`, `${begun}A\xff: b\r\n\r\n`],
    ...[`${begun}Content-Length: -1\r\n\r\n`, `${begun}Content-Length: 1, 2\r\n\r\nab`],
    `${begun}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`,
    `${begun}Content-Length: 99999999999999999999\r\n\r\n`,
    `${begun}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
    `${begun}Transfer-Encoding: gzip\r\n\r\n`,
    ...[`${chunked}zz\r\n{}\r\n0\r\n\r\n`, `${chunked}ffffffffffffffffff\r\n{}\r\n`],
    ...["GET / HTTP/9.9\r\n\r\n", "GET /\r\n\r\n", "get / HTTP/1.1\r\nHost: a\r\n\r\n"],
    ...[
      "G\0T / HTTP/1.1\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\r\n\r\nx\r\n\r\n",
      "80010112340\r\n\r\n",
    ],
    ...["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET /\u00ff\u0000 HTTP/1.1\r\n\r\n"],
    `GET ${"/a".repeat(9000)} HTTP/1.1\r\n\r\n`,
  ];
  const bytes = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...texts).map((text) => Buffer.from(text, "latin1")) },
    {
      weight: 1,
      arbitrary: fc.uint8Array({ minLength: 1, maxLength: 200 }).map((given) => Buffer.from(given)),
    },
  );
  const asked = { method, operation: undefined, role: undefined, body: Buffer.alloc(0), isHttp: false };
  return bytes.map((sent) => () => ({ ...asked, bytes: sent }));
}
