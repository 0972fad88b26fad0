import assert from "node:assert/strict";
import { test } from "node:test";
import { adult } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { startServer } from "../support/server.ts";

const pesel = adult(1);
const opening = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
const lines = { "content-type": "application/x-ndjson" };

/** No browser guesses a type, frames an answer, or tells others where it comes from. */
const expected = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "content-security-policy": "default-src 'none';frame-ancestors 'none'",
  // Only a server that speaks https itself may have browsers stay with it.
  "strict-transport-security": null,
};

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
    const isPage = path.startsWith("/docs");
    for (const [name, value] of Object.entries(expected)) {
      if (isPage && name === "content-security-policy")
        assert.match(headers.get(name) ?? "", /^default-src 'none'; script-src 'self'; style-src 'self';/);
      else assert.equal(headers.get(name), value, `${name} of ${method} ${path}`);
    }
  }
});
