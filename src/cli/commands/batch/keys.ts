import { hash } from "node:crypto";
import { type Opening, parseOpening } from "../../../core/account.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { formatDecimal } from "../../../core/decimal.ts";
import type { FxError } from "../../../core/errors.ts";
import { type ExchangeOrder, parseTerms } from "../../../core/exchange.ts";
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
    const asked = attempt(() => {
      if (body === undefined && fault !== undefined) throw fault;
      return requestOf(body, this.#today);
    });
    const own = attempt(() => (named === undefined ? undefined : keyOf(named)));
    const key =
      typeof own === "string" ? own : this.#derived(asked instanceof Error ? [text] : factsOf(asked));
    const problem = [fault, own, asked].find((one) => one instanceof Error);
    return {
      number,
      key,
      hasOwnKey: key === own,
      pesel: peselOf(body),
      extra,
      request: problem ?? { ...(asked as Asked), key },
      withNewKey: () => withKey(`again:${digestOf(key)}`),
    };
  }

  #derived(facts: readonly string[]): string {
    const digest = digestOf(JSON.stringify(facts));
    const count = (this.#equal.get(digest) ?? 0) + 1;
    this.#equal.set(digest, count);
    return `${this.#id}:${digest}:${count}`;
  }
}

/** Checks in the same order as the server. */
function requestOf(body: unknown, today: CalendarDate): Asked {
  if (isOpening(body)) return parseOpening(parseOpeningBody(body), today);
  const { pesel, ...fields } = parseOrderBody(body);
  return { pesel: parsePesel(pesel, today), ...parseTerms(fields) };
}

/** Everything in which two requests can differ. */
function factsOf(asked: Asked): readonly string[] {
  if ("initial" in asked) {
    const { pesel, name, surname, initial } = asked;
    return ["open", pesel, name, surname, formatDecimal(initial)];
  }
  const { pesel, from, to, side, amount } = asked;
  return ["exchange", pesel, from, to, side, formatDecimal(amount)];
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
  return isObject(body) && ["name", "surname", "pln", "initial"].some((name) => name in body);
}

function peselOf(body: unknown): string | null {
  return isObject(body) && typeof body.pesel === "string" ? body.pesel : null;
}
