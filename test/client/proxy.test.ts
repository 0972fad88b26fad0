import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Transport } from "../../src/client/transport.ts";
import { openConnectProxy, withProxyVariables } from "../support/connect-proxy.ts";
import { openStandIn } from "../support/stand-in.ts";

const order = { method: "POST", path: "/api/exchange", body: {}, repeatable: false } as const;
const yes =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"ok"';

/** Sends an order to a server that only the proxy knows. */
async function outcomeThrough(does: "connects" | "refuses", ...answers: string[]) {
  const server = await openStandIn(...answers);
  const proxy = await openConnectProxy(Number(new URL(server.url).port), does);
  const transport = await withProxyVariables(
    { HTTP_PROXY: proxy.url },
    () => new Transport("http://fx.test"),
  );
  const outcome = await transport
    .send(order, ({ body }) => ({ value: body }))
    .catch(({ code }: { code: string }) => code);
  transport.close();
  await proxy.close();
  return { outcome, connects: proxy.connects, requests: server.requests.length };
}

describe("an order through a proxy", () => {
  test("An order through a proxy arrives", async () => {
    const { outcome, connects, requests } = await outcomeThrough("connects", yes);
    assert.deepEqual([outcome, connects, requests], ["ok", ["fx.test:80"], 1]);
  });

  test("An order was not sent where a proxy refuses the connection", async () => {
    const { outcome, requests } = await outcomeThrough("refuses", yes);
    assert.deepEqual([outcome, requests], ["unreachable", 0]);
  });

  test("An order has an unknown outcome where the connection through a proxy ends without an answer", async () => {
    const { outcome, requests } = await outcomeThrough("connects", "die");
    assert.deepEqual([outcome, requests], ["outcome-unknown", 1]);
  });
});
