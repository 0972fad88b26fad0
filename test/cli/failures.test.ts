import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { sameSignalMs } from "../../src/cli/signals.ts";
import { withProxyVariables } from "../support/connect-proxy.ts";
import { adult } from "../support/fixture.ts";
import { runFx, spawnFx } from "../support/run-fx.ts";
import { runHere, serveHere } from "../support/run-here.ts";
import { openStandIn } from "../support/stand-in.ts";
import { tlsFile } from "../support/tls.ts";
import { until } from "../support/until.ts";

const order = ["exchange", adult(0), "--from", "PLN", "--to", "USD", "--to-buy", "100"];

describe("where nothing answers", () => {
  test("a name that the network does not know is exit 7, and tells nobody to start a server", async () => {
    const { stderr, exit } = await runHere(["rates", "--url", "https://bank.invalid", "--json"]);
    assert.match(JSON.parse(stderr).hint, /^Check the address, /);
    assert.equal(exit, 7);
  });

  for (const [what, proxy, hint] of [
    [
      "through a proxy",
      "http://fx:hidden@127.0.0.1:9",
      /^Requests go there through the proxy http:\/\/127\.0\.0\.1:9, /,
    ],
    ["with a proxy of another protocol", "socks5://127.0.0.1:9", /^Name a proxy as in http:/],
  ] as const) {
    test(`a command ${what} names the proxy, and how to go without it`, async () => {
      await withProxyVariables({ HTTPS_PROXY: proxy }, async () => {
        for (const words of [["rates"], order]) {
          const ran = await runHere([...words, "--json"], { env: { FX_URL: "https://bank.test" } });
          const told = JSON.parse(ran.stderr);
          assert.deepEqual([told.code, ran.exit], ["unreachable", 7]);
          assert.match(told.hint, hint);
          assert.match(told.hint, / NO_PROXY=bank\.test goes there directly\.$/);
          assert.ok(!ran.stderr.includes("hidden"), ran.stderr);
        }
      });
    });
  }
});

test("A command that waits for what never comes, and keeps nothing open meanwhile, is exit 1", async () => {
  const stuck =
    'import files from "node:fs/promises"; import { syncBuiltinESMExports } from "node:module"; ' +
    "files.stat = () => new Promise(() => {}); syncBuiltinESMExports();";
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(stuck)}` };
  assert.equal((await runFx(["batch", "/dev/null", "--url", "memory:"], { env })).exit, 1);
});

describe("an answer that does not come", { concurrency: 4 }, () => {
  test("The key that fx gives an order whose answer is lost is the one that it prints", async () => {
    const server = await openStandIn("die");
    const { stderr } = await runHere([...order, "--url", server.url, "--json"]);
    const { key } = JSON.parse(stderr);
    assert.match(key, /^[0-9a-f-]{36}$/);
    assert.ok(server.requests.every((request) => request.includes(`idempotency-key: "${key}"`)));
  });

  test("A second signal while lines of a batch are under way ends it, and says how to do the rest", async () => {
    const server = await openStandIn("hang");
    const args = ["batch", "-", "--id", "b", "--url", server.url];
    const { child, output, ended } = spawnFx(args);
    child.stdin.end(`pesel,from,to,toBuy,toSell\n${adult(0)},PLN,USD,1,\n`);
    await until(() => server.requests.length > 0);
    child.kill("SIGTERM");
    await until(() => output().stderr.includes("A second signal"));
    await pause(sameSignalMs + 20);
    child.kill("SIGTERM");
    const { exit, stderr } = await ended;
    assert.equal(exit, 143);
    assert.match(
      stderr,
      /whether those without a result were done is not known\.\nTo do the rest, .* --id b\./,
    );
  });

  test("An interrupt after fx trading suspend was sent says how to see what holds", async () => {
    const server = await openStandIn("hang");
    const { child, ended } = spawnFx(["trading", "suspend", "--reason", "x", "--url", server.url]);
    await until(() => server.requests.length > 0);
    child.kill("SIGINT");
    const { stderr, exit } = await ended;
    assert.equal(exit, 130);
    assert.match(stderr, /whether it was done is not known\.\nfx trading shows what holds now\.\n$/);
  });

  for (const [signal, exit, verb] of [
    ["SIGINT", 130, "Interrupted"],
    ["SIGTERM", 143, "Terminated"],
  ] as const) {
    test(`${signal} while an order is under way is exit ${exit}, and says that the request was sent`, async () => {
      const server = await openStandIn("hang");
      const { child, ended } = spawnFx([...order, "--url", server.url, "--key", "k-2"]);
      await until(() => server.requests.length > 0);
      child.kill(signal);
      const ran = await ended;
      assert.equal(
        ran.stderr,
        `fx: ${verb} after the request was sent: whether it was done is not known.\n` +
          "The same command with --key k-2 finishes it, and never does it twice.\n",
      );
      assert.equal(ran.exit, exit);
    });
  }
});

test("A server's certificate is trusted once NODE_EXTRA_CA_CERTS names it", async (t) => {
  const certified = { FX_TLS_CERT: tlsFile("server.crt"), FX_TLS_KEY: tlsFile("server.key") };
  const server = await serveHere({ FX_RATES: "demo", ...certified });
  t.after(() => server.stop());
  const env = {
    NODE_EXTRA_CA_CERTS: tlsFile("server.crt"),
    FX_URL: server.url.replace("127.0.0.1", "localhost"),
  };
  const { stderr, exit } = await runFx(["rates"], { env });
  assert.deepEqual([stderr, exit], ["", 0]);
});
