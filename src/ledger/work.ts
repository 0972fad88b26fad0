import type { Holder } from "../core/account.ts";
import { FxError } from "../core/errors.ts";
import type { Entry } from "../core/journal.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import { isFinal, type RefusalRetention, replayOf, requireSameRequest, requireSameToken } from "./refusal.ts";
import { sealEntry, sha256 } from "./seal.ts";
import type { Loaded, Refusal, RefusalLimits, SealedEntry, StoredAccount, Touch, Writes } from "./store.ts";

const dayMs = 86_400_000;

/**
 * The result of one command: an answer and, if it changes anything, the entry and the holder, and the table if it was
 * settled at one.
 */
export interface Outcome<T> {
  readonly answer: T;
  readonly written?: {
    readonly entry: Entry;
    readonly holder: Holder;
    readonly table?: RateTable | undefined;
  };
}

/** What decides a command besides its account. */
interface Circumstances {
  /** The entry that an earlier request with the same key led to. */
  readonly earlier: Entry | undefined;
  /** The ledger's table in force: undefined until the first exchange. */
  readonly inForce: () => TableInForce | undefined;
  /** An entry that the command names, and the id of its reversal. */
  readonly entryOf: (id: string) => { entry: Entry; reversedBy: string | undefined } | undefined;
  /** The id of the entry to be written. Called once, and only if there is one. */
  readonly nextId: () => string;
}

/** Decides one command on the account as its predecessors leave it. Pure; refuses by throwing an FxError. */
export type Decide<T> = (account: StoredAccount | undefined, circumstances: Circumstances) => Outcome<T>;

/** What a command is about. */
export interface Request extends Touch {
  /** The name of the token that it came with. */
  readonly by?: string | undefined;
  /** What it asks for: the same text for requests that are the same. */
  readonly body: () => string;
}

export interface Command<T> {
  readonly request: Request;
  readonly decide: Decide<T>;
}

export type Verdict = { readonly answer: unknown } | { readonly refusal: unknown };

/** What the commands so far have come to, over what the store has. */
export class Overlay {
  readonly accounts = new Map<string, StoredAccount>();
  /** By PESEL and key. */
  readonly answered = new Map<string, Entry | Refusal>();
  /** The ids of entries and of their reversals. */
  readonly reversed = new Map<string, string>();
  /** The table that the ledger's first exchange puts in force. */
  inForce: TableInForce | undefined;
}

/** Decides commands, each on what was loaded and on what those before it have come to. */
export class Work {
  readonly #loaded: Loaded;
  readonly #time: Date;
  readonly #limits: RefusalLimits;
  readonly #overlay: Overlay;
  readonly #entries: SealedEntry[] = [];
  readonly #refusals: Refusal[] = [];
  #accepted: Writes["accepted"];

  constructor(
    loaded: Loaded,
    overlay: Overlay,
    { time, retention: { days, most } }: { readonly time: Date; readonly retention: RefusalRetention },
  ) {
    this.#loaded = loaded;
    this.#overlay = overlay;
    this.#time = time;
    this.#limits = { since: new Date(time.getTime() - days * dayMs), most };
  }

  #inForce(): TableInForce | undefined {
    return this.#loaded.inForce() ?? this.#overlay.inForce;
  }

  take(pending: Command<unknown>): Verdict {
    try {
      return { answer: this.#decide(pending) };
    } catch (refusal) {
      if (isFinal(refusal)) this.#keep(pending.request, refusal);
      return { refusal };
    }
  }

  #decide({ request, decide }: Command<unknown>): unknown {
    const { pesel, key, body } = request;
    const account = this.#overlay.accounts.get(pesel) ?? this.#loaded.account(pesel);
    // Joined once: V8 computes the hash of each new string again.
    const place = key === undefined ? undefined : pesel + key;
    const earlier = place === undefined ? undefined : this.#earlier(request, place);
    if (earlier !== undefined) requireSameToken(earlier, request.by);
    if (earlier?.kind === "refusal") {
      requireSameRequest(earlier.digest === sha256(body()));
      throw replayOf(earlier);
    }
    const circumstances = {
      earlier,
      inForce: () => this.#inForce(),
      nextId: this.#loaded.nextId,
      entryOf: (id: string) => this.#entryOf(id),
    };
    const { answer, written } = decide(account, circumstances);
    if (written !== undefined) this.#append(written, account?.hash ?? "", place);
    return answer;
  }

  #earlier({ pesel, key = "" }: Touch, place: string): Entry | Refusal | undefined {
    const earlier = this.#overlay.answered.get(place) ?? this.#loaded.answered(pesel, key);
    return earlier?.kind === "refusal" && earlier.time < this.#limits.since ? undefined : earlier;
  }

  #entryOf(id: string) {
    const found = this.#loaded.entry(id);
    return found && { entry: found.entry, reversedBy: this.#overlay.reversed.get(id) ?? found.reversedBy };
  }

  #keep({ pesel, key, by, body }: Request, { code, message }: FxError): void {
    if (key === undefined) return;
    const digest = sha256(body());
    const refusal: Refusal = { kind: "refusal", pesel, key, by, digest, code, message, time: this.#time };
    this.#refusals.push(refusal);
    this.#overlay.answered.set(pesel + key, refusal);
  }

  writes(): Writes {
    return {
      accounts: [...this.#overlay.accounts.values()],
      entries: this.#entries,
      accepted: this.#accepted,
      refusals: this.#refusals.length === 0 ? undefined : { kept: this.#refusals, limits: this.#limits },
    };
  }

  #append(
    { entry, holder, table }: NonNullable<Outcome<unknown>["written"]>,
    previousHash: string,
    place: string | undefined,
  ): void {
    const sealed = sealEntry(entry, previousHash);
    const { pesel, sequence, time, balances } = entry;
    this.#entries.push(sealed);
    this.#overlay.accounts.set(pesel, {
      pesel,
      name: holder.name,
      surname: holder.surname,
      balances,
      sequence,
      hash: sealed.hash,
      time,
      closed: entry.kind === "closing",
    });
    if (entry.reverses !== undefined) this.#overlay.reversed.set(entry.reverses, entry.id);
    if (place !== undefined) this.#overlay.answered.set(place, entry);
    if (table !== undefined && this.#inForce() === undefined) {
      this.#overlay.inForce = { epoch: 1, table };
      this.#accepted = { table, at: time, overriddenBy: undefined };
    }
  }
}

/** What became of a command, with whatever it threw as an FxError. */
export function answerOf<T>(verdict: Verdict): T | FxError {
  if ("answer" in verdict) return verdict.answer as T;
  const { refusal } = verdict;
  if (refusal instanceof FxError) return refusal;
  return new FxError("internal", "Something went wrong in fx itself.", { cause: refusal });
}
