import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openPostgres } from "../../src/postgres/store.ts";
import { parsePostgresUrl } from "../../src/postgres/url.ts";
import { startPostgres } from "../support/postgres.ts";

const parse = (url: string, env: NodeJS.ProcessEnv = {}) => parsePostgresUrl(url, env);

describe("A PostgreSQL URL", () => {
  test("A URL has user, password, host, port and database", () => {
    const { hosts, user, password, database } = parse("postgresql://j%40n:p%3Aw:d@db.example:5433/fx%20db");
    assert.deepEqual(
      [hosts, user, password, database],
      [[{ host: "db.example", port: 5433 }], "j@n", "p:w:d", "fx db"],
    );
  });

  const places: [url: string, env: NodeJS.ProcessEnv, hosts: string][] = [
    ["postgres://a:1,b:2,[::1]:3/db", {}, "a:1 b:2 ::1:3"],
    ["postgres://a,b/db", { PGPORT: "6543" }, "a:6543 b:6543"],
    ["postgres:///db", {}, "localhost:5432"],
    ["postgres:///db", { PGHOST: "there" }, "there:5432"],
    ["postgres:///db?host=/var/run/postgresql", {}, "/var/run/postgresql:5432"],
    ["postgres://%2Ftmp:5433/db", {}, "/tmp:5433"],
  ];
  for (const [url, env, hosts] of places) {
    test(`${url} ${JSON.stringify(env)} is at ${hosts}`, () => {
      assert.equal(
        parse(url, env)
          .hosts.map(({ host, port }) => `${host}:${port}`)
          .join(" "),
        hosts,
      );
    });
  }

  test("Parts that a URL lacks come from psql's variables and the defaults", () => {
    const { user, password, database, tls, mustWrite, poolSize, deadlineMs } = parse("postgres://h");
    assert.deepEqual(
      [user, password, database, tls, mustWrite],
      [undefined, undefined, undefined, "prefer", true],
    );
    assert.deepEqual([poolSize, deadlineMs], [10, 10_000]);
    assert.equal(parse("postgres://h", { PGSSLMODE: "disable" }).tls, false);
  });

  test("A URL has parameters of fx, of libpq and of transactions", () => {
    const place = parse(
      "postgres://h/db?pool_size=4&deadline=2.5&connect_timeout=1&target_session_attrs=any&statement_timeout=900",
    );
    assert.deepEqual(
      [place.poolSize, place.deadlineMs, place.connectTimeoutMs, place.mustWrite],
      [4, 2500, 1000, false],
    );
    assert.deepEqual([place.statementTimeoutMs, place.lockTimeoutMs], [900, 3000]);
    assert.equal(parse("postgres://h/db?lock_timeout=0.4").lockTimeoutMs, 1);
  });

  for (const [url, message] of [
    ["postgres:/h/db", /not of the form/],
    ["postgres://h:port/db", /host:port/],
    ["postgres://h/db?pool_size=0", /pool_size/],
    ["postgres://h/db?deadline=soon", /deadline/],
    ["postgres://h/db?search_path=own", /none of .*alter role/],
    ["postgres://h/db?target_session_attrs=standby", /a ledger writes/],
    ["postgres://u:50%@h/db", /percent/],
    ["postgres://h/db?sslmode=verify-full&sslrootcert=/no/such", /sslrootcert/],
    ["postgres://h/db?sslmode=verify-ca", /verify-ca takes a file of certificates as sslrootcert/],
    ["postgres://h/db?sslmode=verify-ca&sslrootcert=system", /verify-ca takes a file/],
    ["postgres://h/db?sslmode=require&sslrootcert=system", /require takes a file/],
  ] as const) {
    test(`${url} is refused`, () => {
      assert.throws(() => parse(url), { code: "storage-unavailable", message });
    });
  }
});

test("TLS is used and verified as sslmode says", async (t) => {
  const server = await startPostgres({ tls: true });
  t.after(() => server.stop());
  const certificate = fileURLToPath(new URL("../fixtures/tls/server.crt", import.meta.url));
  const connect = async (host: string, parameters: string) => {
    const url = new URL(server.url);
    url.hostname = host;
    url.search = parameters;
    const store = await openPostgres(url.href);
    await store.ping();
    await store.close();
  };
  for (const parameters of ["", "?sslmode=disable", "?sslmode=require"])
    await connect("127.0.0.1", parameters);
  await connect("127.0.0.1", `?sslmode=verify-ca&sslrootcert=${certificate}`);
  await connect("localhost", `?sslmode=verify-full&sslrootcert=${certificate}`);
  await assert.rejects(connect("127.0.0.1", `?sslmode=verify-full&sslrootcert=${certificate}`), /altnames/);
  await assert.rejects(connect("localhost", "?sslmode=verify-full"), /self-signed certificate/);
});
