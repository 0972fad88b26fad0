import type { BulkRequest } from "../core/change.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { formatDecimal, requireDecimal } from "../core/decimal.ts";
import { FxError } from "../core/errors.ts";
import type { Money } from "../core/money.ts";
import type { Pesel } from "../core/pesel.ts";
import type { BulkAnswer, BulkLine } from "../core/service.ts";

/**
 * Lines and answers as one thread gives them to another: JSON without the names of members, and read without checks.
 * That takes a quarter of the time of the lines and answers of the wire, or of objects as threads pass them
 * (docs/PERFORMANCE.md).
 */

type Listed = readonly (string | boolean | null)[];

/** A line that is its own answer is null. */
export function linesText(lines: readonly BulkLine[]): string {
  return JSON.stringify(lines.map(encodeLine));
}

/** @param answered stands for a line that is its own answer */
export function linesOf(text: string, answered: FxError): BulkLine[] {
  const lines = JSON.parse(text) as readonly (Listed | ListedOther | null)[];
  return lines.map((line) => (line === null ? answered : decodeLine(line)));
}

/** An answer that is `answered` is null. */
export function answersText(answers: readonly BulkAnswer[], answered: FxError): string {
  return JSON.stringify(answers.map((answer) => (answer === answered ? null : encodeAnswer(answer))));
}

/** @param line of an answer that is null: its number, from 0 */
export function answersOf(text: string, lineAt: (index: number) => FxError): BulkAnswer[] {
  const answers = JSON.parse(text) as readonly (Listed | Refused | null)[];
  return answers.map((answer, index) => (answer === null ? lineAt(index) : decodeAnswer(answer)));
}

/** An opening, a deposit or a withdrawal, with its amount as text. */
type ListedOther = Exclude<BulkRequest, { kind: "exchange" }> & { readonly text: string };

function encodeLine(line: BulkLine): Listed | ListedOther | null {
  if (line instanceof FxError) return null;
  if (line.kind === "opening") return { ...line, initial: none, text: formatDecimal(line.initial) };
  if (line.kind !== "exchange") return { ...line, amount: none, text: formatDecimal(line.amount) };
  const { pesel, from, to, side, amount, table = null, key = null, by = null } = line;
  return [pesel, from, to, side, formatDecimal(amount), table, key, by];
}

/** Stands for an amount, because JSON has no bigint. */
const none = undefined as never;

function decodeLine(line: Listed | ListedOther): BulkRequest {
  if ("text" in line) {
    const amount = requireDecimal(line.text);
    return line.kind === "opening" ? { ...line, initial: amount } : { ...line, amount };
  }
  const [pesel, from, to, side, amount, table, key, by] = line as string[];
  return {
    kind: "exchange",
    pesel: pesel as Pesel,
    from: from as CurrencyCode,
    to: to as CurrencyCode,
    side: side as "toBuy" | "toSell",
    amount: requireDecimal(amount as string),
    table: table ?? undefined,
    key: key ?? undefined,
    by: by ?? undefined,
  };
}

type Refused = Pick<FxError, "code" | "message" | "fields" | "retryAfterSeconds" | "replayed" | "hint">;

function encodeAnswer(answer: BulkAnswer): Listed | Refused {
  if (answer instanceof FxError) {
    const { code, message, fields, retryAfterSeconds, replayed, hint } = answer;
    return { code, message, fields, retryAfterSeconds, replayed, hint };
  }
  const { receiptId, replayed } = answer;
  if (!("account" in answer)) return [receiptId, replayed];
  const { account, sold, bought } = answer;
  const { pesel, name, surname, closed, balances } = account;
  const list: (string | boolean | null)[] = [receiptId, replayed, pesel, name, surname, closed];
  for (const money of [sold, bought]) list.push(money?.currency ?? null, money?.minor.toString() ?? null);
  for (const { currency, minor } of balances) list.push(currency, minor.toString());
  return list;
}

function decodeAnswer(answer: Listed | Refused): BulkAnswer {
  if ("code" in answer) {
    const { code, message, ...options } = answer;
    return new FxError(code, message, options as object);
  }
  const [receiptId, isReplayed, pesel, name, surname, closed] = answer as string[];
  const recorded = { receiptId: receiptId as string, replayed: isReplayed as unknown as boolean };
  if (pesel === undefined) return recorded;
  const balances: Money[] = [];
  for (let at = 10; at < answer.length; at += 2) balances.push(moneyAt(answer, at));
  const account = {
    pesel: pesel as Pesel,
    name: name as string,
    surname: surname as string,
    balances,
    closed: closed as unknown as boolean,
  };
  const isExchange = answer[6] !== null;
  return {
    account,
    receiptId: recorded.receiptId,
    replayed: recorded.replayed,
    sold: isExchange ? moneyAt(answer, 6) : undefined,
    bought: isExchange ? moneyAt(answer, 8) : undefined,
  };
}

function moneyAt(list: Listed, at: number): Money {
  return { currency: list[at] as CurrencyCode, minor: BigInt(list[at + 1] as string) };
}
