import { type Account, planOpening } from "../core/account.ts";
import type { FxError } from "../core/errors.ts";
import type { Money } from "../core/money.ts";
import type { BulkAnswer } from "../core/service.ts";
import { encodeAccount } from "../wire/accounts.ts";
import { encodeMoney } from "../wire/fields.ts";
import type { KeyedLine } from "./keys.ts";

/** A line that was done, now or before. */
export interface DoneLine {
  readonly line: KeyedLine;
  readonly state: "done" | "replayed";
  /** The account after the line. */
  readonly account: Account;
  /** Empty where nothing was done. */
  readonly receiptId: string;
  readonly sold: Money | undefined;
  readonly bought: Money | undefined;
}

/** The outcome of a line that was not refused, from its answer. */
export function doneLine(line: KeyedLine, answer: Exclude<BulkAnswer, FxError>): DoneLine {
  const { receiptId, replayed } = answer;
  const state = replayed ? "replayed" : "done";
  if ("account" in answer) {
    const { account, sold, bought } = answer;
    return { line, state, account, receiptId, sold, bought };
  }
  const { request } = line;
  if (request instanceof Error || request.kind !== "opening") throw new Error("the answer has no account");
  const account = planOpening(undefined, request);
  return { line, state, account, receiptId, sold: undefined, bought: undefined };
}

/**
 * Whether a refusal says only that the line was sent before with another token, and not whether it was done: a key that
 * is made of what a line asks for is used for nothing else.
 */
export function isOfAnotherToken({ hasOwnKey }: KeyedLine, { code }: FxError): boolean {
  return code === "idempotency-key-reused" && !hasOwnKey;
}

/** One JSON document, on one line. */
export function doneText(result: DoneLine, isDryRun: boolean): string {
  const { number: line, key, extra } = result.line;
  const { account, sold, bought, receiptId, state } = result;
  return `${JSON.stringify({
    ...{ line, ok: true, ...(isDryRun && { dryRun: true }), ...encodeAccount(account) },
    ...{ sold: sold && encodeMoney(sold), bought: bought && encodeMoney(bought) },
    ...{ receipt: receiptId || undefined, key, replayed: state === "replayed", extra },
  })}\n`;
}

/** The JSON document of a line for which nothing was done. */
export function refusedText(
  { number, pesel, key, extra }: KeyedLine,
  failure: { readonly code: string; readonly message: string },
  isDryRun: boolean,
): string {
  const dryRun = isDryRun ? { dryRun: true } : {};
  return `${JSON.stringify({ line: number, ok: false, ...dryRun, pesel, key, ...failure, extra })}\n`;
}
