import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { newFolder } from "../../../support/folder.ts";
import { isProblem, send, sendWithHeaders } from "../../../support/http.ts";
import { getRequest, headOf, openConnection } from "../../../support/raw-connection.ts";
import { runFx, startFx } from "../../../support/run-fx.ts";
import { runHere } from "../../../support/run-here.ts";
import { until } from "../../../support/until.ts";

const folder = newFolder();

const fixture = (name: string) => fileURLToPath(new URL(`../../../fixtures/tls/${name}`, import.meta.url));
const certificate = (name: string) => readFileSync(fixture(`${name}.crt`));

/** The statuses of many requests at once. */
async function askOften(url: string): Promise<Set<number>> {
  const answers = await Promise.all(Array.from({ length: 500 }, () => send(url, "GET", "/api/rates")));
  return new Set(answers.map(({ status }) => status));
}

describe("fx serve for other machines", () => {
  for (const host of ["0.0.0.0", "::", "127.example", "fx.bank.example", "10.0.0.1"]) {
    test(`fx serve does not start on ${host} if nobody would be asked for a token, with exit 2`, async () => {
      const ran = await runHere(["serve", "--port", "0", "--rates", "demo", "--host", host]);
      assert.equal(ran.exit, 2);
      assert.equal(
        ran.stderr,
        `fx: Refusing to listen on ${host} without authentication. Use --tokens FILE, or --allow-anonymous to accept the risk.
`,
      );
    });
  }

  test("fx serve starts for other machines if --allow-anonymous says so, and limits how much an address asks for", async () => {
    const server = await startFx(["--rates", "demo", "--host", "0.0.0.0", "--allow-anonymous"]);
    const seen = new Set<number>();
    for (let times = 0; times < 20 && !seen.has(429); times += 1) {
      for (const status of await askOften(server.url)) seen.add(status);
    }
    await server.stop();
    assert.match(server.output().stdout, /\nopen to\tother machines too, on 0\.0\.0\.0, without tokens\n/);
    assert.deepEqual(seen, new Set([200, 429]));
  });

  test("fx serve limits nobody on loopback unless --rate-limit says so", async () => {
    const ask = async (...options: string[]) => {
      const server = await startFx(["--rates", "demo", ...options]);
      const seen = await askOften(server.url);
      await server.stop();
      return seen;
    };
    assert.deepEqual(await ask(), new Set([200]));
    assert.deepEqual(await ask("--rate-limit", "10"), new Set([200, 429]));
  });
});

describe("fx serve --admin-port", () => {
  test("fx serve --admin-port answers metrics and probes at that port, and nothing else", async () => {
    const server = await startFx(["--rates", "demo", "--admin-port", "0"]);
    const [, url = ""] = /\nmetrics\t(\S+)\/metrics\n/.exec(server.output().stdout) ?? [];
    const answers = await Promise.all(
      ["/metrics", "/health/live", "/health/ready", "/api/users", "/docs", "/openapi.json", "/"].map((path) =>
        send(url, "GET", path),
      ),
    );
    const rebound = await sendWithHeaders(url, "GET /metrics", { host: "rebound.example" });
    const elsewhere = await sendWithHeaders(url, "GET /metrics", { origin: "http://evil.example" });
    const { exit } = await server.stop();
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 404, 404, 404, 404],
    );
    isProblem(rebound, "forbidden");
    isProblem(elsewhere, "forbidden");
    assert.equal(exit, 0);
  });

  test("An --admin-port in use ends fx serve with exit 7, and names the variable that an instance of its own may set", async () => {
    const server = await startFx();
    const { port } = new URL(server.url);
    const { stderr, exit } = await runFx(["serve", "--port", "0", "--admin-port", port, "--rates", "demo"]);
    await server.stop();
    assert.match(stderr, new RegExp(`fx: Port ${port} of 127\\.0\\.0\\.1 is in use, [\\s\\S]*FX_ADMIN_PORT`));
    assert.equal(exit, 7);
  });
});

