import { timingSafeEqual } from "node:crypto";
import { stat } from "node:fs/promises";
import type { Caller, Tokens } from "../../core/role.ts";
import { describeFailure } from "../errors.ts";
import { type KeptToken, readTokenFile, stampOf, type TokenFile } from "./file.ts";
import { checkSumIn, hashOf, isToken } from "./token.ts";

const lookMs = 500;

export interface TokenEvents {
  /** The file has changed, and its tokens are in force now. */
  onRead(count: number): void;
  /** The file cannot be read any more. Its last tokens stay in force. */
  onFault(reason: string): void;
}

/** The tokens of a file. */
export class TokensInForce implements Tokens {
  readonly #path: string;
  #kept: readonly { readonly hash: Buffer; readonly caller: Caller }[] = [];
  /** Tokens that were presented and known, by their check sums. */
  readonly #known = new Map<string, { readonly token: Buffer; readonly caller: Caller }>();
  #stamp: string;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  /** @throws UsageError if the file cannot be read */
  static async open(path: string): Promise<TokensInForce> {
    return new TokensInForce(path, await readTokenFile(path));
  }

  private constructor(path: string, { tokens, stamp }: TokenFile) {
    this.#path = path;
    this.#take(tokens);
    this.#stamp = stamp;
  }

  /** From now on, a changed file counts within a second. */
  follow(events: TokenEvents): void {
    this.#timer = setInterval(() => void this.#look(events), lookMs).unref();
  }

  get count(): number {
    return this.#kept.length;
  }

  /** Takes as long however much of a token is right. */
  callerOf(token: string): Caller | undefined {
    const given = Buffer.from(token, "latin1");
    const known = this.#known.get(checkSumIn(token));
    if (known?.token.length === given.length && timingSafeEqual(known.token, given)) return known.caller;
    const caller = isToken(token) ? this.#find(hashOf(token)) : undefined;
    if (caller !== undefined) this.#known.set(checkSumIn(token), { token: given, caller });
    return caller;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #find(hash: Buffer): Caller | undefined {
    const [found] = this.#kept.filter((kept) => timingSafeEqual(kept.hash, hash));
    return found?.caller;
  }

  #take(tokens: readonly KeptToken[]): void {
    this.#known.clear();
    this.#kept = tokens.map(({ name, role, expires, sha256 }) => ({
      hash: Buffer.from(sha256, "hex"),
      caller: { name, role, expires: expires === null ? undefined : new Date(expires) },
    }));
  }

  async #look(events: TokenEvents): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const stamp = await stat(this.#path, { bigint: true }).then(stampOf, ({ code }) => String(code));
    if (stamp !== this.#stamp) {
      this.#stamp = stamp;
      try {
        const read = await readTokenFile(this.#path);
        this.#stamp = read.stamp;
        this.#take(read.tokens);
        events.onRead(this.count);
      } catch (error) {
        events.onFault(describeFailure(error).message);
      }
    }
    this.#isLooking = false;
  }
}
