import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { send } from "../support/http.ts";
import { headOf, openConnection } from "../support/raw-connection.ts";
import { startServer, useServer } from "../support/server.ts";

const pesel = adult(1);
const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const span = "00f067aa0ba902b7";
const server = useServer();

/** The log line of one request with these headers. */
async function lineOf(headers: Record<string, string>): Promise<Record<string, unknown>> {
  const before = server.log().length;
  await send(server.url, "GET", "/api/rates", { headers });
  return JSON.parse(server.log().slice(before));
}

test("the line of a request has the name of its token, and none where there is none", async () => {
  assert.equal((await lineOf({})).by, undefined);
  server.caller = { name: "till-1", role: "teller", expires: undefined };
  try {
    assert.equal((await lineOf({})).by, "till-1");
  } finally {
    server.caller = undefined;
  }
});

test("docs/OPERATIONS.md has the fields of a request's line", async () => {
  const own = await startServer();
  own.caller = { name: "till-1", role: "teller", expires: undefined };
  const body = { name: "Jan", surname: "Kowalski", pesel, pln: 1 };
  const headers = { "content-type": "application/json", traceparent: `00-${trace}-${span}-01` };
  await send(own.url, "POST", "/api/user", { headers, body });
  await send(own.url, "POST", "/api/user", { headers, body });
  const bulk = await openConnection(own.url);
  const types = ["Content-Type: application/x-ndjson", "Transfer-Encoding: chunked"];
  bulk.socket.write(`${headOf("POST /api/bulk", ...types)}2\r\n{\n\r\n`);
  await bulk.until(/200 OK/);
  bulk.socket.destroy();
  await own.logged(/"ended":"cut"/);
  await own.close();
  const lines = own
    .log()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const fields = new Set(lines.flatMap((line) => ("route" in line ? Object.keys(line) : [])));
  const page = readFileSync(new URL("../../docs/OPERATIONS.md", import.meta.url), "utf8");
  const [, table = ""] = /\n\| field \| what it is \|\n([\s\S]*?)\n\n/.exec(page) ?? [];
  const listed = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, names = ""]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  assert.deepEqual([...fields].sort(), listed.sort());
});

test("The page, the documentation and the assets are logged and counted as operations are", async (t) => {
  const page = newFolder(t);
  mkdirSync(join(page, "assets"));
  writeFileSync(join(page, "index.html"), '<base href="/">');
  writeFileSync(join(page, "assets", "main.js"), "");
  const own = await startServer({}, "", { page });
  t.after(() => own.close());
  for (const path of ["/", "/docs", "/assets/main.js", "/openapi.json"]) {
    assert.equal((await send(own.url, "GET", path)).status, 200, path);
  }
  const { text } = await send(own.url, "GET", "/metrics");
  for (const route of ["/", "/docs", "/assets/*", "/openapi.json"]) {
    await own.logged(new RegExp(`"route":"${route.replace("*", "[*]")}","status":200`));
    assert.ok(
      text.includes(`fx_http_request_duration_seconds_count{method="GET",route="${route}",status="200"} 1`),
      route,
    );
  }
});

describe("the trace that a request is part of", () => {
  test("A request's trace is in its line of the log", async () => {
    const { trace_id, span_id } = await lineOf({ traceparent: `00-${trace}-${span}-01` });
    assert.deepEqual({ trace_id, span_id }, { trace_id: trace, span_id: span });
  });

  test("A request's trace is read from a later version, which may have more fields", async () => {
    assert.equal((await lineOf({ traceparent: `01-${trace}-${span}-01-more` })).trace_id, trace);
  });

  const invalid: Record<string, string> = {
    "of version ff": `ff-${trace}-${span}-01`,
    "of version 00 that says more": `00-${trace}-${span}-01-more`,
    "with a trace id of zeros": `00-${"0".repeat(32)}-${span}-01`,
    "with a span id of zeros": `00-${trace}-${"0".repeat(16)}-01`,
    "in capitals": `00-${trace.toUpperCase()}-${span}-01`,
    "that is cut off": `00-${trace}-${span}`,
    "that is none": '"},"level":60',
    "with a PESEL as the trace": `00-${pesel.padStart(32, "0")}-${span}-01`,
    "with a PESEL in the span": `00-${trace}-abc${pesel}de-01`,
  };
  for (const [what, traceparent] of Object.entries(invalid)) {
    test(`A request's trace is left out ${what}`, async () => {
      const line = await lineOf({ traceparent });
      assert.deepEqual(Object.keys(line), [
        "level",
        "time",
        "pid",
        "hostname",
        "id",
        "method",
        "route",
        "status",
        "ms",
      ]);
    });
  }
});
