import { type BulkRequest, requestFacts } from "../core/change.ts";
import type { CalendarDate } from "../core/date.ts";
import type { FxError } from "../core/errors.ts";
import { parseLine } from "../wire/bulk.ts";
import { requireKey } from "../wire/requests.ts";
import { type BatchLine, invalid, isObject, valueOrError } from "./line.ts";

/** The request in a line, under its key. */
export type LineRequest = BulkRequest & { readonly key: string };

/** A line, its idempotency key, and what it asks for. */
export interface KeyedLine {
  readonly number: number;
  readonly key: string;
  /** Whether the line names its key itself. */
  readonly hasOwnKey: boolean;
  /** The PESEL as it is written; null if it cannot be read. */
  readonly pesel: string | null;
  /** The cells that fx does not read, by their columns, without the empty ones; undefined if there are no such columns. */
  readonly extra: Readonly<Record<string, string>> | undefined;
  /** The request, or the reason why the line has none. */
  readonly request: LineRequest | FxError;
  /**
   * The line as it is written, for a file of refused lines: under a new key, the same one each time. After `rate-changed`
   * the key is still free, so the line keeps it.
   */
  readonly forRejects: (code: string) => string;
}

/** The first 12 bytes of the SHA-256 of a text in UTF-8, in base64url. */
export type Digest = (text: string) => string;

/**
 * The id of a batch by what its lines ask for, each under the key that it names: the same for every file of the same
 * orders, in any order, format and spelling. Lines that cannot be read are no part of it.
 * @returns 24 hexadecimal digits, and whether there are such lines: once they are corrected, the file has another id
 */
export function batchIdOf(
  lines: Iterable<BatchLine>,
  digestOf: Digest,
): { readonly id: string; readonly hasUnread: boolean } {
  // The sum of the digests of all lines, which does not depend on their order.
  const sum = new Uint32Array(3);
  let hasUnread = false;
  for (const { body, key } of lines) {
    // The same on every day: no date of birth is in the future.
    const asked = valueOrError(() => parseLine(withLeadingZero(body), endOfDates));
    if (asked instanceof Error) {
      hasUnread = true;
      continue;
    }
    const digest = digestOf(JSON.stringify([key ?? null, ...factsOf(asked)]));
    const bytes = atob(digest.replaceAll("-", "+").replaceAll("_", "/"));
    for (let at = 0; at < bytes.length; at += 1) {
      sum[at >> 2] = (sum[at >> 2] ?? 0) + (bytes.charCodeAt(at) << (8 * (at & 3)));
    }
  }
  return { id: [...sum].map((word) => word.toString(16).padStart(8, "0")).join(""), hasUnread };
}

/** A spreadsheet drops the leading zero of a PESEL. The line is refused, but the batch is still the same. */
function withLeadingZero(body: unknown): unknown {
  const pesel = peselOf(body);
  return pesel !== null && /^\d{10}$/.test(pesel) ? { ...Object(body), pesel: `0${pesel}` } : body;
}

const endOfDates = "9999-12-31";

/**
 * Gives the lines of a batch their keys: the one that a line names, or one made of the batch's id, of what the line
 * asks for, and of how many lines before it ask for the same. So a line keeps its key if it is moved or written
 * differently, or if another is corrected. Equal lines are separate requests.
 *
 * A key is `b`, 3 characters of the batch's digest and 16 (96 bits) of the line's, and from the second equal line on
 * `:2`, `:3`, … It is short because each line puts its key into the ledger's index at a random place. With the same
 * beginning, those of a batch stay near each other.
 */
export class LineKeys {
  readonly #id: string;
  readonly #beginning: string;
  readonly #digestOf: Digest;
  readonly #today: CalendarDate;
  /** The number of earlier lines that ask for the same, by their digest; a map for each first character of digests. */
  readonly #equal = new Map<string, Map<string, number>>();

  constructor(id: string, today: CalendarDate, digestOf: Digest) {
    this.#id = id;
    this.#beginning = `b${digestOf(id).slice(0, 3)}`;
    this.#digestOf = digestOf;
    this.#today = today;
  }

  of({ number, text, body, extra, key: named, fault, withKey }: BatchLine): KeyedLine {
    const asked =
      body === undefined && fault !== undefined ? fault : valueOrError(() => parseLine(body, this.#today));
    const own = named === undefined ? undefined : valueOrError(() => keyOf(named));
    const key =
      typeof own === "string"
        ? own
        : this.#derived(asked instanceof Error ? textOf(body, text) : factsOf(asked));
    return {
      number,
      key,
      hasOwnKey: key === own,
      pesel: peselOf(body),
      extra,
      request: fault ?? (own instanceof Error ? own : asked instanceof Error ? asked : { ...asked, key }),
      forRejects: (code) => withKey(code === "rate-changed" ? key : `again:${this.#digestOf(key)}`),
    };
  }

  #derived(facts: readonly unknown[]): string {
    const digest = this.#digestOf(JSON.stringify([this.#id, ...facts]));
    // One map has 16 million entries at most, which a batch may exceed.
    const counts = this.#equal.get(digest.charAt(0)) ?? new Map<string, number>();
    const count = (counts.get(digest) ?? 0) + 1;
    this.#equal.set(digest.charAt(0), counts.set(digest, count));
    const key = this.#beginning + digest;
    return count === 1 ? key : `${key}:${count}`;
  }
}

/** Everything in which two requests can differ. If this changed, batches that were begun would be done twice. */
function factsOf(asked: BulkRequest): readonly unknown[] {
  return [asked.kind, asked.pesel, ...requestFacts(asked)];
}

/** The canonical text of a line that asks for nothing. */
function textOf(body: unknown, text: string): readonly unknown[] {
  return isObject(body) ? Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1)) : [text];
}

function keyOf(named: unknown): string {
  if (typeof named !== "string") throw invalid("The key must be text.");
  requireKey(named);
  return named;
}

function peselOf(body: unknown): string | null {
  return isObject(body) && typeof body.pesel === "string" ? body.pesel : null;
}
