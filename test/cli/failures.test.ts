import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { createServer, type Server } from "node:tls";
import { fileURLToPath } from "node:url";
import { sameSignalMs } from "../../src/cli/signals.ts";
import { withProxyVariables } from "../support/connect-proxy.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runFx, spawnFx } from "../support/run-fx.ts";
import { runHere, serveHere } from "../support/run-here.ts";
import { openStandIn, problemAnswer, rawAnswer } from "../support/stand-in.ts";
import { until } from "../support/until.ts";

const nobody = "http://127.0.0.1:1";
const order = ["exchange", adult(0), "--from", "PLN", "--to", "USD", "--to-buy", "100"];
const opening = ["account", "create", adult(0), "--name", "Jan", "--surname", "Kowalski", "--pln", "1000"];

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

  test("an order is exit 7 too, for nothing was sent", async () => {
    const { stderr, exit } = await runHere([...order, "--json"], { env: { FX_URL: nobody } });
    const { code, exit: told, key } = JSON.parse(stderr);
    assert.deepEqual([code, told, key, exit], ["unreachable", 7, undefined, 7]);
  });
});

describe("an answer that does not come", { concurrency: 4 }, () => {
  for (const [what, command, key, answers] of [
    ["fx exchange", order, "k-1", ["die"]],
    ["fx account create", opening, "k-1", ["die"]],
    ["fx exchange, and then 503,", order, undefined, ["die", problemAnswer(503, "overloaded")]],
    ["fx exchange, and then 429,", order, undefined, ["die", problemAnswer(429, "rate-limited")]],
    ["fx exchange, and then 401,", order, undefined, ["die", problemAnswer(401, "unauthorized")]],
  ] as const) {
    test(`A lost answer to ${what} is exit 8 after the request was sent again with ${key ? "its" : "a"} key, which is printed`, async () => {
      const server = await openStandIn(...answers);
      const args = [...command, "--url", server.url, "--json", ...(key ? ["--key", key] : [])];
      const { stdout, stderr, exit } = await runHere(args);
      const told = JSON.parse(stderr);
      assert.deepEqual([told.code, told.exit, stdout, exit], ["outcome-unknown", 8, "", 8]);
      assert.match(told.key, key ? /^k-1$/ : /^[0-9a-f-]{36}$/);
      assert.match(told.message, /^The request was sent to .*, and no answer came/);
      assert.match(
        told.hint,
        new RegExp(`^Whether it was done is not known\\. .* --key ${told.key} finishes it`),
      );
      assert.ok(server.requests.length > 1);
      assert.ok(server.requests.every((request) => request.includes(`idempotency-key: "${told.key}"`)));
    });
  }

  for (const command of [["suspend", "--reason", "a wrong table"], ["resume"]]) {
    for (const [what, answer, code, exit] of [
      ["no answer", "die", "outcome-unknown", 8],
      [
        "a store that failed, perhaps after the commit,",
        problemAnswer(500, "storage-unavailable"),
        "storage-unavailable",
        8,
      ],
      ["an internal error of the server", problemAnswer(500, "internal"), "internal", 1],
    ] as const) {
      test(`${what} leaves it unknown whether fx trading ${command[0]} was done: exit ${exit}, sent once`, async () => {
        const server = await openStandIn(answer);
        const ran = await runHere(["trading", ...command, "--url", server.url, "--json"]);
        const { hint, ...told } = JSON.parse(ran.stderr);
        assert.deepEqual([told.code, told.exit, ran.exit], [code, exit, exit]);
        assert.match(hint, /fx trading shows what holds now\.$/);
        assert.equal(server.requests.length, 1);
      });
    }
  }

  test("An answer that does not come to a line of a batch, and then 503, makes the line failed and the batch exit 8", async () => {
    const server = await openStandIn(
      problemAnswer(503, "overloaded"),
      "die",
      problemAnswer(503, "overloaded"),
    );
    const lines = `pesel,from,to,toBuy,toSell\n${adult(0)},PLN,USD,1,\n`;
    const args = ["batch", "-", "--id", "b", "--json", "--url", server.url];
    const { stdout, stderr, exit } = await runHere(args, { stdin: lines });
    const { code, exit: told, key } = JSON.parse(stdout);
    const { refused, failed, complete } = JSON.parse(stderr);
    assert.deepEqual([code, told], ["outcome-unknown", 8]);
    assert.match(key, /^b[\w-]{19}$/);
    assert.deepEqual([refused, failed, complete, exit], [0, 1, false, 8]);
  });

  test("A batch that is refused as a whole is exit 7, and none of its lines is written to --rejects", async (t) => {
    const { url } = await openStandIn(problemAnswer(404, "not-found"));
    const rejects = join(newFolder(t), "rejects.csv");
    const lines = `pesel,from,to,toBuy,toSell\n${adult(0)},PLN,USD,1,\n${adult(0)},PLN,USD,2,\n`;
    const args = ["batch", "-", "--id", "b", "--rejects", rejects, "--json", "--url", url];
    const { stderr, exit } = await runHere(args, { stdin: lines });
    const { refused, failed, complete } = JSON.parse(stderr);
    assert.deepEqual([refused, failed, complete, exit], [0, 2, false, 7]);
    assert.equal(existsSync(rejects), false);
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

  for (const [what, answer] of [
    ["An answer that does not come", "die"],
    ["An answer that is none of HTTP", "hi\r\n\r\n"],
  ] as const) {
    test(`${what} makes a command that only reads exit 7, and tells nobody to start a server`, async () => {
      const server = await openStandIn(answer);
      const { stderr, exit } = await runHere(["position", "--url", server.url, "--json"]);
      assert.match(JSON.parse(stderr).hint, /^Try again later\. /);
      assert.equal(exit, 7);
    });
  }

  test("A store that fails during a dry run of a batch makes it exit 7, for nothing can have been done", async () => {
    const server = await openStandIn(problemAnswer(500, "storage-unavailable"));
    const lines = `pesel,from,to,toBuy,toSell\n${adult(0)},PLN,USD,1,\n`;
    const args = ["batch", "-", "--id", "b", "--dry-run", "--json", "--url", server.url];
    const { stdout, exit } = await runHere(args, { stdin: lines });
    const { code, exit: told, hint } = JSON.parse(stdout);
    assert.deepEqual([code, told, hint, exit], ["storage-unavailable", 7, null, 7]);
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
    test(`and ${signal} meanwhile is exit ${exit}, and says that the request was sent`, async () => {
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

describe("a server's certificate", () => {
  const file = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
  let server: Awaited<ReturnType<typeof serveHere>>;
  let tls: Server;
  let port: number;
  before(async () => {
    server = await serveHere({ FX_RATES: "demo" });
    const behind = Number(new URL(server.url).port);
    const options = { cert: readFileSync(file("server.crt")), key: readFileSync(file("server.key")) };
    tls = createServer(options, (socket) => {
      const plain = connect(behind, "127.0.0.1");
      for (const end of [socket, plain]) end.on("error", () => plain.destroy());
      socket.pipe(plain).pipe(socket);
    }).on("tlsClientError", () => {});
    await once(tls.listen(0), "listening");
    port = (tls.address() as AddressInfo).port;
  });
  after(async () => {
    tls.close();
    await server.stop();
  });

  test("a certificate of an unknown authority is exit 7, with NODE_EXTRA_CA_CERTS as the hint", async () => {
    const url = `https://localhost:${port}`;
    for (const command of [["rates"], order]) {
      const { stdout, stderr, exit } = await runHere([...command, "--url", url]);
      assert.ok(
        stderr.startsWith(
          `fx: The certificate of ${url} is not signed by an authority that this machine trusts.\n`,
        ),
        stderr,
      );
      assert.match(stderr, /\n.*NODE_EXTRA_CA_CERTS/);
      assert.deepEqual([stdout, exit], ["", 7]);
    }
  });

  const trusting = { env: { NODE_EXTRA_CA_CERTS: file("server.crt") } };

  test("A server's certificate is trusted once NODE_EXTRA_CA_CERTS names it", async () => {
    const { stderr, exit } = await runFx(["rates", "--url", `https://localhost:${port}`], trusting);
    assert.deepEqual([stderr, exit], ["", 0]);
  });
});

describe("what a server may answer", { concurrency: 4 }, () => {
  test("a gateway's 502 to a question is exit 7, and to an order exit 8", async () => {
    const { url } = await openStandIn(rawAnswer(502));
    const question = await runHere(["position", "--url", url]);
    assert.match(
      question.stderr,
      /^fx: The gateway at http:\S+ got no answer from the server \(status 502\)\.\n/,
    );
    assert.deepEqual([question.exit, (await runHere([...order, "--url", url])).exit], [7, 8]);
  });

  test("a page that is not of fx is exit 7, and names the address", async () => {
    const server = await openStandIn("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
    const { stderr, exit } = await runHere(["rates", "--url", server.url]);
    assert.ok(stderr.startsWith("fx: ") && stderr.includes(server.url));
    assert.equal(exit, 7);
  });

  test("no rates yet is exit 6 for an order, while the accounts work", async (t) => {
    const server = await serveHere({ FX_RATES: `${nobody}/api` });
    t.after(() => server.stop());
    const env = { FX_URL: server.url };
    assert.equal((await runHere(opening, { env })).exit, 0);
    const { stderr, exit } = await runHere(order, { env });
    assert.match(stderr, /^fx: There is no rate table yet\./);
    assert.equal(exit, 6);
  });
});
