import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { securityHeaders } from "../../src/http/headers.ts";
import { adult } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { startServer } from "../support/server.ts";

const pesel = adult(1);
const opening = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
const lines = { "content-type": "application/x-ndjson" };

test("every answer has the security headers, once each", async (t) => {
  const server = await startServer();
  t.after(() => server.close());
  for (const [method, path, status, request] of [
    ["POST", "/api/user", 204, { body: opening }],
    ["POST", "/api/user", 409, { body: opening }],
    ["POST", "/api/user", 400, { headers: { "content-type": "text/plain" }, body: "x" }],
    ["GET", `/api/user/${pesel}`, 200, {}],
    ["HEAD", `/api/user/${pesel}`, 200, {}],
    ["POST", "/api/bulk", 200, { headers: lines, body: "{}\n" }],
    ["GET", "/api/audit/checkpoint", 200, {}],
    ["GET", "/api/export?format=csv", 200, {}],
    ["GET", "/metrics", 200, {}],
    ["GET", "/openapi.json", 200, {}],
    ["GET", "/", 302, {}],
    ["GET", "/docs", 200, {}],
    ["GET", "/docs/static/swagger-ui.css", 200, {}],
    ["GET", "/docs/static/none", 404, {}],
    ["GET", "/nothing", 404, {}],
    ["PUT", "/api/user", 405, {}],
    ["GET", "/%", 400, {}],
  ] as const) {
    const { headers, ...answer } = await send(server.url, method, path, request);
    assert.equal(answer.status, status, path);
    assert.ok(headers.has("x-request-id"), path);
    const isPage = path.startsWith("/docs") && status === 200;
    for (const [name, value] of Object.entries(securityHeaders(false))) {
      if (isPage && name === "content-security-policy")
        assert.match(headers.get(name) ?? "", /^default-src 'none'; script-src 'self'; style-src 'self';/);
      else assert.equal(headers.get(name), value, `${name} of ${method} ${path}`);
    }
  }
});

test("what is not HTTP gets them, too", async (t) => {
  const server = await startServer();
  t.after(() => server.close());
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.end("nonsense\r\n\r\n");
  let answer = "";
  socket.setEncoding("utf8").on("data", (text) => {
    answer += text;
  });
  await once(socket, "close");
  assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*\r\nx-content-type-options: nosniff\r\n/);
});

test("no browser guesses a type, frames an answer, or tells others where it comes from", () => {
  const headers = securityHeaders(false);
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.equal(headers["x-frame-options"], "DENY");
  assert.equal(headers["referrer-policy"], "no-referrer");
  assert.equal(headers["content-security-policy"], "default-src 'none';frame-ancestors 'none'");
  assert.equal(headers["cross-origin-resource-policy"], "same-origin");
});

test("browsers are told to stay with https by a server that speaks it, and for its own name only", () => {
  assert.equal(securityHeaders(false)["strict-transport-security"], undefined);
  assert.match(securityHeaders(true)["strict-transport-security"] ?? "", /^max-age=\d+$/);
});
