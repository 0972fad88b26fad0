import type * as z from "zod";
import { type FieldError, FxError } from "../core/errors.ts";
import { opening } from "./accounts.ts";
import { houseCash, reversal } from "./cash.ts";
import { lossOf } from "./lossless-json.ts";
import { nearMiss } from "./near-miss.ts";
import { order } from "./orders.ts";

/** Where a fault is. */
type Part = "body" | "query" | "line" | "file";

/** How many wrong fields an error names. */
export const fieldsNamed = 20;

/**
 * Reads a body, a query or a line. Only its form is checked: the core decides whether the PESEL, the currencies and the
 * amounts are valid.
 * @throws FxError invalid-request, naming the fields
 */
export function parseRequest<T>(shape: z.ZodType<T>, untrusted: unknown, part: Part = "body"): T {
  const { data, error } = shape.safeParse(untrusted);
  if (error === undefined) return data;
  throw invalid(part, faultsOf(error, shape, untrusted));
}

/**
 * Writes a query as the wire has it.
 * @throws FxError invalid-request, naming the fields, for what a server refuses
 */
export function encodeQuery<Shape extends z.ZodType>(shape: Shape, query: z.output<Shape>): z.input<Shape> {
  const { data, error } = shape.safeEncode(query);
  if (error === undefined) return data;
  throw invalid("query", faultsOf(error, shape, query));
}

function faultsOf({ issues }: z.ZodError, shape: z.ZodType, value: unknown): readonly FieldError[] {
  const known = Object.keys("shape" in shape ? (shape.shape as object) : {});
  return issues.flatMap((issue) => fieldErrors(issue, value, known)).slice(0, fieldsNamed);
}

export function invalid(part: Part, fields: readonly FieldError[]): FxError {
  const faults = fields.slice(0, 3).map(({ pointer, detail }) => {
    const subject = pointer.slice(1) || "it";
    return detail.startsWith(unknown) ? detail : `${subject} ${detail}`;
  });
  return new FxError("invalid-request", `The ${part} is not valid: ${faults.join("; ")}.`, { fields });
}

/** A zod issue in our own words, which repeat no value that was sent. */
function fieldErrors(issue: z.core.$ZodIssue, untrusted: unknown, known: readonly string[]): FieldError[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys
      .slice(0, fieldsNamed)
      .map((name) =>
        mayBeTold(name, known)
          ? { pointer: `/${name}`, detail: "is not a known field" }
          : { pointer: "", detail: unknownName("field", known) },
      );
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
    case "invalid_value":
      return value === undefined ? "is required" : `must be ${issue.values.join(" or ")}`;
    default:
      return "is not valid";
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  object: "a JSON object",
};

/** Whether a name that was sent is that of a field, misspelt or not. Others may be a PESEL, a name or a token. */
export function mayBeTold(name: string, known: readonly string[]): boolean {
  const names = known.map((each) => each.toLowerCase());
  return /^[A-Za-z_]+$/.test(name) && nearMiss(name.toLowerCase(), names) !== undefined;
}

const unknown = "unknown ";

export function unknownName(kind: "field" | "parameter", known: readonly string[]): string {
  return `${unknown}${kind} (its name is withheld). Known: ${known.join(", ") || "none"}`;
}

/**
 * Parses the text of a body, from which JSON.parse would drop a field that is given twice, and round a number with more
 * digits than a double holds.
 * @throws FxError invalid-request, never quoting the text, which may hold a PESEL
 */
export function parseJson(text: string, part: Part = "body"): unknown {
  // Bytes that are not UTF-8 were decoded to this character.
  if (text.includes("\ufffd")) throw new FxError("invalid-request", `The ${part} is not valid UTF-8.`);
  let body: unknown;
  // The canonical text has each name once, and each number as the shortest text of its double.
  let canonical: string;
  try {
    body = JSON.parse(text);
    // Fails for thousands of nested brackets, which JSON.parse reads.
    canonical = JSON.stringify(body);
  } catch {
    const fault = text.trim() === "" ? "empty. Send a JSON object" : "not valid JSON";
    throw new FxError("invalid-request", `The ${part} is ${fault}.`);
  }
  if (canonical !== text) requireNothingLost(text, part);
  return body;
}

/** @throws FxError invalid-request if a name is given twice in an object, or a double does not hold a number exactly */
function requireNothingLost(text: string, part: Part): void {
  const loss = lossOf(text);
  if (loss === undefined) return;
  if ("name" in loss) throw givenTwice(loss.name, part);
  throw new FxError(
    "invalid-request",
    `A number in the ${part} has more digits than can be read exactly. Give no more than 15.`,
  );
}

/** The names of all fields of bodies and lines. */
const fieldNames = [
  ...[opening, order, houseCash, reversal].flatMap(({ shape }) => Object.keys(shape)),
  ...["kind", "receipt", "key", "table"],
];

function givenTwice(name: string, part: Part): FxError {
  const detail = "is given more than once";
  const field = mayBeTold(name, fieldNames)
    ? { pointer: `/${name}`, detail }
    : { pointer: "", detail: `has a field (its name is withheld) that ${detail}` };
  return invalid(part, [field]);
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
