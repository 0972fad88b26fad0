import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { hasLines, type Operation } from "../../src/wire/operation.ts";
import { type OperationId, operations } from "../../src/wire/operations.ts";
import { conforms } from "../support/document.ts";
import { adult } from "../support/fixture.ts";
import { type HttpRequest, isProblem, send } from "../support/http.ts";
import { getRequest, headOf, openConnection } from "../support/raw-connection.ts";
import { bodies, pathOf } from "../support/requests.ts";
import { startServer } from "../support/server.ts";

const holder = adult(1);
const server = await startServer();
after(() => server.close());

test("A wrong PESEL in the path is refused by every operation", async () => {
  const operationsOnPeople = Object.entries<Operation>(operations).filter(([, { path }]) =>
    path.includes("{pesel}"),
  );
  for (const [id, operation] of operationsOnPeople) {
    for (const pesel of ["1", "a".repeat(8000)]) {
      const query = id === "statementFile" ? "?format=csv" : "";
      const request = operation.method === "POST" ? { body: bodies[id] } : {};
      const path = pathOf(operation, { pesel }) + query;
      isProblem(await send(server.url, operation.method, path, request), "invalid-pesel");
    }
  }
});

describe("wrong bodies", () => {
  const order = { pesel: holder, from: "PLN", to: "USD", toSell: 10 };
  const json = { "content-type": "application/json" };
  const valid = JSON.stringify(order);
  const wrong: [what: string, request: HttpRequest][] = [
    ["no body", { headers: json }],
    ["no body and no content type", { headers: {} }],
    ["a blank body", { body: " \n", headers: json }],
    ["malformed JSON", { body: `{"pesel": "${holder}", `, headers: json }],
    ["JSON with a trailing comma", { body: valid.replace("}", ",}"), headers: json }],
    ["JSON with NaN", { body: valid.replace(":10}", ":NaN}"), headers: json }],
    ["bytes that are not UTF-8", { body: Buffer.from([0x22, 0xff, 0xfe, 0x22]), headers: json }],
    ["a wrong content type", { body: valid, headers: { "content-type": "text/plain" } }],
    ["a form", { body: "pesel=1", headers: { "content-type": "application/x-www-form-urlencoded" } }],
    ["a content type that is none", { body: valid, headers: { "content-type": "json" } }],
    ["too large a body", { body: JSON.stringify({ ...order, name: "a".repeat(17_000) }) }],
    ["a number for a body", { body: 5 }],
    ["null for a body", { body: null }],
    ["text for a body", { body: '"text"', headers: json }],
    ["an array for a body", { body: [order] }],
    ["an empty object", { body: {} }],
    ["__proto__ in a body", { body: valid.replace("{", '{"__proto__":{"toBuy":1},'), headers: json }],
    ["a field twice", { body: valid.replace("{", `{"pesel":"${holder}",`), headers: json }],
    ["constructor in a body", { body: { ...order, constructor: { prototype: {} } } }],
    ["a nested PESEL", { body: { ...order, pesel: { $ne: "" } } }],
    ["a PESEL that is a number", { body: { ...order, pesel: Number(holder) } }],
  ];
  const posts = Object.values<Operation>(operations).filter((each) => each.body && !hasLines(each, "body"));
  for (const [what, request] of wrong) {
    test(`A request with ${what} is refused with 400`, async () => {
      const isNothing = request.body === undefined || JSON.stringify(request.body) === "{}";
      for (const operation of posts) {
        if (isNothing && operation.isBodyOptional) continue;
        isProblem(await send(server.url, "POST", pathOf(operation), request), "invalid-request");
      }
    });
  }
});

test("a path that is not well encoded is answered with 400", async () => {
  for (const { method, path } of Object.values<Operation>(operations)) {
    if (!path.includes("{")) continue;
    isProblem(await send(server.url, method, path.replace(/\{\w+\}/, "%zz")), "invalid-request");
  }
});

test("a path without the value of its parameter is answered with 404, whatever the method", async () => {
  const paths = Object.values<Operation>(operations).map(({ path }) => path);
  for (const path of paths.filter((each) => each.includes("{"))) {
    for (const method of ["GET", "POST", "DELETE"]) {
      const empty = path.replace(/\{\w+\}/, "");
      const hasOther = paths.includes(empty);
      const answer = await send(server.url, method, `${empty}?x=1`, method === "POST" ? { body: {} } : {});
      if (!hasOther) isProblem(answer, "not-found");
    }
  }
  assert.equal((await send(server.url, "HEAD", "/api/user/")).status, 404);
});

