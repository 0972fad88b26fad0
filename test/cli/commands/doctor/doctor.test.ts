import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { compareClocks } from "../../../../src/cli/commands/doctor/checkup.ts";
import { warsawDate } from "../../../../src/core/date.ts";
import { withProxyVariables } from "../../../support/connect-proxy.ts";
import { startNbpStandIn, tablesUpTo } from "../../../support/nbp-stand-in.ts";
import { runHere, serveHere } from "../../../support/run-here.ts";

interface Report {
  readonly ok: boolean;
  readonly configFile: { path: string; exists: boolean };
  readonly settings: { name: string; value: unknown; origin: string }[];
  readonly checks: { check: string; ok: boolean; detail: string }[];
}

async function examined(env: Record<string, string>): Promise<Report & { exit: number | null }> {
  const { stdout, stderr, exit } = await runHere(["doctor", "--json"], { env });
  assert.equal(stderr, "");
  const report = JSON.parse(stdout) as Report;
  assert.equal(exit, report.ok ? 0 : 11);
  assert.equal(
    report.ok,
    report.checks.every(({ ok }) => ok),
  );
  return { ...report, exit };
}

/** "store ok", "bank wrong". */
function states({ checks }: Report): string[] {
  return checks.map(({ check, ok }) => `${check} ${ok ? "ok" : "wrong"}`);
}

function detailOf({ checks }: Report, name: string): string {
  return checks.find(({ check }) => check === name)?.detail ?? "";
}

describe("fx doctor", () => {
  test("fx doctor names the proxy on the way to a server that it cannot reach", async () => {
    await withProxyVariables({ HTTPS_PROXY: "http://127.0.0.1:9" }, async () => {
      const report = await examined({ FX_URL: "https://bank.test" });
      assert.match(
        detailOf(report, "server"),
        /^Nothing answers at .* through the proxy http:\/\/127\.0\.0\.1:9,/,
      );
    });
  });

  test("fx doctor asks the bank where the rates are live", async () => {
    const bank = await startNbpStandIn(tablesUpTo(warsawDate(new Date())));
    const report = await examined({ FX_URL: "memory:", FX_RATES: bank.url });
    await bank.close();
    assert.deepEqual(states(report).slice(-3), ["table ok", "bank ok", "clock ok"]);
    assert.match(detailOf(report, "bank"), /^answered in \d+ ms, with table \d+\/C\/NBP\/\d{4}$/);
  });

  test("fx doctor reports that a server's bank does not answer", async () => {
    const server = await serveHere({ FX_RATES: "http://127.0.0.1:1/api" });
    let report = await examined({ FX_URL: server.url });
    assert.match(detailOf(report, "table"), /There is no rate table yet\. No answer from http:/);
    // It tries three times before it says that the bank is away.
    while (detailOf(report, "bank") === "") report = await examined({ FX_URL: server.url });
    await server.stop();
    assert.deepEqual(states(report), ["server ok", "schema ok", "table wrong", "bank wrong", "clock ok"]);
    assert.match(detailOf(report, "bank"), /^No answer from http:\/\/127\.0\.0\.1:1\/api/);
  });
});

describe("checks", () => {
  test("a clock is right within 30 seconds of the server's", () => {
    const at = (seconds: number) =>
      compareClocks("Mon, 08 Jun 2026 12:00:00 GMT", new Date(Date.UTC(2026, 5, 8, 12, 0, seconds)));
    assert.deepEqual([at(-30).ok, at(0).ok, at(30).ok], [true, true, true]);
    assert.deepEqual([at(31).ok, at(31).detail], [false, "31 s ahead of the server's"]);
    assert.deepEqual([at(-90).ok, at(-90).detail], [false, "90 s behind the server's"]);
    assert.equal(compareClocks("undefined", new Date()).ok, false);
  });
});
