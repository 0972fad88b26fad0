import assert from "node:assert/strict";
import fc from "fast-check";
import { bulkType } from "../../src/wire/bulk.ts";
import type { Operation } from "../../src/wire/operation.ts";
import { type OperationId, operations } from "../../src/wire/operations.ts";
import { type Role, roles } from "../../src/wire/role.ts";
import { document, type Schema } from "../support/document.ts";
import { adult } from "../support/fixture.ts";
import { accounts, arbitraryOf, changedJson, damaged, hostileText, hostileTexts } from "./values.ts";

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

type Header = readonly [name: string, value: string];

export interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body: Buffer;
  /** The size of the chunks in which the body is sent; undefined if it has a length. */
  readonly chunk: number | undefined;
  /** The documented operation; undefined if the path or the method is another, or spelled otherwise. */
  readonly operation: OperationId | undefined;
  /** The role of its token, if that is valid. */
  readonly role: Role | undefined;
}

/** A request that still has placeholders for what the server has answered. */
export type Draft = (heard: Heard) => Asked;

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Schema;
}

/** Relative frequencies of operations (default 12); slow ones are rare. */
const weights: Readonly<Partial<Record<OperationId, number>>> = {
  ...{ exchange: 48, deposit: 32, withdraw: 20, createAccount: 24, bulk: 20, reverse: 16, closeAccount: 24 },
  ...{ blockAccount: 8, unblockAccount: 16, suspendTrading: 1, resumeTrading: 12, compareCheckpoint: 2 },
  ...{ audit: 1, checkpoint: 1, exportJournal: 1, position: 1, till: 1, metrics: 1, openApi: 1 },
  ...{ live: 4, ready: 4, token: 4, rateHistory: 2, accounts: 3, statement: 24, account: 8 },
};
const mediaTypes = [
  ...["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "", "a/b/c"],
  ...["/", "application/json;", "application/JSON", "application/json; charset=utf-16", "80010112340"],
  ...[
    "application/json, text/plain",
    bulkType,
    "application/problem+json",
    'application/json;charset="\xff"',
  ],
];
const methods = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY".split(" ");
/** Path segments that are sent as they are. */
const rawSegments = ["%ff", "%zz", "%2e%2e", "..", ".", "%2F", "%00", "0".repeat(3000)];
/** Other spellings of a path, and other paths. */
const twists: readonly ((path: string) => string)[] = [
  ...[
    ...["*", "/", "//", "/docs", "/docs/static/index.html", "/docs/../api/users", "/%2e%2e/", "/api"],
    ...["/favicon.ico", `/${"a".repeat(10_000)}`, "/api/user/%C0%AF"],
  ].map((other) => () => other),
  ...["#a", "%", ";a=b"].map((end) => (path: string) => path + end),
  (path) => `/${path}`,
  (path) => path.replace(/(?=\?|$)/, "/"),
  (path) => path.toUpperCase(),
  (path) => `http://127.0.0.1${path}`,
  (path) => path.replaceAll("/", "%2F"),
  (path) => path.replace("?", "??"),
];

/** Random requests to every operation of the document, valid ones more often than others. */
export function anyRequest(tokens: Tokens): fc.Arbitrary<Draft> {
  return fc.oneof(
    ...(Object.keys(operations) as OperationId[]).flatMap((id) =>
      [true, false].map((isHostile) => ({
        weight: (isHostile ? 3 : 4) * (weights[id] ?? 12),
        arbitrary: requestTo(id, tokens, isHostile),
      })),
    ),
  );
}

function requestTo(id: OperationId, tokens: Tokens, isHostile: boolean): fc.Arbitrary<Draft> {
  const operation: Operation = operations[id];
  const { parameters } = document.paths[operation.path]?.[operation.method.toLowerCase()] ?? {};
  /** In a hostile request the other value once in a while. */
  const or = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>, weight = 8): fc.Arbitrary<T> =>
    isHostile ? fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other }) : usual;
  const strange = fc.oneof({ weight: 9, arbitrary: hostileText }, fc.constantFrom(...tokens.valid.operator));
  /** Values by name for the parameters in this place, of which the optional ones may be left out. */
  const given = (place: Parameter["in"]) => {
    const here = (parameters as readonly Parameter[]).filter((parameter) => parameter.in === place);
    // A key is kept, and told to who may see the account: a token in one is no leak.
    const other = place === "header" ? hostileText : strange;
    const values = here.map(({ name, schema }) => [name, or(arbitraryOf(schema, name).map(String), other)]);
    const requiredKeys = here.filter(({ required }) => required).map(({ name }) => name);
    return fc.record(Object.fromEntries(values) as Record<string, fc.Arbitrary<string>>, { requiredKeys });
  };
  const head = operation.method === "GET" ? ["HEAD"] : [];
  const draft = fc.record({
    method: or(
      fc.constantFrom(...Array<string>(19).fill(operation.method), ...head),
      fc.constantFrom(...methods),
      40,
    ),
    path: given("path"),
    segment: or(fc.constant(undefined), fc.constantFrom(...rawSegments), 20),
    query: given("query"),
    oddQuery: or(
      fc.constant<string[]>([]),
      fc
        .oneof(
          fc.constantFrom(
            "limit=",
            "limit[]=1",
            "limit=%ff",
            "limit",
            `access_token=${tokens.valid.operator[0]}`,
          ),
          hostileText.map(encoded),
        )
        .map((odd) => [odd]),
    ),
    twist: or(
      fc.constant((path: string) => path),
      fc.constantFrom(...twists),
      40,
    ),
    account: fc.nat(accounts - 1),
    token: tokenFor(operation, tokens),
    headers: given("header"),
    oddHeaders: or(fc.constant<readonly Header[]>([]), oddHeaders(tokens)),
    body: bodyFor(id, operation, isHostile),
  });
  return draft.map(
    ({ method, path, segment, query, oddQuery, twist, account, token, ...more }) =>
      (heard) => {
        const fill = (text: string) => filled(text, heard, account);
        const segments = Object.entries(path).map(([name, value]) => [name, segment ?? encoded(fill(value))]);
        const plain = operation.path.replaceAll(
          /\{(\w+)\}/g,
          (_, name) => Object.fromEntries(segments)[name],
        );
        const asked = Object.entries(query).map(([name, value]) => `${name}=${encoded(fill(value))}`);
        const whole = [plain, [...asked, ...oddQuery].join("&")].filter((part) => part !== "").join("?");
        const target = twist(whole);
        const body = more.body(heard, account);
        const headers = Object.entries(more.headers).map(
          ([name, value]): Header => [name, latin1(fill(value))],
        );
        // A path with an empty segment is undocumented, and not a parameter without a value.
        const isKnown = target === whole && !plain.includes("//") && !plain.endsWith("/");
        const isOwn = [operation.method, ...head].includes(method);
        return {
          ...{ method, target, body: body.bytes, chunk: body.chunk, role: token.role },
          headers: [["Host", "127.0.0.1"], ...token.headers, ...headers, ...more.oddHeaders, ...body.headers],
          operation: isKnown && isOwn ? id : undefined,
        };
      },
  );
}

