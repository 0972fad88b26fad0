import type { TestContext } from "node:test";
import { openHttpService } from "../../src/client/http-service.ts";
import type { TransportOptions } from "../../src/client/transport.ts";

/** A client of the server at this address. It hardly waits before it asks again, and ends with the test. */
export function clientOf(
  t: TestContext,
  url: string,
  options: TransportOptions = {},
): ReturnType<typeof openHttpService> {
  const service = openHttpService(url, { pauseMs: 1, ...options });
  t.after(() => service.close());
  return service;
}
