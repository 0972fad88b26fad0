import { parseHolder, parseOpening } from "../core/account.ts";
import { type BulkRequest, parseCash, parseReason, type Request } from "../core/change.ts";
import type { CalendarDate } from "../core/date.ts";
import type { FxError } from "../core/errors.ts";
import { parseTerms } from "../core/exchange.ts";
import { exactNumber } from "../core/money.ts";
import { parsePesel } from "../core/pesel.ts";
import type { BulkAnswer } from "../core/service.ts";
import {
  closingLine,
  openedLine,
  refusedLine,
  renamingLine,
  reversalLine,
  settledLine,
} from "./bulk-schemas.ts";
import { accountOf, accountText, decodeMoney, moneyText, notAnAnswer, read as readAnswer } from "./codecs.ts";
import { decodeProblem, encodeProblem } from "./problem.ts";
import {
  checkedKey,
  encodeCash,
  encodeOpening,
  parseCashLine,
  parseJson,
  parseOpeningLine,
  parseOrderLine,
  read,
  requireKey,
} from "./requests.ts";

/** Lines of `POST /api/bulk` and the answers to them, both ways. */

export const bulkType = "application/x-ndjson";

/**
 * Reads a line as of `today`: what its `kind` says; without one, an opening if it has a field that only openings have,
 * otherwise an order. `by` is the name of the token that it came with.
 * @throws FxError with which the single endpoint refuses the same, in the same order of checks
 */
export function parseBulkLine(text: string, today: CalendarDate, by?: string): BulkRequest {
  return parseLine(parseJson(text, "line"), today, by);
}

/** Reads a line of a dry run, which may also ask for what no bulk does. */
export function parseTrialLine(text: string, today: CalendarDate, by?: string): Request {
  const line = parseJson(text, "line");
  const { kind } = Object(line) as { readonly kind?: unknown };
  if (kind === "reversal") {
    const { pesel, receipt: reverses, reason, key } = read(reversalLine, line, "line");
    return { kind, ...accountAndKey(pesel, key), by, reverses, reason: parseReason(reason) };
  }
  if (kind === "renaming") {
    const { pesel, key, ...holder } = read(renamingLine, line, "line");
    return { kind, ...parseHolder(holder), ...accountAndKey(pesel, key), by };
  }
  if (kind === "closing") {
    const { pesel, key } = read(closingLine, line, "line");
    return { kind, ...accountAndKey(pesel, key), by };
  }
  return parseLine(line, today, by);

  function accountAndKey(pesel: string, key: string | undefined) {
    return { key: checkedKey(key), pesel: parsePesel(pesel, today) };
  }
}

/** Reads what JSON.parse made of a line, as `parseBulkLine` does. */
export function parseLine(line: unknown, today: CalendarDate, by?: string): BulkRequest {
  const { kind, name, surname, pln, initial } = Object(line) as Readonly<Record<string, unknown>>;
  if (kind !== undefined) return parseCash({ ...parseCashLine(line), by }, today);
  if ([name, surname, pln, initial].some((field) => field !== undefined)) {
    return { kind: "opening", ...parseOpening({ ...parseOpeningLine(line), by }, today) };
  }
  const order = parseOrderLine(line);
  const pesel = parsePesel(order.pesel, today);
  // Listed one by one, because V8 is slow at a spread between other fields (docs/PERFORMANCE.md).
  const { from, to, side, amount } = parseTerms(order);
  return { kind: "exchange", pesel, from, to, side, amount, table: order.table, key: order.key, by };
}

/**
 * The line that `parseTrialLine`, and for what a bulk does `parseBulkLine`, reads as this, without a line feed.
 * @throws FxError invalid-request if a JSON number cannot say the amount exactly, or the key is not valid
 */
export function encodeBulkLine(line: Request): string {
  const { kind, pesel, key } = line;
  if (key !== undefined) requireKey(key);
  if (kind === "reversal") {
    return JSON.stringify({ kind, pesel, receipt: line.reverses, reason: line.reason, key });
  }
  if (kind === "renaming") {
    return JSON.stringify({ kind, pesel, name: line.name, surname: line.surname, key });
  }
  if (kind === "closing") return JSON.stringify({ kind, pesel, key });
  if (kind === "opening") return JSON.stringify({ ...encodeOpening(line), key });
  if (kind !== "exchange") return JSON.stringify({ kind, pesel, ...encodeCash(line), key });
  const { from, to, side, amount, table } = line;
  return JSON.stringify({ pesel, from, to, [side]: exactNumber(amount), key, table });
}

/**
 * What became of a line, without a line feed.
 * @param line its number from 1; null if the error is about no line but the stream
 */
export function bulkAnswerText(line: number | null, answer: BulkAnswer, requestId: string): string {
  if ("code" in answer) return refusalText(line, answer, requestId);
  const { receiptId, replayed } = answer;
  const receipt = `${receiptId === "" ? "" : `"receipt":"${receiptId}",`}"replayed":${replayed}`;
  if (!("account" in answer)) return `{"line":${line},"status":204,${receipt}}`;
  const { account, sold, bought } = answer;
  const exchanged = sold && bought ? `,"sold":${moneyText(sold)},"bought":${moneyText(bought)}` : "";
  const state = account.closed ? `${accountText(account).slice(0, -1)},"closed":true}` : accountText(account);
  return `{"line":${line},"status":200,"account":${state},${receipt}${exchanged}}`;
}

function refusalText(line: number | null, error: FxError, requestId: string): string {
  const problem = encodeProblem(error, requestId);
  return JSON.stringify({
    line,
    status: problem.status,
    problem,
    ...(error.replayed && { replayed: true }),
  });
}

/**
 * Reads what JSON.parse made of an answer's line.
 * @throws FxError internal if fx does not answer so
 */
export function decodeBulkAnswer(body: unknown): {
  readonly line: number | null;
  readonly answer: BulkAnswer;
} {
  const { status } = Object(body) as { status?: unknown };
  if (status === 204) {
    const { line, receipt, replayed } = readAnswer(openedLine, body);
    return { line, answer: { receiptId: receipt ?? "", replayed } };
  }
  if (status === 200) {
    const { line, receipt, replayed, account, sold, bought } = readAnswer(settledLine, body);
    const exchanged = sold && bought && { sold: decodeMoney(sold), bought: decodeMoney(bought) };
    return {
      line,
      answer: {
        account: accountOf(account, account.closed),
        receiptId: receipt ?? "",
        replayed,
        ...exchanged,
      },
    };
  }
  const refused = readAnswer(refusedLine, body);
  const answer = decodeProblem(refused.problem, refused.status, { replayed: refused.replayed ?? false });
  if (answer === undefined) throw notAnAnswer(`status ${refused.status}`);
  return { line: refused.line, answer };
}
