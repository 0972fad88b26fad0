import { timingSafeEqual } from "node:crypto";
import type { FastifyBaseLogger } from "fastify";
import type { Caller, Tokens } from "../../wire/role.ts";
import { poll } from "../polling.ts";
import { parseTokens, readTokenText } from "./file.ts";
import { hashOf, isToken } from "./token.ts";

const pollMs = 500;

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

  /** Puts a changed file in force, until the signal. While it cannot be read, its last tokens stay in force. */
  follow(log: FastifyBaseLogger, signal: AbortSignal): Promise<void> {
    const look = async () => {
      if (await this.#read()) log.info({ tokens: this.count }, "tokens read again");
    };
    return poll(pollMs, signal, look, (reason) => {
      // The file that takes its place is read, even if its text is the same.
      this.#text = undefined;
      log.warn({ reason }, "tokens not read again: the last ones stay in force");
    });
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
