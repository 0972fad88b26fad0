import type * as z from "zod";
import type { Opening } from "../core/account.ts";
import type { Cash, Change } from "../core/change.ts";
import { compareDecimals, type Decimal, formatDecimal, parseDecimal } from "../core/decimal.ts";
import { type FieldError, FxError } from "../core/errors.ts";
import type { ExchangeTerms } from "../core/exchange.ts";
import { exactNumber } from "../core/money.ts";
import type { Pesel } from "../core/pesel.ts";
import { cashLine, openingLine, orderLine } from "./bulk-schemas.ts";
import { nearMiss } from "./near-miss.ts";
import * as schemas from "./schemas.ts";

/**
 * Requests as the wire has them, both ways. A parser checks the form only: the core decides whether
 * the PESEL, the currencies and the amounts are valid.
 * @throws FxError invalid-request, from every parser, naming the fields
 */

export function parseOpeningBody(body: unknown) {
  const { name, surname, pesel, pln, initial } = read(schemas.openingBody, body, "body");
  return { name, surname, pesel, initial: amountOf(pln ?? initial) as Decimal };
}

export function parseOrderBody(body: unknown) {
  const { pesel, from, to, toBuy, toSell } = read(schemas.orderBody, body, "body");
  return { pesel, from, to, toBuy: amountOf(toBuy), toSell: amountOf(toSell) };
}

/** An opening in a line of a bulk. */
export function parseOpeningLine(line: unknown) {
  const { name, surname, pesel, pln, initial, key } = read(openingLine, line, "line");
  return { name, surname, pesel, initial: amountOf(pln ?? initial) as Decimal, key: checkedKey(key) };
}

/** An order in a line of a bulk. */
export function parseOrderLine(line: unknown) {
  const { pesel, from, to, toBuy, toSell, key, table } = read(orderLine, line, "line");
  return {
    pesel,
    from,
    to,
    toBuy: amountOf(toBuy),
    toSell: amountOf(toSell),
    key: checkedKey(key),
    table,
  };
}

export function parseCashBody(body: unknown) {
  const { amount, currency, note } = read(schemas.cash, body, "body");
  return { amount: amountOf(amount), currency, note };
}

export function parseCashLine(body: unknown) {
  const { kind, pesel, amount, currency, note, key } = read(cashLine, body, "line");
  return { kind, pesel, amount: amountOf(amount), currency, note, key: checkedKey(key) };
}

export function parseRenamingBody(body: unknown) {
  return read(schemas.renaming, body, "body");
}

/** @param body may be left out */
export function parseClosingBody(body: unknown): void {
  if (body !== undefined) read(schemas.closing, body, "body");
}

export function parseReversalBody(body: unknown) {
  return read(schemas.reversal, body, "body");
}

/** @throws FxError invalid-request if a JSON number cannot say the amount exactly */
export function encodeCash({ amount, currency, note }: Cash) {
  return { amount: exactNumber(amount), currency, note };
}

/**
 * The path under which a change is asked for, and the body.
 * @throws FxError invalid-request if a JSON number cannot say the amount exactly
 */
export function encodeChange(change: Change): { readonly path: string; readonly body: object } {
  const account = `/api/user/${change.pesel}`;
  switch (change.kind) {
    case "deposit":
    case "withdrawal": {
      return { path: `${account}/${change.kind}s`, body: encodeCash(change) };
    }
    case "renaming":
      return { path: `${account}/name`, body: { name: change.name, surname: change.surname } };
    case "closing":
      return { path: `${account}/closing`, body: {} };
    case "reversal":
      return { path: `/api/receipts/${change.reverses}/reversal`, body: { reason: change.reason } };
  }
}

export function parseQuoteQuery(query: unknown) {
  const { from, to, toBuy, toSell } = read(schemas.quoteQuery, query, "query");
  return { from, to, toBuy: amountOf(toBuy), toSell: amountOf(toSell) };
}

export function parseRateHistoryQuery(query: unknown): { days: number } {
  return read(schemas.rateHistoryQuery, query, "query");
}

/**
 * Parses the text of a body.
 * @throws FxError invalid-request, never quoting the text, which may hold a PESEL
 */
export function parseJson(text: string, what: What = "body"): unknown {
  // Bytes that are not UTF-8 were decoded to this character.
  if (text.includes("\ufffd")) throw new FxError("invalid-request", `The ${what} is not valid UTF-8.`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    const fault = text.trim() === "" ? "empty. Send a JSON object" : "not valid JSON";
    throw new FxError("invalid-request", `The ${what} is ${fault}.`);
  }
  if (!maybeRequest(body)) return body;
  if (mayRepeat(text, body)) requireDistinctNames(text, what);
  if (longNumber.test(text) && !numbersAreExact(text)) {
    throw new FxError(
      "invalid-request",
      `A number in the ${what} has more digits than can be read exactly. Give no more than 15.`,
    );
  }
  return body;
}

/**
 * Reads the idempotency key of a header: bare, or quoted as RFC 8941 has it.
 * @throws FxError invalid-request
 */
export function parseIdempotencyKey(header: string): string {
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header)?.[1];
  if (quoted === undefined && header.startsWith('"')) throw notAKey();
  const key = quoted === undefined ? header : quoted.replace(/\\(.)/g, "$1");
  requireKey(key);
  return key;
}

/** @throws FxError invalid-request if a JSON number cannot say the amount exactly */
export function encodeOpening({ name, surname, pesel, initial }: Opening) {
  return { name, surname, pesel, pln: exactNumber(initial) };
}

/** @throws FxError invalid-request if a JSON number cannot say the amount exactly */
export function encodeOrder(pesel: Pesel, { from, to, side, amount }: ExchangeTerms) {
  return { pesel, from, to, [side]: exactNumber(amount) };
}

