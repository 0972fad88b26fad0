import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { newFolder } from "../../../support/folder.ts";
import { isProblem, send, sendWithHeaders } from "../../../support/http.ts";
import { getRequest, headOf, openConnection } from "../../../support/raw-connection.ts";
import { startFx } from "../../../support/run-fx.ts";
import { serveHere } from "../../../support/run-here.ts";
import { tlsFile } from "../../../support/tls.ts";
import { until } from "../../../support/until.ts";

/** The statuses of some requests at once, more than are let through in a second where there is a limit. */
async function statuses(url: string): Promise<Set<number>> {
  const answers = await Promise.all(Array.from({ length: 200 }, () => send(url, "GET", "/api/rates")));
  return new Set(answers.map(({ status }) => status));
}

test("fx serve starts for other machines if --allow-anonymous says so, and limits how much an address asks for", async () => {
  const server = await startFx(["--rates", "demo", "--host", "0.0.0.0", "--allow-anonymous"]);
  const seen = new Set<number>();
  await until(async () => {
    for (const status of await statuses(server.url)) seen.add(status);
    return seen.has(429);
  });
  await server.stop();
  assert.match(server.output().stdout, /\nopen to\tother machines too, on 0\.0\.0\.0, without tokens\n/);
  assert.deepEqual(seen, new Set([200, 429]));
});

test("fx serve limits nobody on loopback unless --rate-limit says so", async (t) => {
  for (const [settings, seen] of [
    [{}, [200]],
    [{ FX_RATE_LIMIT: "10" }, [200, 429]],
  ] as const) {
    const server = await serveHere({ FX_RATES: "demo", ...settings });
    t.after(() => server.stop());
    assert.deepEqual(await statuses(server.url), new Set(seen));
  }
});

test("fx serve --admin-port answers metrics and probes at that port, and nothing else, until the server has stopped", async () => {
  const server = await startFx(["--rates", "demo", "--admin-port", "0"]);
  const [, url = ""] = /\nmetrics\t(\S+)\/metrics\n/.exec(server.output().stdout) ?? [];
  const answers = await Promise.all(
    ["/metrics", "/health/live", "/health/ready", "/api/users", "/docs", "/openapi.json", "/"].map((path) =>
      send(url, "GET", path),
    ),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 404, 404, 404, 404],
  );
  isProblem(await sendWithHeaders(url, "GET /metrics", { host: "rebound.example" }), "forbidden");
  isProblem(await sendWithHeaders(url, "GET /metrics", { origin: "http://evil.example" }), "forbidden");
  const { socket } = await openConnection(server.url);
  socket.write(`${headOf("POST /api/user", "Content-Type: application/json", "Content-Length: 2")}{`);
  await send(url, "GET", "/metrics");
  server.signal("SIGTERM");
  await until(() => server.output().stdout.includes("Stopping"));
  assert.equal((await send(url, "GET", "/health/ready")).status, 503);
  socket.end("}");
  assert.equal((await server.ended).exit, 0);
});

test("fx serve with a certificate speaks https, and shows new connections a changed one once it and its key fit together", async () => {
  const place = newFolder();
  /** Puts files behind a link, as containers are given theirs. */
  const put = (certificate: string, key: string) => {
    const next = mkdtempSync(join(place, "data-"));
    copyFileSync(tlsFile(`${certificate}.crt`), join(next, "tls.crt"));
    copyFileSync(tlsFile(`${key}.key`), join(next, "tls.key"));
    symlinkSync(next, join(next, "link"));
    renameSync(join(next, "link"), join(place, "current"));
  };
  put("server", "server");
  const [cert, key] = [join(place, "current/tls.crt"), join(place, "current/tls.key")];
  const server = await startFx([...["--rates", "demo", "--tls-cert", cert, "--tls-key", key]]);
  assert.match(server.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  /** A connection that trusts this certificate alone. */
  const open = async (name: string) => {
    const ca = readFileSync(tlsFile(`${name}.crt`));
    const { port } = new URL(server.url);
    const socket = connect({ port: Number(port), host: "127.0.0.1", servername: "localhost", ca });
    await once(socket, "secureConnect");
    return socket;
  };
  const ask = async (socket: TLSSocket) => {
    socket.write(getRequest("/health/live"));
    return String((await once(socket, "data"))[0]);
  };
  const first = await open("server");
  assert.match(await ask(first), /^HTTP\/1\.1 200 OK\r\n[\s\S]*strict-transport-security: max-age=/i);
  await assert.rejects(fetch(server.url.replace("https", "http")));

  put("renewed", "server");
  await until(() => server.output().stderr.includes("certificate not read again"));
  const between = await open("server");
  copyFileSync(tlsFile("renewed.key"), key);
  await until(() => server.output().stderr.includes("certificate read again"));
  const since = await open("renewed");
  await assert.rejects(open("server"));
  for (const socket of [first, between, since]) {
    assert.match(await ask(socket), /^HTTP\/1\.1 200 OK/);
    socket.destroy();
  }
  const { stderr, exit } = await server.stop();
  assert.ok(!stderr.includes("PRIVATE KEY"));
  assert.equal(exit, 0);
});
