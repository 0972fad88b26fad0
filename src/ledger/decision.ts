import { requireAdult } from "../core/account.ts";
import { entryOf, planChange, type Request, requestBehind, requestText } from "../core/change.ts";
import { warsawDate } from "../core/date.ts";
import { type ErrorCode, FxError } from "../core/errors.ts";
import { requireQuoted } from "../core/exchange.ts";
import { accountAfter, type Entry } from "../core/journal.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import type { BulkAnswer, Recorded, Settlement } from "../core/service.ts";
import { requireTrading } from "../core/suspension.ts";
import { limits } from "./limits.ts";
import { type Refusal, type SealedEntry, sealEntry, sha256 } from "./rows.ts";
import type { FoundEntry, LedgerView, RefusalLimits, StoredAccount, Writes } from "./store.ts";

const refusalsKeptMs = 30 * 86_400_000;
export const refusalsAtMost = 1_000_000;

/**
 * Refusals that depend on the account, the rates or the funds. Sent again, the request could be carried out although
 * its sender knows it as refused, so the answer is kept. An order at a replaced table may be sent again, under its key,
 * for the next table. A request that is wrong in itself is always refused.
 */
const finalCodes: readonly ErrorCode[] = [
  "account-not-found",
  "account-exists",
  "insufficient-funds",
  "balance-limit",
  "unsupported-currency",
  "amount-too-small",
  "underage",
  "already-reversed",
  "account-closed",
  "account-blocked",
  "account-not-blocked",
  "account-not-empty",
];

/** The inputs of a decision that the ledger does not hold. */
export interface DecisionRules {
  readonly time: Date;
  /** Makes the id of an entry. */
  readonly newId: () => string;
  /** The table that an order settles at, where the ledger has this one in force. */
  readonly tableOf: (inForce: TableInForce | undefined) => RateTable;
  /** How many refusals are kept. */
  readonly refusalsAtMost: number;
}

/** The results of earlier decisions that are not in the store yet. */
export class Uncommitted {
  readonly accounts = new Map<string, StoredAccount>();
  /** Entries and refusals by PESEL and key. */
  readonly answered = new Map<string, FoundEntry | Refusal>();
  /** The ids of entries and of their reversals. */
  readonly reversed = new Map<string, string>();
}

/** Decides requests, each on the view of the ledger and on the results of those before it. */
export class Decisions {
  readonly #view: LedgerView;
  readonly #rules: DecisionRules;
  readonly #limits: RefusalLimits;
  readonly #uncommitted: Uncommitted;
  readonly #entries: SealedEntry[] = [];
  readonly #refusals: Refusal[] = [];

  constructor(view: LedgerView, rules: DecisionRules, uncommitted = new Uncommitted()) {
    this.#view = view;
    this.#rules = rules;
    this.#limits = { since: new Date(rules.time.getTime() - refusalsKeptMs), most: rules.refusalsAtMost };
    this.#uncommitted = uncommitted;
  }

  /**
   * Returns the answer to give once the writes are durable. A refusal that could turn out differently later is kept under
   * the request's key, and is its answer from then on.
   */
  decide(request: Request): BulkAnswer {
    try {
      return this.#answerAgain(request) ?? this.#carryOut(request);
    } catch (error) {
      const failure = failureOf(error);
      if (!failure.replayed && finalCodes.includes(failure.code)) this.#keep(request, failure);
      return failure;
    }
  }

