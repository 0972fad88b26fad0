import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { asTested, documented } from "./configuration.ts";
import { repeatedIn } from "./proxy-log.ts";

describe("The cluster's configuration in deploy/", () => {
  const patroni = documented("patroni");

  test("The documented configuration keeps Patroni's rule for ttl, loop_wait and retry_timeout, as do the values of the tests", () => {
    for (const which of [0, 1] as const) {
      const [ttl = 0, loop = 0, retry = 0] = ["ttl", "loop_wait", "retry_timeout"].map((name) =>
        Number(asTested[name]?.[which]),
      );
      assert.ok(ttl >= loop + 2 * retry, `${ttl} ${loop} ${retry}`);
    }
  });

  test("The documented configuration has each value that the cluster tests change", () => {
    for (const [name, [value]] of Object.entries(asTested))
      assert.ok(patroni.includes(`${name}: ${value}`), name);
  });
});

test("Repeated attempts are found in HAProxy's log, with the same fx or another", () => {
  const log = "attempt 17 retries 0\nattempt 18 retries 1\nattempt 19 retries +2\nattempt - retries 1\n";
  assert.deepEqual([...repeatedIn(log)], [18, 19]);
});
