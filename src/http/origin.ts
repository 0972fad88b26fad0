import type { IncomingMessage } from "node:http";
import type { FastifyCorsOptions } from "@fastify/cors";
import { FxError } from "../core/errors.ts";
import { isLoopback } from "../wire/plain-http.ts";
import type { AccessOptions, RefusalOf } from "./access.ts";
import { isOnAdmin } from "./admin.ts";

export interface OriginOptions extends Pick<AccessOptions, "tokens"> {
  /** Names of this server beside those of loopback and the address that a connection came to, without a port. */
  readonly allowedHosts?: readonly string[];
  /** Origins such as "https://bank.example" whose pages may ask for everything, and read the answers. */
  readonly cors?: readonly string[];
}

/**
 * Refuses a request that a browser sent for a page of another site. Requests that come from no browser pass.
 * @param tokens Without them, the Host is checked: otherwise any page in a browser could do everything.
 */
export function openOriginCheck({ allowedHosts = [], cors = [], tokens }: OriginOptions): RefusalOf {
  const hosts = new Set(allowedHosts.map(nameOf));
  const origins = new Set(cors);
  /** Nearly all requests have the same. */
  let lastHost: string | undefined;

  /** A page whose name was made to lead here (DNS rebinding) has that name as its Host. */
  const isOwnHost = ({ headers: { host }, socket }: IncomingMessage) => {
    if (host === undefined || host === lastHost) return true;
    const name = nameOf(host);
    const address = socket.localAddress?.replace(/^::ffff:/, "");
    const isOwn = isLoopback(name) || hosts.has(name) || name === address || name === `[${address}]`;
    if (isOwn) lastHost = host;
    return isOwn;
  };

  /** Any other page has another Sec-Fetch-Site, or without TLS and in old browsers another Origin. */
  const isOwnPage = ({ headers: { origin, host, "sec-fetch-site": site } }: IncomingMessage) => {
    if (origin !== undefined && origins.has(origin)) return true;
    if (site !== undefined) return site === "same-origin" || site === "none";
    return origin === undefined || origin.replace(/^https?:\/\//, "") === host?.toLowerCase();
  };

  return ({ raw }, role) => {
    if ((tokens === undefined || isOnAdmin(raw)) && !isOwnHost(raw)) {
      return new FxError(
        "forbidden",
        "The Host of the request is not a name of this server. fx serve --allowed-host adds one.",
      );
    }
    if (role === "anyone" || isOwnPage(raw)) return undefined;
    return new FxError(
      "forbidden",
      "A page from elsewhere may not ask for this. fx serve --cors names the origins whose pages may.",
    );
  };
}

/** The name in a Host header: without the port, and without the final dot of a name that is absolute. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
}

/** Lets pages of these origins use the API. */
export function corsOptions(origins: readonly string[]): FastifyCorsOptions {
  return {
    origin: [...origins],
    methods: ["GET", "HEAD", "POST"],
    allowedHeaders: ["Authorization", "Content-Type", "Idempotency-Key", "Fx-Table", "X-Request-Id"],
    exposedHeaders: [
      ...["Fx-Receipt", "Fx-Account", "Idempotency-Replayed", "Retry-After", "WWW-Authenticate"],
      "X-Request-Id",
    ],
    maxAge: 600,
    // One without the headers of a preflight is answered like any other OPTIONS.
    strictPreflight: false,
  };
}
