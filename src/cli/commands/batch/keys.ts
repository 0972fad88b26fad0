import { hash } from "node:crypto";
import { type Opening, parseOpening } from "../../../core/account.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { formatDecimal } from "../../../core/decimal.ts";
import { FxError } from "../../../core/errors.ts";
import { type ExchangeOrder, parseTerms } from "../../../core/exchange.ts";
import { jsonString } from "../../../core/journal.ts";
import { parsePesel } from "../../../core/pesel.ts";
import { parseOpeningBody, parseOrderBody, requireKey } from "../../../wire/requests.ts";
import type { UsageError } from "../../errors.ts";
import { attempt, type BatchLine, invalid, isObject } from "./line.ts";

type Asked = Opening | ExchangeOrder;

/** What a line asks for, under its key. */
export type LineRequest = Asked & { readonly key: string };

/** A line, its idempotency key, and what it asks for. */
export interface KeyedLine {
  readonly number: number;
  readonly key: string;
  /** Whether the line names its key itself. */
  readonly hasOwnKey: boolean;
  /** As it is written; null if it cannot be read. */
  readonly pesel: string | null;
  /** The cells that fx does not read, by their columns, without the empty ones; undefined if there are no such columns. */
  readonly extra: Readonly<Record<string, string>> | undefined;
  /** Or what is wrong with the line. */
  readonly request: LineRequest | FxError | UsageError;
  /** The line as it is written, but under another key: the same one each time. */
  readonly withNewKey: () => string;
}

/**
 * Gives the lines of a batch their keys: the one that a line names, or one made of the batch's id, of what the line
 * asks for, and of how many lines before it ask for the same. So a line keeps its key if it is moved or written
 * differently, or if another is corrected. Equal lines are separate requests.
 */
export class LineKeys {
  readonly #id: string;
  readonly #today: CalendarDate;
  /** How many lines asked for the same so far, by the digest of what they ask for. */
  readonly #equal = new Map<string, number>();

  constructor(id: string, today: CalendarDate) {
    this.#id = id;
    this.#today = today;
  }

  of({ number, text, body, extra, key: named, fault, withKey }: BatchLine): KeyedLine {
    const asked = body === undefined && fault !== undefined ? fault : requestIn(body, this.#today);
    const own = named === undefined ? undefined : attempt(() => keyOf(named));
    const key =
      typeof own === "string"
        ? own
        : this.#derived(asked instanceof Error ? JSON.stringify([text]) : factsOf(asked));
    return {
      number,
      key,
      hasOwnKey: key === own,
      pesel: peselOf(body),
      extra,
      request: fault ?? (own instanceof Error ? own : asked instanceof Error ? asked : keyed(asked, key)),
      withNewKey: () => withKey(`again:${digestOf(key)}`),
    };
  }

  #derived(facts: string): string {
    const digest = digestOf(facts);
    const count = (this.#equal.get(digest) ?? 0) + 1;
    this.#equal.set(digest, count);
    return `${this.#id}:${digest}:${count}`;
  }
}

function requestIn(body: unknown, today: CalendarDate): Asked | FxError | UsageError {
  try {
    return requestOf(body, today);
  } catch (error) {
    if (error instanceof FxError) return error;
    throw error;
  }
}

/** Checks in the same order as the server. */
function requestOf(body: unknown, today: CalendarDate): Asked {
  if (isOpening(body)) return parseOpening(parseOpeningBody(body), today);
  const fields = parseOrderBody(body);
  const pesel = parsePesel(fields.pesel, today);
  // Listed one by one, here and below, because V8 is slow at a spread between other fields (docs/PERFORMANCE.md).
  const { from, to, side, amount } = parseTerms(fields);
  return { pesel, from, to, side, amount };
}

function keyed(asked: Asked, key: string): LineRequest {
  if ("initial" in asked) return { ...asked, key };
  const { pesel, from, to, side, amount } = asked;
  return { pesel, from, to, side, amount, key };
}

/** Everything in which two requests can differ. */
function factsOf(asked: Asked): string {
  if ("initial" in asked) {
    const { pesel, name, surname, initial } = asked;
    return JSON.stringify(["open", pesel, name, surname, formatDecimal(initial)]);
  }
  const { pesel, from, to, side, amount } = asked;
  return `["exchange","${pesel}",${jsonString(from)},${jsonString(to)},"${side}","${formatDecimal(amount)}"]`;
}

function keyOf(named: unknown): string {
  if (typeof named !== "string") throw invalid("The key must be text.");
  requireKey(named);
  return named;
}

function digestOf(text: string): string {
  return hash("sha256", text, "buffer").toString("base64url", 0, 16);
}

function isOpening(body: unknown): boolean {
  return isObject(body) && ("name" in body || "surname" in body || "pln" in body || "initial" in body);
}

function peselOf(body: unknown): string | null {
  return isObject(body) && typeof body.pesel === "string" ? body.pesel : null;
}
