import assert from "node:assert/strict";
import { createServer, type IncomingMessage, request } from "node:http";
import { before, describe, test } from "node:test";
import { pathHiddenBy, withoutPrefix } from "../../src/http/paths.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { useServer } from "../support/server.ts";
import { listen } from "../support/stand-in.ts";

/** A reverse proxy that shows a server under /fx and nothing else, and hands the prefix on unless it strips it. */
async function openProxy(target: string, strips: boolean): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const url = incoming.url ?? "";
    if (!url.startsWith("/fx/")) {
      outgoing.writeHead(404).end();
      return;
    }
    const { method, headers } = incoming;
    const passed = request(target + (strips ? url.slice(3) : url), { method, headers });
    passed.on("response", (answer: IncomingMessage) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  return listen(proxy);
}

describe("a server with --prefix /fx", () => {
  const server = useServer({}, "/fx");

  const ways: [way: string, origin: () => Promise<string>, base: string][] = [
    ["a proxy that strips the prefix", () => openProxy(server.url, true), "/fx"],
    ["a proxy that hands the prefix on", () => openProxy(server.url, false), "/fx"],
    ["nothing between, under the prefix", async () => server.url, "/fx"],
    ["nothing between, without the prefix", async () => server.url, ""],
  ];
  for (const [index, [way, open, base]] of ways.entries()) {
    describe(`behind ${way}`, () => {
      let origin = "";
      before(async () => {
        origin = await open();
      });
      const get = (path: string) => send(origin, "GET", path);

      test("Under a prefix, / leads to the documentation, which loads all that it needs", async () => {
        const location = (await get(`${base}/`)).headers.get("location") ?? "";
        assert.equal(location, "/fx/docs");
        const page = await get(location);
        const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? "");
        assert.ok(page.status === 200 && links.length > 3);
        for (const link of links) {
          assert.match(link, /^\/fx\/docs\//);
          assert.equal((await get(link)).status, 200, link);
        }
      });

      test("Under a prefix, a redirect of the documentation keeps the prefix", async () => {
        const { status, headers } = await get(`${base}/docs/static/index.html`);
        assert.deepEqual([status, headers.get("location")], [302, "/fx/docs/"]);
      });

      test("Under a prefix, the document says where its paths begin", async () => {
        for (const path of ["/openapi.json", "/docs/json"]) {
          const { servers } = (await get(base + path)).json as { servers: object[] };
          assert.deepEqual(servers, [{ url: "/fx" }]);
        }
      });

      test("Under a prefix, a receipt's link leads to it", async () => {
        const person = { name: "Jan", surname: "Lis", pesel: adult(50 + index), pln: 100 };
        const opened = await send(origin, "POST", `${base}/api/user`, { body: person });
        const order = { pesel: person.pesel, from: "PLN", to: "USD", toBuy: 1 };
        const done = await send(origin, "POST", `${base}/api/exchange/${person.pesel}`, { body: order });
        for (const [{ headers }, kind] of [
          [opened, "opening"],
          [done, "exchange"],
        ] as const) {
          const link = headers.get("fx-receipt") ?? "";
          assert.match(link, /^\/fx\/api\/receipts\//);
          assert.equal(((await get(link)).json as { kind: string }).kind, kind);
        }
      });

      test("Under a prefix, an unknown path is 404 and a wrong method 405, as without one", async () => {
        isProblem(await get(`${base}/none`), "not-found");
        isProblem(await send(origin, "DELETE", `${base}/api/rates?x=1`), "method-not-allowed");
      });
    });
  }

  test("Under a prefix, no PESEL is in the log", () => {
    assert.equal(server.log().includes(adult(50)), false);
  });
});

test("only a whole part of a path is a prefix", () => {
  const urls = [
    "/fx",
    "/fx/",
    "/fx?a=/fx",
    "/fx/fx/a",
    "http://x/fx/a",
    "/fxapi",
    "/api/fx",
    "http://fx/a",
    "*",
  ];
  assert.deepEqual(
    urls.map((url) => withoutPrefix(url, "/fx")),
    ["/", "/", "/?a=/fx", "/fx/a", "/a", "/fxapi", "/api/fx", "http://fx/a", "*"],
  );
});

test("a prefix that a path of fx begins with is told by that path", () => {
  const prefixes = ["", "/fx", "/api/fx", "/a", "/api", "/docs", "/api/user", "/health", "/metrics"];
  assert.deepEqual(prefixes.map(pathHiddenBy), [
    undefined,
    undefined,
    undefined,
    undefined,
    "/api/user",
    "/docs",
    "/api/user",
    "/health/live",
    "/metrics",
  ]);
});
