import { timingSafeEqual } from "node:crypto";
import { stat } from "node:fs/promises";
import type { Caller, Tokens } from "../../wire/role.ts";
import { describeFailure } from "../errors.ts";
import { type KeptToken, readTokenFile, stampOf, type TokenFile } from "./file.ts";
import { checkSumLength, hashOf, isToken } from "./token.ts";

const lookMs = 500;

export interface TokenEvents {
  /** The file has changed, and its tokens are in force now. */
  onRead(count: number): void;
  /** The file cannot be read any more. Its last tokens stay in force. */
  onFault(reason: string): void;
}

interface KnownHeader {
  readonly header: Buffer;
  /** Room for another one of this length, to compare. */
  readonly given: Buffer;
  readonly caller: Caller;
}

/** The tokens of a file. */
export class TokensInForce implements Tokens {
  readonly #path: string;
  #kept: readonly { readonly hash: Buffer; readonly caller: Caller }[] = [];
  /** Headers with tokens of the file, by the check sums at their ends. */
  readonly #known = new Map<string, KnownHeader>();
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
  callerOf(authorization: string): Caller | undefined {
    const checkSum = authorization.slice(-checkSumLength);
    const known = this.#known.get(checkSum);
    if (known !== undefined && isSame(known, authorization)) return known.caller;
    const [, token = ""] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    const caller = isToken(token) ? this.#find(hashOf(token)) : undefined;
    if (caller !== undefined) {
      const header = Buffer.from(authorization, "latin1");
      this.#known.set(checkSum, { header, given: Buffer.alloc(header.length), caller });
    }
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

function isSame({ header, given }: KnownHeader, authorization: string): boolean {
  if (authorization.length !== header.length) return false;
  given.write(authorization, "latin1");
  return timingSafeEqual(header, given);
}