  get writes(): Writes {
    return {
      accounts: [...this.#uncommitted.accounts.values()],
      entries: this.#entries,
      refusals: this.#refusals.length === 0 ? undefined : { kept: this.#refusals, limits: this.#limits },
    };
  }

  /** The first answer to the request's key, whatever has happened to the account since. */
  #answerAgain(request: Request): Settlement | Recorded | undefined {
    const { pesel, key, by } = request;
    if (key === undefined) return undefined;
    const earlier = this.#uncommitted.answered.get(pesel + key) ?? this.#view.answered(pesel, key);
    if (earlier === undefined) return undefined;
    if ("entry" in earlier) {
      requireSameToken(earlier.entry, by);
      requireSameRequest(requestText(requestBehind(earlier.entry)) === requestText(request));
      return answerOf(earlier.entry, true);
    }
    if (earlier.time < this.#limits.since) return undefined;
    requireSameToken(earlier, by);
    requireSameRequest(earlier.digest === sha256(requestText(request)));
    throw new FxError(earlier.code, earlier.message, { replayed: true });
  }

  #carryOut(request: Request): Settlement | Recorded {
    const { kind, pesel, key, by } = request;
    const { time, newId, tableOf } = this.#rules;
    const account = this.#uncommitted.accounts.get(pesel) ?? this.#view.account(pesel);
    if (kind === "opening") requireAdult(pesel, warsawDate(time));
    const inForce = () => this.#view.inForce();
    const plan = planChange(account, request, {
      table: () => {
        requireTrading(inForce()?.suspension);
        return tableOf(inForce());
      },
      requireQuoted: (currency) => requireQuoted(currency, tableOf(inForce())),
      entry: (id) => this.#entryOf(id),
    });
    const sequence = (account?.sequence ?? 0) + 1;
    const head = { kind, id: newId(), pesel, sequence, time: entryTime(account, time), key, by };
    const entry = entryOf(head, plan);
    this.#append(entry, account?.hash ?? "");
    return answerOf(entry, false);
  }

  #append(entry: Entry, previousHash: string): void {
    const sealed = sealEntry(entry, previousHash);
    const { id, pesel, key, sequence, time, reverses } = entry;
    this.#entries.push(sealed);
    this.#uncommitted.accounts.set(pesel, { sequence, hash: sealed.hash, time, ...accountAfter(entry) });
    if (reverses !== undefined) this.#uncommitted.reversed.set(reverses, id);
    if (key !== undefined) this.#uncommitted.answered.set(pesel + key, { ...sealed, reversedBy: undefined });
  }

  #entryOf(id: string) {
    const found = this.#view.entry(id);
    if (found === undefined) return undefined;
    const { entry, reversedBy } = found;
    return { entry, reversedBy: this.#uncommitted.reversed.get(entry.id) ?? reversedBy };
  }

  #keep(request: Request, { code, message }: FxError): void {
    const { pesel, key, by } = request;
    if (key === undefined) return;
    const digest = sha256(requestText(request));
    const refusal = { pesel, key, by, digest, code, message, time: this.#rules.time };
    this.#refusals.push(refusal);
    this.#uncommitted.answered.set(pesel + key, refusal);
  }
}

/** @throws FxError idempotency-key-reused */
function requireSameRequest(same: boolean): void {
  if (!same) throw keyReused("for another request. Use a new key for a new request.");
}

/**
 * A request without a token may repeat any: where no tokens are asked for, every entry can be read.
 * @throws FxError idempotency-key-reused if the earlier request came with another token, whatever it asked for
 */
function requireSameToken(earlier: { readonly by: string | undefined }, by: string | undefined): void {
  if (earlier.by === undefined || by === undefined || earlier.by === by) return;
  throw keyReused("with another token. See what was done with it before you use a new key.");
}

function keyReused(how: string): FxError {
  return new FxError("idempotency-key-reused", `This Idempotency-Key was used on this account ${how}`);
}

/**
 * An entry is never dated before the account's last one. Where that is far ahead of the clock, one of the two is wrong,
 * and the entry would be dated for a day that has not come.
 */
function entryTime(account: StoredAccount | undefined, now: Date): Date {
  if (account === undefined || account.time <= now) return now;
  const { time } = account;
  if (time.getTime() <= now.getTime() + limits.clockToleranceMs) return time;
  throw new FxError(
    "storage-unavailable",
    `The account's newest entry is dated ${time.toISOString()}, more than five minutes after this clock's ` +
      `${now.toISOString()}. Nothing was changed. Check the clock; docs/OPERATIONS.md says what to do if it is right.`,
  );
}

function answerOf(entry: Entry, replayed: boolean): Settlement | Recorded {
  const { kind, id: receiptId, debited, credited } = entry;
  if (kind === "opening") return { receiptId, replayed };
  const account = accountAfter(entry);
  if (kind !== "exchange") return { account, receiptId, replayed };
  return { account, receiptId, replayed, sold: debited, bought: credited };
}

/** Whatever was thrown as a failure of the request. */
export function failureOf(thrown: unknown): FxError {
  if (thrown instanceof FxError) return thrown;
  return new FxError("internal", "Something went wrong in fx itself.", { cause: thrown });
}
