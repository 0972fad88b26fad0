import * as z from "zod";
import { parseOpening } from "../core/account.ts";
import { type BulkRequest, parseCash, type Request } from "../core/change.ts";
import type { CalendarDate } from "../core/date.ts";
import type { FxError } from "../core/errors.ts";
import { parseTerms } from "../core/exchange.ts";
import { housePlaceOf } from "../core/house.ts";
import { exactNumber } from "../core/money.ts";
import { parsePesel } from "../core/pesel.ts";
import type { BulkAnswer } from "../core/service.ts";
import { encodeListedAccount, initialOf, listedAccount, openingLine } from "./accounts.ts";
import { decodeAnswer, notAnAnswer } from "./answers.ts";
import { cash } from "./cash.ts";
import { encodeMoney, entryId, key, money, orNull, pesel } from "./fields.ts";
import { orderLine } from "./orders.ts";
import { decodeProblem, encodeProblem, problem } from "./problem.ts";
import { parseJson, parseRequest, requireKey } from "./requests.ts";

/** Lines of `POST /api/bulk` and the answers to them. */

export const bulkType = "application/x-ndjson";

/** Lines that a client may send before it reads the first answer. The server buffers the answers meanwhile. */
export const linesBeforeReading = 1000;

/** Fields of a line that a single request has in its path or headers. */
export const outside = {
  pesel,
  key: key.optional().meta({ description: "The same as the header `Idempotency-Key`" }),
};

export const cashLine = cash
  .extend({ kind: z.enum(["deposit", "withdrawal"]), ...outside })
  .meta({ id: "CashLine" });
/**
 * Reads a line as of `today`: what its `kind` says; without one, an opening if it has a field that only openings have,
 * otherwise an order. `by` is the name of the token that it came with.
 * @throws FxError with which the single endpoint refuses the same, in the same order of checks
 */
export function parseBulkLine(text: string, today: CalendarDate, by?: string): BulkRequest {
  return parseLine(parseJson(text, "line"), today, by);
}

/** Reads what JSON.parse made of a line, as `parseBulkLine` does. */
export function parseLine(line: unknown, today: CalendarDate, by?: string): BulkRequest {
  const { kind, name, surname, pln, initial } = Object(line) as Readonly<Record<string, unknown>>;
  if (kind !== undefined) return parseCash({ ...parseRequest(cashLine, line, "line"), by }, today);
  if ([name, surname, pln, initial].some((field) => field !== undefined)) {
    const asked = parseRequest(openingLine, line, "line");
    return { kind: "opening", ...parseOpening({ by, ...asked, initial: initialOf(asked) }, today) };
  }
  const { key, table, ...order } = parseRequest(orderLine, line, "line");
  const pesel = parsePesel(order.pesel, today);
  return { kind: "exchange", pesel, table, key, by, ...parseTerms(order) };
}

/**
 * The body of a request by itself.
 * @throws FxError invalid-request if a JSON number cannot say the amount exactly
 */
export function encodeBody(request: Request): object {
  switch (request.kind) {
    case "opening": {
      const { name, surname, pesel, initial } = request;
      return { name, surname, pesel, pln: exactNumber(initial) };
    }
    case "exchange": {
      const { pesel, from, to, side, amount } = request;
      return { pesel, from, to, [side]: exactNumber(amount) };
    }
    case "deposit":
    case "withdrawal": {
      const { amount, currency, note } = request;
      return { amount: exactNumber(amount), currency, note, account: housePlaceOf(request.pesel) };
    }
    case "renaming":
      return { name: request.name, surname: request.surname };
    case "closing":
      return {};
    case "reversal":
    case "block":
    case "unblock":
      return { reason: request.reason };
  }
}

/**
 * The text of a line, without a line feed: the opposite of `parseTrialLine` and, for the kinds of a batch, `parseBulkLine`.
 * @throws FxError invalid-request if a JSON number cannot say the amount exactly, or the key is not valid
 */