describe("fx serve --tls-cert and --tls-key", { concurrency: true }, () => {
  /** The pair in a folder behind a link, as containers are given theirs. */
  function pairBehindLink(name: string) {
    const place = mkdtempSync(join(folder, "pair-"));
    let count = 0;
    const put = (pair: string) => {
      count += 1;
      const next = mkdtempSync(join(place, "data-"));
      copyFileSync(fixture(`${pair}.crt`), join(next, "tls.crt"));
      copyFileSync(fixture(`${pair}.key`), join(next, "tls.key"));
      symlinkSync(next, join(place, `link-${count}`));
      renameSync(join(place, `link-${count}`), join(place, "current"));
    };
    put(name);
    const files = ["--tls-cert", join(place, "current/tls.crt"), "--tls-key", join(place, "current/tls.key")];
    return { put, files };
  }

  /** A connection over which requests can be sent, and the certificate that the server showed. */
  async function open(url: string, ca: Buffer) {
    const socket = connect({
      port: Number(new URL(url).port),
      host: "127.0.0.1",
      servername: "localhost",
      ca,
    });
    await once(socket, "secureConnect");
    return socket;
  }

  async function ask(socket: TLSSocket): Promise<string> {
    socket.write(getRequest("/health/live"));
    const [chunk] = await once(socket, "data");
    return String(chunk);
  }

  test("fx serve with a certificate speaks https, and has browsers stay with it", async () => {
    const { files } = pairBehindLink("server");
    const server = await startFx(["--rates", "demo", ...files]);
    assert.match(server.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const socket = await open(server.url, certificate("server"));
    const answer = await ask(socket);
    socket.destroy();
    const plain = fetch(server.url.replace("https", "http"));
    await assert.rejects(plain);
    const { exit } = await server.stop();
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*strict-transport-security: max-age=/i);
    assert.equal(exit, 0);
  });

  test("fx serve shows a changed certificate to new connections, and keeps the old ones", async () => {
    const { put, files } = pairBehindLink("server");
    const server = await startFx(["--rates", "demo", ...files]);
    const before = await open(server.url, certificate("server"));
    put("renewed");
    await until(() => server.output().stderr.includes("certificate read again"));
    const since = await open(server.url, certificate("renewed"));
    await assert.rejects(open(server.url, certificate("server")));
    const answers = [await ask(before), await ask(since)];
    for (const socket of [before, since]) socket.destroy();
    await server.stop();
    for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 200 OK/);
  });

  test("fx serve keeps the last certificate and key while the new ones do not fit together", async () => {
    const [cert, key] = [join(folder, "half.crt"), join(folder, "half.key")];
    copyFileSync(fixture("server.crt"), cert);
    copyFileSync(fixture("server.key"), key);
    const server = await startFx(["--rates", "demo", "--tls-cert", cert, "--tls-key", key]);
    copyFileSync(fixture("renewed.crt"), cert);
    await until(() => server.output().stderr.includes("certificate not read again"));
    const between = await open(server.url, certificate("server"));
    copyFileSync(fixture("renewed.key"), key);
    await until(() => server.output().stderr.includes("certificate read again"));
    const since = await open(server.url, certificate("renewed"));
    for (const socket of [between, since]) socket.destroy();
    const { stderr } = await server.stop();
    assert.ok(!stderr.includes("PRIVATE KEY"));
  });

  const other = join(folder, "other.key");
  for (const [what, args, told] of [
    ["one without the other", ["--tls-cert", fixture("server.crt")], /belong together/],
    [
      "a file that is not there",
      ["--tls-cert", other, "--tls-key", other],
      /cannot be used \(no such file or directory\)/,
    ],
    [
      "a key of another certificate",
      ["--tls-cert", fixture("server.crt"), "--tls-key", fixture("renewed.key")],
      /cannot be used \(key values mismatch\)/,
    ],
  ] as const) {
    test(`fx serve --tls-cert and --tls-key refuses ${what}, with exit 2`, async () => {
      const ran = await runHere(["serve", "--port", "0", "--rates", "demo", ...args]);
      assert.match(ran.stderr, told);
      assert.equal(ran.exit, 2);
    });
  }

  test("fx serve --tls-key refuses a key in the place of its path, and does not show it", async () => {
    const env = { FX_TLS_KEY_FILE: fixture("server.key"), FX_TLS_CERT: fixture("server.crt") };
    const ran = await runHere(["serve", "--port", "0", "--rates", "demo"], { env });
    assert.match(ran.stderr, /^fx: FX_TLS_KEY_FILE must be the path of a file\.\n/);
    assert.ok(!ran.stderr.includes("PRIVATE"));
    assert.equal(ran.exit, 2);
  });
});

test("a probe on the admin port sees that the server stops until it has", async () => {
  const server = await startFx(["--admin-port", "0"]);
  const [, url = ""] = /\nmetrics\t(\S+)\/metrics\n/.exec(server.output().stdout) ?? [];
  const { socket } = await openConnection(server.url);
  socket.write(`${headOf("POST /api/user", "Content-Type: application/json", "Content-Length: 2")}{`);
  await send(url, "GET", "/metrics");
  server.signal("SIGTERM");
  await until(() => server.output().stdout.includes("Stopping"));
  const probe = await send(url, "GET", "/health/ready");
  socket.end("}");
  const { exit } = await server.ended;
  assert.equal(probe.status, 503);
  assert.equal(exit, 0);
});
