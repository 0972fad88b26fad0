import { type Holder, requireAdult } from "../core/account.ts";
import { planChange, type Request, requestText, requestTextOf } from "../core/change.ts";
import { warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import { accountAfter, type Entry } from "../core/journal.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import type { Recorded, Settlement } from "../core/service.ts";
import { clockToleranceMs } from "./clock.ts";
import { requireSameRequest } from "./refusal.ts";
import type { StoredAccount } from "./store.ts";
import type { Command } from "./work.ts";

/** The table that an order settles at, where the ledger has this one in force. */
export type TableOf = (inForce: TableInForce | undefined) => RateTable;

/** How a request is decided on its account, in a commit or a dry run. */
export function commandOf(
  request: Request,
  { now, tableOf }: { readonly now: () => Date; readonly tableOf: TableOf },
): Command<Decided> {
  const { kind, pesel, key, by } = request;
  const body = () => requestText(request);
  const reverses = kind === "reversal" ? request.reverses : undefined;
  return {
    request: { pesel, key, by, reverses, body },
    decide: (stored, { earlier, inForce, nextId, entryOf }) => {
      if (earlier !== undefined) {
        requireSameRequest(requestTextOf(earlier) === body());
        return { answer: { entry: earlier, account: stored ?? accountNotFound() } };
      }
      const time = now();
      if (kind === "opening") requireAdult(pesel, warsawDate(time));
      const plan = planChange(stored, request, {
        table: () => tableOf(inForce()),
        entry: entryOf,
      });
      // Listed one by one, because V8 is slow at a spread between other fields (docs/PERFORMANCE.md).
      const entry: Entry = {
        kind,
        id: nextId(),
        pesel,
        sequence: (stored?.sequence ?? 0) + 1,
        time: entryTime(stored, time),
        key,
        by,
        holder: plan.holder,
        reverses: plan.reverses,
        note: plan.note,
        debited: plan.debited,
        credited: plan.credited,
        exchange: plan.exchange,
        balances: plan.account.balances,
      };
      return {
        answer: answerOf(entry, stored, false),
        written: { entry, holder: plan.account, table: plan.table },
      };
    },
  };
}

/**
 * An entry is never dated before the account's last one. Where that is far ahead of the clock, one of the two is wrong,
 * and the entry would be dated for a day that has not come.
 */
function entryTime(account: StoredAccount | undefined, now: Date): Date {
  if (account === undefined || account.time <= now) return now;
  const { time } = account;
  if (time.getTime() <= now.getTime() + clockToleranceMs) return time;
  throw new FxError(
    "storage-unavailable",
    `The account's newest entry is dated ${time.toISOString()}, more than five minutes after this clock's ` +
      `${now.toISOString()}. Nothing was changed. Check the clock; docs/OPERATIONS.md says what to do if it is right.`,
  );
}

/** That the request was carried out before, which led to this entry. */
export interface Repeat {
  readonly entry: Entry;
  /** As it is now. */
  readonly account: StoredAccount;
}

/** What a request came to in its commit. */
export type Decided = Settlement | Recorded | Repeat;

export function isRepeat(decided: Decided | FxError): decided is Repeat {
  return "entry" in decided;
}

/** @param before the holder before the entry; an opening has none, or one that was closed */
export function answerOf(entry: Entry, before: Holder | undefined, replayed: boolean): Settlement | Recorded {
  const { kind, id: receiptId, debited, credited } = entry;
  if (kind === "opening") return { receiptId, replayed };
  const account = accountAfter(entry, before ?? accountNotFound());
  if (kind !== "exchange") return { account, receiptId, replayed };
  return { account, receiptId, replayed, sold: debited, bought: credited };
}

export function accountNotFound(message = "There is no account for this PESEL."): never {
  throw new FxError("account-not-found", message);
}