test("Other methods of a path are answered with 405 and Allow", async () => {
  const all = Object.entries<Operation>(operations).map(
    ([id, each]) => [each.method, pathOf(each), id as OperationId] as const,
  );
  for (const [method, path, id] of [...all, ["GET", "/"], ["GET", "/docs"]] as const) {
    const allowed = method === "GET" ? ["GET", "HEAD"] : ["POST"];
    for (const other of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
      if (allowed.includes(other)) continue;
      const answer = await send(server.url, other, `${path}?x=1`);
      assert.deepEqual([answer.status, answer.headers.get("allow")], [405, allowed.join(", ")], other);
      if (other !== "HEAD") isProblem(answer, "method-not-allowed");
      if (id !== undefined) conforms(id, answer, { isHead: other === "HEAD" });
    }
  }
});

/** The answers of the server to these bytes, until it closes the connection. */
async function answersTo(bytes: string): Promise<string> {
  const { socket, closed, received } = await openConnection(server.url);
  socket.end(bytes, "latin1");
  await closed;
  return received();
}

describe("a body on the wire", () => {
  const head = (length: number) =>
    headOf("POST /api/user", "Content-Type: application/json", `Content-Length: ${length}`);

  test("A body refused for its content leaves the connection open for the next request", async () => {
    const { socket, closed, received } = await openConnection(server.url);
    socket.write(`${head(2)}{,${headOf("GET /health/live", "Connection: close")}`);
    await closed;
    assert.match(received(), /^HTTP\/1\.1 400 [\s\S]*HTTP\/1\.1 200 OK/);
  });

  test("A body declared too large is refused before it arrives, and the connection closed", async () => {
    const answer = await answersTo(head(17_000));
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*connection: close[\s\S]*larger than 16 KiB/i);
  });
});

describe("what is not HTTP", () => {
  const begun = "POST /api/user HTTP/1.1\r\nHost: localhost\r\n";
  const chunked = `${begun}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n`;
  const wrong: readonly (readonly [what: string, ...texts: string[]])[] = [
    ["a request line that is none", `${holder}\r\n\r\n`, "\r\n\r\nx\r\n\r\n"],
    [
      "an unknown method",
      headOf(`GRAB /api/user/${holder}`),
      "get / HTTP/1.1\r\n\r\n",
      "G\0T / HTTP/1.1\r\n\r\n",
    ],
    ["another version of HTTP", "GET / HTTP/9.9\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a hello of TLS, or other bytes", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "\xff\xfe\x00"],
    ["headers that are too large", headOf("GET /", `X: ${"a".repeat(20_000)}`)],
    [
      "a header that is none",
      `${begun}No colon\r\n\r\n`,
      `${begun}A: a\0b\r\n\r\n`,
      `${begun}A\xff: b\r\n\r\n`,
    ],
    ["a folded header", `${begun} folded\r\n\r\n`],
    ["a path that is too long", getRequest(`/api/user/${"1".repeat(20_000)}`)],
    ["a path with a NUL", "GET /\xff\0 HTTP/1.1\r\n\r\n"],
    [
      "a length that is none",
      ...["-1", "1, 2", "9".repeat(20)].map((n) => `${begun}Content-Length: ${n}\r\n\r\nab`),
    ],
    ["two lengths", `${begun}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
    ["a length and chunks", `${begun}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`],
    ["chunks of no length", `${chunked}zz\r\n{}\r\n0\r\n\r\n`, `${chunked}${"f".repeat(18)}\r\n{}\r\n`],
    ["a coding that is not chunked", `${begun}Transfer-Encoding: gzip\r\n\r\n`],
  ];
  for (const [what, ...texts] of wrong) {
    test(`What is not HTTP is answered with 400 and a problem: ${what}`, async () => {
      for (const text of texts) {
        const answer = await answersTo(text);
        assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/, text);
        assert.match(answer, /application\/problem\+json[\s\S]*"code":"invalid-request"/);
        assert.equal(answer.includes(holder), false);
      }
    });
  }

  test("an Expect header that is not known is ignored", async () => {
    const answer = await answersTo(headOf("GET /health/live", "Expect: more", "Connection: close"));
    assert.match(answer, /^HTTP\/1\.1 200 OK/);
  });
});