/** A token with enough rights for the operation; sometimes another, none, or one that is not valid. */
function tokenFor({ role }: Operation, { valid, invalid }: Tokens) {
  const enough = role === "anyone" ? roles : roles.slice(roles.indexOf(role));
  const operator = valid.operator[0];
  const header = (value: string): readonly Header[] => [["Authorization", value]];
  const bearer = (of: readonly Role[]) =>
    fc
      .constantFrom(...of.flatMap((each) => valid[each].map((token) => [each, token] as const)))
      .map(([role, token]) => ({ role: role as Role | undefined, headers: header(`Bearer ${token}`) }));
  const odd = [
    ...["Basic ", "", "Token "].map((scheme) => `${scheme}${operator}`),
    `Basic ${btoa(`fx:${operator}`)}`,
    ...["Bearer", "Bearer ", `Bearer ${operator} x`, `Bearer ${operator},`, "Bearer \xff"],
    ...invalid.flatMap((token) => Array<string>(3).fill(`Bearer ${token}`)),
  ];
  return fc.oneof(
    { weight: 65, arbitrary: bearer(enough) },
    { weight: 20, arbitrary: bearer(roles) },
    { weight: 6, arbitrary: fc.constant({ role: undefined, headers: [] }) },
    {
      weight: 9,
      arbitrary: fc.constantFrom(...odd).map((value) => ({ role: undefined, headers: header(value) })),
    },
  );
}