export function encodeQuoteQuery({ from, to, side, amount }: ExchangeTerms): Record<string, string> {
  return { from, to, [side]: formatDecimal(amount) };
}

/**
 * The `Idempotency-Key` header of a key: quoted, so that any visible characters come through.
 * @throws FxError invalid-request if it is no key
 */
export function encodeIdempotencyKey(key: string): string {
  requireKey(key);
  return `"${key.replace(/["\\]/g, "\\$&")}"`;
}

/** @throws FxError invalid-request */
export function requireKey(key: string): void {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw notAKey();
}

function notAKey(): FxError {
  return new FxError("invalid-request", "The Idempotency-Key must be 1 to 255 visible ASCII characters.");
}

export function checkedKey(key: string | undefined): string | undefined {
  if (key !== undefined) requireKey(key);
  return key;
}

function amountOf(amount: number | string): Decimal;
function amountOf(amount: number | string | undefined): Decimal | undefined;
function amountOf(amount: number | string | undefined): Decimal | undefined {
  return amount === undefined ? undefined : parseDecimal(String(amount));
}

/** More than any request has. */
const mostFields = 16;

/** Any other is refused for its shape. To look at its names and numbers first would take long: there may be thousands. */
function maybeRequest(body: unknown): boolean {
  const values = Object.values(Object(body));
  return values.length <= mostFields && !values.some((value) => typeof value === "object" && value !== null);
}

/**
 * Whether there are more colons than fields, and those in the fields' texts: most bodies have as many, and so no field
 * twice. An escape can hide a colon.
 */
function mayRepeat(text: string, body: unknown): boolean {
  let left = Object.keys(Object(body)).length - colonsIn(text);
  if (left < 0 && !text.includes("\\")) {
    for (const value of Object.values(Object(body))) if (typeof value === "string") left += colonsIn(value);
  }
  return left < 0;
}

function colonsIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf(":"); at >= 0; at = text.indexOf(":", at + 1)) count += 1;
  return count;
}

/**
 * JSON.parse takes the last of two fields of one name, and others the first. Deeper ones are no fields of a request.
 * @throws FxError invalid-request
 */
function requireDistinctNames(text: string, what: What): void {
  const names = new Set<string>();
  let depth = 0;
  for (const [token, quoted] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (quoted !== undefined && depth === 1) {
      const name = JSON.parse(quoted) as string;
      if (names.has(name)) throw invalid(what, [strangeField(name, "is given more than once", fieldNames)]);
      names.add(name);
    }
  }
}

/** Matches every number that a double may not hold exactly. Most bodies have none. */
const longNumber = /\d(?:[\d.]{15}|[eE][+-]?\d{3})/;

/** Whether every number in JSON text is the one that JSON.parse makes of it. */
function numbersAreExact(text: string): boolean {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token.startsWith('"')) continue;
    const written = parseDecimal(token);
    const parsed = parseDecimal(String(Number(token)));
    if (written === undefined || parsed === undefined || compareDecimals(written, parsed) !== 0) return false;
  }
  return true;
}

/** Of those that are wrong, in an answer. */
export const fieldsNamed = 20;

/** Where a fault is. */
type What = "body" | "query" | "line";

export function read<T>(schema: z.ZodType<T>, untrusted: unknown, what: What): T {
  const { data, error } = schema.safeParse(untrusted);
  if (error === undefined) return data;
  const known = Object.keys("shape" in schema ? (schema.shape as object) : {});
  const fields = error.issues.flatMap((issue) => fieldErrors(issue, untrusted, known)).slice(0, fieldsNamed);
  throw invalid(what, fields);
}

export function invalid(what: What, fields: readonly FieldError[]): FxError {
  const named = fields.map(({ pointer, detail }) => `${pointer.slice(1) || "it"} ${detail}`);
  const message = `The ${what} is not valid: ${named.slice(0, 3).join("; ")}.`;
  return new FxError("invalid-request", message, { fields });
}

/** A zod issue in our own words, which repeat no value that was sent. */
function fieldErrors(
  issue: z.core.$ZodIssue,
  untrusted: unknown,
  known: readonly string[],
): readonly FieldError[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, fieldsNamed).map((key) => strangeField(key, "is not a known field", known));
  }
  const key = issue.path[0];
  const pointer = key === undefined ? "" : `/${String(key)}`;
  return [{ pointer, detail: detailOf(issue, key === undefined ? untrusted : Object(untrusted)[key]) }];
}

function detailOf(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case "custom":
      return issue.message;
    case "invalid_type":
      if (value === undefined && issue.path.length > 0) return "is required";
      return `must be ${typeNames[issue.expected] ?? issue.expected}`;
    case "too_small":
      return `must be at least ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "invalid_value":
      return `must be ${issue.values.join(" or ")}`;
    default:
      return "is not valid";
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  object: "a JSON object",
};

/** Of all bodies and lines. */
const fieldNames = [
  ...[schemas.openingBody, schemas.orderBody, schemas.cash, schemas.renaming, schemas.reversal],
  ...[openingLine, orderLine, cashLine],
].flatMap(({ shape }) => Object.keys(shape));

/** Whether a name that was sent is that of a field, misspelt or not. Others may be a PESEL, a name or a token. */
export function mayBeTold(name: string, known: readonly string[]): boolean {
  const names = known.map((each) => each.toLowerCase());
  return /^[A-Za-z_]+$/.test(name) && nearMiss(name.toLowerCase(), names) !== undefined;
}

function strangeField(name: string, fault: string, known: readonly string[]): FieldError {
  if (mayBeTold(name, known)) return { pointer: `/${name}`, detail: fault };
  return { pointer: "", detail: `has a field whose name is not repeated here: it ${fault}` };
}
