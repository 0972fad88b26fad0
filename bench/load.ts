import autocannon from "autocannon";
import { adult } from "../test/support/fixture.ts";

/** One kind of request, spread over so many accounts. */
export interface Load {
  readonly url: string;
  readonly kind: "exchange" | "account" | "create" | "quote";
  readonly connections: number;
  readonly accounts: number;
  readonly seconds: number;
  /** Requests a second, sent whether or not the answers come: without it, as fast as they come. */
  readonly rate?: number;
  /** The first account that `create` opens: each load opens others. */
  readonly firstNew?: number;
}

export interface Measured {
  readonly perSecond: number;
  /** Milliseconds; with a rate, from when the request should have been sent. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly p999: number };
  readonly failed: number;
}

let keys = 0;

/** Sends a load from this process. Every order has an idempotency key of its own. */
export async function sendLoad({
  url,
  kind,
  connections,
  accounts,
  seconds,
  rate,
  firstNew = 0,
}: Load): Promise<Measured> {
  let turn = 0;
  let created = firstNew;
  const nextAccount = () => {
    turn += 1;
    return adult((turn * 7919) % accounts);
  };
  const json = { "content-type": "application/json" };
  const requests: Record<Load["kind"], autocannon.Request> = {
    account: { setupRequest: (request) => ({ ...request, path: `/api/user/${nextAccount()}` }) },
    quote: { path: "/api/quote?from=PLN&to=USD&toBuy=1" },
    create: {
      method: "POST",
      path: "/api/user",
      setupRequest: (request) => {
        created += 1;
        const body = JSON.stringify({
          name: "Jan",
          surname: "Kowalski",
          pesel: adult(created),
          pln: 1000,
        });
        return { ...request, headers: json, body };
      },
    },
    exchange: {
      method: "POST",
      setupRequest: (request) => {
        const pesel = nextAccount();
        keys += 1;
        return {
          ...request,
          path: `/api/exchange/${pesel}`,
          headers: { ...json, "idempotency-key": `order-${process.pid}-${keys}` },
          body: JSON.stringify({ pesel, from: "PLN", to: "USD", toBuy: 0.01 }),
        };
      },
    },
  };
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [requests[kind]],
    ...(rate === undefined ? {} : { overallRate: rate }),
  });
  const { p50, p99, p99_9: p999 } = result.latency;
  const failed = result.errors + result.timeouts + result.non2xx;
  return { perSecond: result.requests.total / result.duration, latency: { p50, p99, p999 }, failed };
}

process.on("message", async (load: Load) => {
  process.send?.(await sendLoad(load));
});
