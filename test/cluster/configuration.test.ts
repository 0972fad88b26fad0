import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { asTested, documented, forHost, withValues } from "./configuration.ts";

describe("the cluster's configuration in docs/OPERATIONS.md", () => {
  const page = readFileSync(new URL("../../docs/OPERATIONS.md", import.meta.url), "utf8");
  const patroni = documented("patroni");

  test("has the host's own name and address where a line has one, and those of all where it has several", () => {
    const etcd = forHost(documented("etcd"), {
      name: ["etcd1", "etcd2"],
      number: [11, 12],
      prefix: "10.9.8.",
    });
    assert.match(etcd, /^ETCD_NAME=etcd2$/m);
    assert.match(etcd, /^ETCD_LISTEN_PEER_URLS=http:\/\/10\.9\.8\.12:2380$/m);
    assert.match(
      etcd,
      /^ETCD_INITIAL_CLUSTER=etcd1=http:\/\/10\.9\.8\.11:2380,etcd2=.*\.12:2380,etcd3=.*\.13:2380$/m,
    );
    const third = forHost(patroni, { name: ["db1", "db3"], number: [21, 23], prefix: "10.9.8." });
    assert.match(third, /^name: db3$/m);
    assert.match(third, /^ {2}hosts: 10\.9\.8\.11:2379,10\.9\.8\.12:2379,10\.9\.8\.13:2379$/m);
    assert.doesNotMatch(etcd + third, /10\.0\.0\.|10\.9\.8\.21|db1/);
  });

  test("keeps Patroni's rule for its times, and so do the tests", () => {
    for (const which of [0, 1] as const) {
      const [ttl = 0, loop = 0, retry = 0] = ["ttl", "loop_wait", "retry_timeout"].map((name) =>
        Number(asTested[name]?.[which]),
      );
      assert.ok(ttl >= loop + 2 * retry, `${ttl} ${loop} ${retry}`);
    }
  });

  test("says which values the tests change, and to what", () => {
    const [, table = ""] = /<!-- cluster: as tested -->\n([\s\S]*?)\n\n/.exec(page) ?? [];
    const rows = [...table.matchAll(/^\| `(\w+)` \| (\S+) \| (\S+) \|/gm)].map((row) => row.slice(1));
    assert.deepEqual(
      rows,
      Object.entries(asTested).map(([name, values]) => [name, ...values]),
    );
    for (const [name, [value]] of Object.entries(asTested))
      assert.ok(patroni.includes(`${name}: ${value}`), name);
  });

  test("does not lose a value that is to be changed", () => {
    assert.throws(() => withValues("ttl: 40", { "ttl: 30": "ttl: 10" }), /no longer: ttl: 30/);
  });
});
