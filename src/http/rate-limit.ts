import { setTimeout as pause } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { FxError } from "../core/errors.ts";
import { isProbe } from "../wire/operation.ts";
import { clientAddress } from "./client-address.ts";

const windowMs = 1000;

/**
 * A limit on what each token, or address without one, asks for in a second. Not @fastify/rate-limit, which refuses all
 * of a burst that exceeds it (docs/decisions/0021-rate-limits.md).
 */
export class RateLimit {
  readonly #perSecond: number;
  #counts = new Map<string, number>();
  #window = 0;

  /** @param perSecond requests */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Counts a request, and says why it may not go on. */
  refusal(request: FastifyRequest): FxError | undefined {
    // Behind a proxy that is not trusted, a probe has the same address as everybody.
    if (isProbe(request.routeOptions.url ?? "") || this.#hasRoom(request)) return undefined;
    return new FxError(
      "rate-limited",
      `More than ${this.#perSecond} requests a second have come from this token or address. Send fewer.`,
      { retryAfterSeconds: windowMs / 1000 },
    );
  }

  /** Counts refused lines of a batch, and waits for each until the limit has room for it. */
  async waitFor(request: FastifyRequest, refused: number, isEnded: () => boolean): Promise<void> {
    for (let left = refused; left > 0 && !isEnded(); left -= 1) {
      while (!this.#hasRoom(request) && !isEnded()) await pause(windowMs / 10);
    }
  }

  #hasRoom(request: FastifyRequest): boolean {
    const { caller } = request;
    const window = Math.floor(performance.now() / windowMs);
    if (window !== this.#window) this.#counts.clear();
    this.#window = window;
    const asking = caller === undefined ? networkOf(clientAddress(request)) : `token ${caller.name}`;
    const count = (this.#counts.get(asking) ?? 0) + 1;
    this.#counts.set(asking, count);
    return count <= this.#perSecond;
  }
}

/** An address; of version 6 its first half, since the other half is the client's to choose. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [before = [], after = []] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
