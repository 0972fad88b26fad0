import { minorUnitDigits, parseCurrencyCode } from "../../src/core/currency.ts";
import type { Balances, Happening, Read } from "./history.ts";

/** An answer as a history's event. */
export type Answered = Happening extends infer Each
  ? Each extends { readonly attempt: number }
    ? Omit<Each, "attempt">
    : never
  : never;

/** An HTTP answer; `text` has the body as far as it came before `failure`. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly failure: string | undefined;
}

function digitsOf(currency: string): number {
  return minorUnitDigits(parseCurrencyCode(currency)) ?? 0;
}

/** An amount in minor units as a text: "0.07" for 7 grosze. */
export function amountText(minor: number, currency: string): string {
  return (minor / 10 ** digitsOf(currency)).toFixed(digitsOf(currency));
}

/** The minor units of an amount: 7 for "0.07" PLN. */
export function minorOf(amount: number | string, currency: string): number {
  return Math.round(Number(amount) * 10 ** digitsOf(currency));
}

interface AccountBody {
  readonly pesel?: unknown;
  readonly currencies: readonly { readonly symbol: string; readonly amount: number }[];
}

function balancesOf({ currencies }: AccountBody): Balances {
  return Object.fromEntries(currencies.map(({ symbol, amount }) => [symbol, minorOf(amount, symbol)]));
}

/** The event of a failed request: a refusal of fx, or an unknown outcome. */
function ofFailure({ status, headers, text, failure }: Answer): Answered {
  if (failure !== undefined) return { event: "unknown", why: failure };
  const isProblem = (headers.get("content-type") ?? "").startsWith("application/problem+json");
  const { code } = (isProblem ? (parse(text) ?? {}) : {}) as { readonly code?: unknown };
  return typeof code === "string" ? ofCode(code) : { event: "unknown", why: `status ${status}` };
}

function ofCode(code: string): Answered {
  const isOpen = code === "storage-unavailable" || code === "internal";
  return isOpen ? { event: "unknown", why: code } : { event: "refused", code };
}

export function ofOrder(answer: Answer, pesel: string): Answered {
  const { status, headers, text, failure } = answer;
  const [, receipt] = /\/api\/receipts\/([^/]+)$/.exec(headers.get("fx-receipt") ?? "") ?? [];
  if (failure !== undefined || receipt === undefined || status >= 300) return ofFailure(answer);
  const replayed = headers.get("idempotency-replayed") === "true";
  if (status === 204) return { event: "done", receipt, replayed, balances: null };
  const account = parse(text) as AccountBody;
  if (account.pesel !== pesel) throw new Error(`the answer is about another account: ${text}`);
  return { event: "done", receipt, replayed, balances: balancesOf(account) };
}

interface BulkLine {
  readonly line: number | null;
  readonly receipt?: string;
  readonly replayed?: boolean;
  readonly account?: AccountBody;
  readonly problem?: { readonly code: string };
}

/** The events of a batch's answer, one for each line sent. */
export function ofLines(answer: Answer, lines: number): readonly Answered[] {
  const { status, text, failure } = answer;
  if (status !== 200) return Array.from({ length: lines }, () => ofFailure(answer));
  const found = new Map<unknown, Answered>();
  // Text after the last line feed is an incomplete line.
  for (const line of text.split("\n").slice(0, -1)) {
    const parsed = parse(line) as BulkLine;
    found.set(parsed.line, ofLine(parsed));
  }
  const none: Answered = { event: "unknown", why: failure ?? "no line in the answer to a batch" };
  return Array.from({ length: lines }, (_, index) => found.get(index + 1) ?? none);
}

function ofLine({ receipt, replayed = false, account, problem }: BulkLine): Answered {
  if (problem !== undefined) return ofCode(problem.code);
  if (receipt === undefined) return { event: "unknown", why: "a line without a receipt" };
  return { event: "done", receipt, replayed, balances: account === undefined ? null : balancesOf(account) };
}

export function ofRead(answer: Answer, { kind }: Read): Answered {
  const { status, text } = answer;
  if (answer.failure !== undefined || status !== 200) {
    const failed = ofFailure(answer);
    const isNone = failed.event === "refused" && failed.code === "account-not-found";
    return isNone ? { event: "read", balances: null } : failed;
  }
  if (kind === "account") return { event: "read", balances: balancesOf(parse(text) as AccountBody) };
  const { entries } = parse(text) as {
    readonly entries: readonly (AccountBody & { id: string; sequence: number })[];
  };
  const [newest] = entries;
  if (newest === undefined) throw new Error("an account without entries");
  const { id, sequence } = newest;
  return { event: "read", balances: balancesOf(newest), entry: { id, sequence } };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
