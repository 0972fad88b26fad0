/**
 * The package's "fx/client": fx for programs, over HTTP. What this file exports is public, with the types that it leads
 * to; docs/CLIENT.md has it with an example. Everything else in the package may change at any time.
 */
import type { ExchangeService } from "../core/service.ts";
import { openHttpService } from "./http-service.ts";
import type { TransportOptions } from "./transport.ts";

export { parseOpening } from "../core/account.ts";
export { parseCash, parseHouseCash, parseReason } from "../core/change.ts";
export { parseCurrencyCode } from "../core/currency.ts";
export { warsawDate } from "../core/date.ts";
export { formatDecimal, requireDecimal } from "../core/decimal.ts";
export { FxError } from "../core/errors.ts";
export { parseTerms } from "../core/exchange.ts";
export { formatMoney } from "../core/money.ts";
export { parsePesel } from "../core/pesel.ts";
export type { ExchangeService } from "../core/service.ts";
export { PlainHttpError } from "../wire/plain-http.ts";

/** A server, and how long it is waited for. */
export interface ClientOptions extends Omit<TransportOptions, "pauseMs"> {
  /** The server's address, such as "https://fx.example". It may have a path. */
  readonly url: string;
}

/**
 * Opens fx at a server. Nothing is connected before the first call; `close` ends the connections.
 *
 * A request with a `key` is sent again, under the same key, until an answer settles it; one without a key is sent once. If
 * no answer comes, the call fails with the code `outcome-unknown`: the same call with the same key finishes it, and never
 * does it twice. `bulk` and `follow` go on after a lost connection. Proxies are those that HTTPS_PROXY, HTTP_PROXY,
 * ALL_PROXY and NO_PROXY name.
 * @throws PlainHttpError, TypeError if `url` is not an http or https URL, or no header can have the token
 */
export function openClient({ url, ...options }: ClientOptions): ExchangeService {
  return openHttpService(url, options);
}
