import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { send } from "../support/http.ts";
import { headOf, openConnection } from "../support/raw-connection.ts";
import { startServer } from "../support/server.ts";

const pesel = adult(1);
const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const span = "00f067aa0ba902b7";
test("docs/OPERATIONS.md lists the fields of a request's log line", async () => {
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