export function encodeBulkLine(request: Request): string {
  const { kind, pesel, key } = request;
  if (key !== undefined) requireKey(key);
  const body = encodeBody(request);
  if (kind === "opening") return JSON.stringify({ ...body, key });
  if (kind === "exchange") return JSON.stringify({ ...body, key, table: request.table });
  const receipt = kind === "reversal" ? request.reverses : undefined;
  return JSON.stringify({ kind, pesel, receipt, ...body, key });
}

const int32 = { type: "integer", format: "int32" } as const;
const lineNumber = z
  .int()
  .min(1)
  .meta({ format: "int64", description: "The number of the line, counted from 1" });
const done = {
  line: lineNumber,
  receipt: entryId
    .optional()
    .meta({ description: "The id of the receipt; absent for what a dry run would do" }),
  replayed: z.boolean().meta({ description: "Whether an earlier request with the same key had done it" }),
};
const exchanged = money.optional().meta({ description: "Present for an order" });
const settledLine = z
  .object({
    ...{ status: z.literal(200).meta(int32), ...done },
    ...{ account: listedAccount, sold: exchanged, bought: exchanged },
  })
  .meta({ id: "SettledLine", description: "The order, deposit or withdrawal is done" });
const openedLine = z
  .object({ status: z.literal(204).meta(int32), ...done })
  .meta({ id: "OpenedLine", description: "The account is open" });
const refusedLine = z
  .object({
    line: orNull(lineNumber).meta({
      description: "null in the last line, if the server ends the stream early",
    }),
    status: z.int().meta({ ...int32, minimum: 400, maximum: 599 }),
    problem,
    replayed: z
      .literal(true)
      .optional()
      .meta({ description: "Present if an earlier request with the same key got it" }),
  })
  .meta({ id: "RefusedLine", description: "Nothing was done for the line" });

export const bulkAnswer = z
  .union([settledLine, openedLine, refusedLine])
  .meta({ id: "BulkAnswer", description: "The answer to one line" });

/**
 * The answer to a line, without a line feed.
 * @param line its number from 1; null if the error is about no line but the stream
 */
export function bulkAnswerText(line: number | null, answer: BulkAnswer, requestId: string): string {
  if ("code" in answer) {
    const problem = encodeProblem(answer, requestId);
    const { status } = problem;
    return JSON.stringify({ line, status, problem, ...(answer.replayed && { replayed: true }) });
  }
  const { receiptId, replayed } = answer;
  const receipt = receiptId === "" ? undefined : receiptId;
  if (!("account" in answer)) return JSON.stringify({ line, status: 204, receipt, replayed });
  const account = encodeListedAccount(answer.account);
  const sold = answer.sold && encodeMoney(answer.sold);
  const bought = answer.bought && encodeMoney(answer.bought);
  return JSON.stringify({ line, status: 200, account, receipt, replayed, sold, bought });
}

/**
 * Reads what JSON.parse made of an answer's line.
 * @throws FxError internal if fx does not answer so
 */
export function decodeBulkAnswer(body: unknown): {
  /** Undefined if the answer is about no line but the stream. */
  readonly line: number | undefined;
  readonly answer: BulkAnswer;
} {
  const decoded = decodeAnswer<z.output<typeof bulkAnswer>>(shapeOf(body), body);
  const { line } = decoded;
  if ("problem" in decoded) {
    const { status, replayed = false } = decoded;
    const answer: FxError | undefined = decodeProblem(decoded.problem, status, { replayed });
    if (answer === undefined) throw notAnAnswer(`status ${status}`);
    return { line, answer };
  }
  const { receipt: receiptId = "", replayed } = decoded;
  if (decoded.status === 204) return { line, answer: { receiptId, replayed } };
  const { account, sold, bought } = decoded;
  return { line, answer: { account, receiptId, replayed, sold, bought } };
}

function shapeOf(body: unknown) {
  const { status } = Object(body) as { status?: unknown };
  return status === 200 ? settledLine : status === 204 ? openedLine : refusedLine;
}
