import { setTimeout as pause } from "node:timers/promises";
import rateLimit from "@fastify/rate-limit";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { FxError } from "../core/errors.ts";

/** How many tokens and addresses are counted. The one that asked longest ago is forgotten first. */
const mostCounted = 10_000;

const windowMs = 1000;

/** A limit on what each token, or address without one, may ask for. */
export interface RateLimit {
  /** Counts a request, and says why it may not go on. */
  refusal(request: FastifyRequest): Promise<FxError | undefined>;
  /** Counts refused lines of a bulk, each when there is room for it. */
  waitFor(request: FastifyRequest, refused: number, isEnded: () => boolean): Promise<void>;
}

/**
 * Not by the plugin's hook, which knows no caller yet and sets three headers at each request.
 * @param perSecond requests; 0 for no limit
 */
export function openRateLimit(app: FastifyInstance, perSecond: number): RateLimit | undefined {
  if (perSecond === 0) return undefined;
  app.register(rateLimit, { global: false, max: perSecond, timeWindow: windowMs, cache: mostCounted });
  let checks: Record<"address" | "token", ReturnType<FastifyInstance["createRateLimit"]>>;
  app.addHook("onReady", (ready) => {
    checks = {
      // Of IPv6, the network: the other half of an address is the client's to choose.
      address: app.createRateLimit(),
      token: app.createRateLimit({ keyGenerator: ({ caller }) => caller?.name ?? "" }),
    };
    ready();
  });
  const hasRoom = async (request: FastifyRequest) => {
    const counted = await checks[request.caller === undefined ? "address" : "token"](request);
    return counted.isAllowed || !counted.isExceeded;
  };
  return {
    async refusal(request) {
      // Behind a proxy that is not trusted, a probe has the address of all.
      if (request.routeOptions.url?.startsWith("/health/") || (await hasRoom(request))) return undefined;
      return new FxError(
        "rate-limited",
        `More than ${perSecond} requests a second have come from this token or address. Send fewer.`,
        { retryAfterSeconds: windowMs / 1000 },
      );
    },
    async waitFor(request, refused, isEnded) {
      for (let left = refused; left > 0 && !isEnded(); left -= 1) {
        while (!(await hasRoom(request)) && !isEnded()) await pause(windowMs / 10);
      }
    },
  };
}
