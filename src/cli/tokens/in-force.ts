import { timingSafeEqual } from "node:crypto";
import { unwatchFile, watchFile } from "node:fs";
import type { Caller, Tokens } from "../../wire/role.ts";
import { describeFailure } from "../errors.ts";
import { readTokenFile } from "./file.ts";
import { hashOf, isToken } from "./token.ts";

const pollMs = 500;

export interface TokenEvents {
  /** The file has changed, and its tokens are in force now. */
  onRead(count: number): void;
  /** The file cannot be read any more. Its last tokens stay in force. */
  onFault(reason: string): void;
}

/** The tokens of a file, which may change while they are in force: a change counts within a second. */
export class TokensInForce implements Tokens {
  readonly #path: string;
  #kept: readonly { readonly hash: Buffer; readonly caller: Caller }[] = [];
  #reading: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  #fault: string | undefined;
  #isClosed = false;
  #events: TokenEvents = { onRead: () => {}, onFault: () => {} };

  /** @throws UsageError if the file cannot be read */
  static async open(path: string): Promise<TokensInForce> {
    const tokens = new TokensInForce(path);
    // Before the first reading, so that no change after it is missed. Polled, because the system's events miss a link that
    // is set to another folder, as containers have it.
    watchFile(path, { interval: pollMs, persistent: false, bigint: true }, tokens.#onChange);
    try {
      await tokens.#read();
      return tokens;
    } catch (error) {
      tokens.close();
      throw error;
    }
  }

  private constructor(path: string) {
    this.#path = path;
  }

  /** Tells of changes from now on. */
  follow(events: TokenEvents): void {
    this.#events = events;
  }

  get count(): number {
    return this.#kept.length;
  }

  /** The caller whose token the header has. Compares hashes in constant time. */
  callerOf(authorization: string): Caller | undefined {
    const [, token = ""] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    if (!isToken(token)) return undefined;
    const hash = hashOf(token);
    const [found] = this.#kept.filter((kept) => timingSafeEqual(kept.hash, hash));
    return found?.caller;
  }

  close(): void {
    unwatchFile(this.#path, this.#onChange);
    clearTimeout(this.#retry);
    this.#isClosed = true;
  }

  async #read(): Promise<void> {
    this.#kept = (await readTokenFile(this.#path)).map(({ name, role, expires, sha256 }) => ({
      hash: Buffer.from(sha256, "hex"),
      caller: { name, role, expires: expires === null ? undefined : new Date(expires) },
    }));
  }

  /** One reading after another, so that an older state never comes after a newer one. */
  readonly #onChange = (): void => {
    this.#reading = this.#reading.then(() => this.#readAgain());
  };

  /** Until it succeeds, because what could not be read may have revoked a token. The same fault is told once. */
  async #readAgain(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      await this.#read();
      this.#fault = undefined;
      this.#events.onRead(this.count);
    } catch (error) {
      const { message } = describeFailure(error);
      if (message !== this.#fault) this.#events.onFault(message);
      this.#fault = message;
      if (!this.#isClosed) this.#retry = setTimeout(this.#onChange, pollMs).unref();
    }
  }
}