function oddHeaders({ valid }: Tokens): fc.Arbitrary<readonly Header[]> {
  const token = valid.operator[0] ?? "";
  const fixed: readonly Header[] = [
    ...[adult(), token].map((value): Header => ["X-Request-Id", value]),
    ["traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
    ["traceparent", adult()],
    ["Host", "evil.example"],
    ["Origin", "http://evil.example"],
    ["Sec-Fetch-Site", "cross-site"],
    ["Accept", "*/*;q=0"],
    ["Accept-Encoding", "gzip, br, zstd"],
    ["Range", "bytes=0-0"],
    ["If-None-Match", "*"],
    ["Cookie", `token=${token}`],
    ["Expect", "100-continue"],
    ["Expect", "bogus"],
    ["Connection", "close"],
    ["Content-Encoding", "gzip"],
    ["__proto__", "1"],
    ["X-Long", "x".repeat(6000)],
  ];
  const named = "X-Request-Id X-Http-Method-Override X-Forwarded-For X-Forwarded-Host Origin Referer".split(
    " ",
  );
  // A request's id is logged as it is, also one that could be a balance.
  const texts = hostileTexts.filter((text) => text !== "7318.37");
  return fc.oneof(
    fc.constantFrom(...fixed).map((header) => [header]),
    fc.tuple(fc.constantFrom(...named), fc.constantFrom(...texts).map(latin1)).map((header) => [header]),
    fc.constant(Array.from({ length: 500 }, (_, nth): Header => [`X-${nth}`, "1"])),
  );
}

interface Body {
  readonly headers: readonly Header[];
  readonly bytes: Buffer;
  readonly chunk: number | undefined;
}

function bodyFor(
  id: OperationId,
  operation: Operation,
  isHostile: boolean,
): fc.Arbitrary<(heard: Heard, account: number) => Body> {
  const { requestBody } = document.paths[operation.path]?.[operation.method.toLowerCase()] ?? {};
  if (requestBody === undefined)
    return fc.constant(() => ({ headers: [], bytes: Buffer.alloc(0), chunk: undefined }));
  const [[type, { schema }] = assert.fail(id)] = Object.entries(requestBody.content);
  const isLines = type === bulkType;
  const valid = arbitraryOf(schema, "", isLines);
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
  const whole = text.map((all) => Buffer.from(all));
  const bytes = isHostile
    ? fc.oneof({ weight: 8, arbitrary: whole }, { weight: 1, arbitrary: damaged(text) })
    : whole;
  const types = isHostile ? [...Array<string>(40).fill(type), ...mediaTypes] : [type];
  const none = { headers: [["Content-Length", "0"]], bytes: Buffer.alloc(0), chunk: undefined } as const;
  return fc
    .tuple(
      bytes,
      fc.constantFrom(...types),
      fc.option(fc.integer({ min: 1, max: 5000 }), { freq: 3, nil: undefined }),
      fc.boolean(),
    )
    .map(([given, type, chunk, isNone]) => (heard: Heard, account: number): Body => {
      if (isNone && operation.isBodyOptional) return none;
      const checkpoint = id === "compareCheckpoint" && !isHostile ? heard.checkpoint : undefined;
      const bytes = checkpoint ?? Buffer.from(filled(given.toString("latin1"), heard, account), "latin1");
      const length: Header =
        chunk === undefined ? ["Content-Length", String(bytes.length)] : ["Transfer-Encoding", "chunked"];
      return { headers: [["Content-Type", type], length], bytes, chunk };
    });
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
