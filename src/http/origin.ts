import type { FastifyRequest } from "fastify";
import { FxError } from "../core/errors.ts";

export interface OriginOptions {
  /** Names of this server beside those of loopback and the address that a connection came to, without a port. */
  readonly allowedHosts?: readonly string[];
  /** Origins such as "https://bank.example" whose pages may ask for everything, and read the answers. */
  readonly cors?: readonly string[];
}

/** Refuses what a page from elsewhere has a browser send. What is no browser passes. */
export interface OriginCheck {
  /**
   * A page whose name was made to lead here (DNS rebinding) shows by its Host.
   * @throws FxError forbidden
   */
  host(request: FastifyRequest): void;
  /**
   * Any other page shows by Sec-Fetch-Site, or in older browsers and without TLS by Origin.
   * @throws FxError forbidden
   */
  page(request: FastifyRequest): void;
}

export function openOriginCheck({ allowedHosts = [], cors = [] }: OriginOptions): OriginCheck {
  const names = new Set(allowedHosts.map((name) => name.toLowerCase()));
  const origins = new Set(cors);
  /** Nearly all requests have the same. */
  let lastHost: string | undefined;
  return {
    host({ headers: { host }, raw: { socket } }) {
      if (host === undefined || host === lastHost) return;
      const name = host.toLowerCase().replace(/:\d*$/, "");
      const own = socket.localAddress?.replace(/^::ffff:/, "");
      if (!isLoopback(name) && !names.has(name) && name !== own && name !== `[${own}]`) {
        throw new FxError(
          "forbidden",
          "The Host of the request is not a name of this server. fx serve --allowed-host adds one.",
        );
      }
      lastHost = host;
    },
    page({ headers: { origin, host, "sec-fetch-site": site } }) {
      if (origin === undefined && site === undefined) return;
      if (origin !== undefined && origins.has(origin)) return;
      const isOwn =
        site === undefined
          ? origin?.replace(/^https?:\/\//, "") === host?.toLowerCase()
          : site === "same-origin" || site === "none";
      if (isOwn) return;
      throw new FxError(
        "forbidden",
        "A page from elsewhere may not ask for this. fx serve --cors names the origins whose pages may.",
      );
    },
  };
}

/** Whether a name or an address, with or without brackets, leads to this machine only. */
export function isLoopback(name: string): boolean {
  return /^(([\w-]+\.)*localhost\.?|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(name);
}
