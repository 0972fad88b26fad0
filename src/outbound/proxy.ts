import { type AgentOptions, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { HttpProxyAgent, HttpsProxyAgent } from "hpagent";
import { getProxyForUrl } from "proxy-from-env";
import { FxError } from "../core/errors.ts";
import { isLoopback } from "../wire/plain-http.ts";

/**
 * Options of every request. A redirect could lead it, and its token, to another host; a compressed answer could be a
 * thousand times as long as what arrives, and without `accept-encoding` it could come in any coding.
 */
export const requestOptions = {
  throwHttpErrors: false,
  followRedirect: false,
  decompress: false,
  retry: { limit: 0 },
} as const;
export const requestHeaders = { "user-agent": "fx", "accept-encoding": "identity" } as const;

/** How requests reach an address. */
export interface Route {
  readonly agent: { readonly http: HttpAgent; readonly https: HttpsAgent };
  /** The proxy on the way, without its user and password. */
  readonly proxy?: string;
  /** Advice for an address that is not reached through a proxy. */
  readonly hint?: string;
}

/**
 * The route that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name for an address, in upper or lower case. This
 * machine is reached without a proxy.
 * @throws FxError unreachable if the proxy has no http or https address
 */
export function routeTo({ href, hostname }: URL, options: AgentOptions = {}): Route {
  const address = isLoopback(hostname) ? "" : getProxyForUrl(href);
  if (address === "") {
    return { agent: { http: new HttpAgent(options), https: new HttpsAgent(options) } };
  }
  const proxy = URL.canParse(address) ? new URL(address) : undefined;
  if (proxy === undefined || !/^https?:$/.test(proxy.protocol)) {
    const message = "The proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY has no http or https address.";
    const hint = `Name a proxy as in http://proxy.example:3128. ${directly(hostname)}`;
    throw new FxError("unreachable", message, { hint });
  }
  const { origin } = proxy;
  const proxied = { ...options, proxy };
  return {
    agent: { http: new HttpProxyAgent(proxied), https: new HttpsProxyAgent(proxied) },
    proxy: origin,
    hint: `Requests go there through the proxy ${origin}, which HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names. ${directly(hostname)}`,
  };
}

function directly(hostname: string): string {
  return `NO_PROXY=${hostname} goes there directly.`;
}
