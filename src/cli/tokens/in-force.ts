import { timingSafeEqual } from "node:crypto";
import type { Caller, Tokens } from "../../wire/role.ts";
import { poll } from "../polling.ts";
import { parseTokens, readTokenText } from "./file.ts";
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
  #text: string | undefined;
  #kept: readonly { readonly hash: Buffer; readonly caller: Caller }[] = [];

  /** @throws UsageError if the file cannot be read */
  static async open(path: string): Promise<TokensInForce> {
    const tokens = new TokensInForce(path);
    await tokens.#read();
    return tokens;
  }

  private constructor(path: string) {
    this.#path = path;
  }

  follow({ onRead, onFault }: TokenEvents, signal: AbortSignal): Promise<void> {
    const look = async () => {
      if (await this.#read()) onRead(this.count);
    };
    const lost = (reason: string) => {
      // The file that takes its place is read, even if its text is the same.
      this.#text = undefined;
      onFault(reason);
    };
    return poll(pollMs, signal, look, lost);
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

  async #read(): Promise<boolean> {
    const text = await readTokenText(this.#path);
    if (text === this.#text) return false;
    this.#kept = parseTokens(text, this.#path).map(({ name, role, expires, sha256 }) => ({
      hash: Buffer.from(sha256, "hex"),
      caller: { name, role, expires: expires === null ? undefined : new Date(expires) },
    }));
    this.#text = text;
    return true;
  }
}
