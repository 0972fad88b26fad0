import { type Holder, requireAdult } from "../core/account.ts";
import { planChange, type Request, requestText, requestTextOf } from "../core/change.ts";
import { warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import { accountAfter, type Entry } from "../core/journal.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import type { BulkAnswer, Recorded, Settlement } from "../core/service.ts";
import { limits } from "./limits.ts";
import { isFinal, type RefusalRetention, replayOf, requireSameRequest, requireSameToken } from "./refusal.ts";
import { sealEntry, sha256 } from "./seal.ts";
import type {
  AnsweredEntry,
  Loaded,
  Refusal,
  RefusalLimits,
  SealedEntry,
  StoredAccount,
  Writes,
} from "./store.ts";

const dayMs = 86_400_000;

/** What requests are decided by, besides the ledger. */
export interface DecisionRules {
  readonly time: Date;
  readonly retention: RefusalRetention;
  /** The table that an order settles at, where the ledger has this one in force. */
  readonly tableOf: (inForce: TableInForce | undefined) => RateTable;
}

/** What the requests so far have come to, over what the store has. */
export class Overlay {
  readonly accounts = new Map<string, StoredAccount>();
  /** By PESEL and key. */
  readonly answered = new Map<string, AnsweredEntry | Refusal>();
  /** The ids of entries and of their reversals. */
  readonly reversed = new Map<string, string>();
}

/** Decides requests, each on what was loaded and on what those before it have come to. */
export class Decisions {
  readonly #loaded: Loaded;
  readonly #rules: DecisionRules;
  readonly #limits: RefusalLimits;
  readonly #overlay: Overlay;
  readonly #entries: SealedEntry[] = [];
  readonly #refusals: Refusal[] = [];

  constructor(loaded: Loaded, rules: DecisionRules, overlay = new Overlay()) {
    const { days, most } = rules.retention;
    this.#loaded = loaded;
    this.#rules = rules;
    this.#limits = { since: new Date(rules.time.getTime() - days * dayMs), most };
    this.#overlay = overlay;
  }

  /**
   * What the request is answered once its writes are durable. A refusal that could turn out differently later is kept
   * under the request's key, and is its answer from then on.
   */
  decide(request: Request): BulkAnswer {
    try {
      return this.#answerAgain(request) ?? this.#carryOut(request);
    } catch (error) {
      if (isFinal(error)) this.#keep(request, error);
      return failureOf(error);
    }
  }

  get writes(): Writes {
    return {
      accounts: [...this.#overlay.accounts.values()],
      entries: this.#entries,
      refusals: this.#refusals.length === 0 ? undefined : { kept: this.#refusals, limits: this.#limits },
    };
  }

  /** The first answer to the request's key, whatever has happened to the account since. */
  #answerAgain(request: Request): Settlement | Recorded | undefined {
    const { pesel, key, by } = request;
    if (key === undefined) return undefined;
    const earlier = this.#overlay.answered.get(pesel + key) ?? this.#loaded.answered(pesel, key);
    if (earlier === undefined) return undefined;
    if ("entry" in earlier) {
      requireSameToken(earlier.entry, by);
      requireSameRequest(requestTextOf(earlier.entry) === requestText(request));
      return answerOf(earlier.entry, earlier.holder, true);
    }
    if (earlier.time < this.#limits.since) return undefined;
    requireSameToken(earlier, by);
    requireSameRequest(earlier.digest === sha256(requestText(request)));
    throw replayOf(earlier);
  }

  #carryOut(request: Request): Settlement | Recorded {
    const { kind, pesel, key, by } = request;
    const { time, tableOf } = this.#rules;
    const account = this.#overlay.accounts.get(pesel) ?? this.#loaded.account(pesel);
    if (kind === "opening") requireAdult(pesel, warsawDate(time));
    const plan = planChange(account, request, {
      table: () => tableOf(this.#loaded.inForce()),
      entry: (id) => this.#entryOf(id),
    });
    const entry: Entry = {
      kind,
      id: this.#loaded.nextId(),
      pesel,
      sequence: (account?.sequence ?? 0) + 1,
      time: entryTime(account, time),
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
    this.#append(entry, plan.account, account);
    return answerOf(entry, plan.account, false);
  }

  #append(entry: Entry, { name, surname }: Holder, before: StoredAccount | undefined): void {
    const sealed = sealEntry(entry, before?.hash ?? "");
    const { id, kind, pesel, key, sequence, time, balances, reverses } = entry;
    this.#entries.push(sealed);
    this.#overlay.accounts.set(pesel, {
      pesel,
      name,
      surname,
      balances,
      sequence,
      hash: sealed.hash,
      time,
      closed: kind === "closing",
    });
    if (reverses !== undefined) this.#overlay.reversed.set(reverses, id);
    if (key === undefined) return;
    this.#overlay.answered.set(pesel + key, { entry, reversedBy: undefined, holder: { name, surname } });
  }

  #entryOf(id: string) {
    const found = this.#loaded.entry(id);
    return found && { entry: found.entry, reversedBy: this.#overlay.reversed.get(id) ?? found.reversedBy };
  }

  #keep(request: Request, { code, message }: FxError): void {
    const { pesel, key, by } = request;
    if (key === undefined) return;
    const digest = sha256(requestText(request));
    const refusal = { pesel, key, by, digest, code, message, time: this.#rules.time };
    this.#refusals.push(refusal);
    this.#overlay.answered.set(pesel + key, refusal);
  }
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

/** @param holder whose the account was after the entry */
function answerOf(entry: Entry, holder: Holder, replayed: boolean): Settlement | Recorded {
  const { kind, id: receiptId, debited, credited } = entry;
  if (kind === "opening") return { receiptId, replayed };
  const account = accountAfter(entry, holder);
  if (kind !== "exchange") return { account, receiptId, replayed };
  return { account, receiptId, replayed, sold: debited, bought: credited };
}

/** Whatever was thrown as a failure of the request. */
export function failureOf(thrown: unknown): FxError {
  if (thrown instanceof FxError) return thrown;
  return new FxError("internal", "Something went wrong in fx itself.", { cause: thrown });
}
