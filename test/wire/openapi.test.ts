import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { openApiDocument } from "../../src/wire/openapi.ts";
import { adult } from "../support/fixture.ts";
import { type HttpAnswer, send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

const document = openApiDocument("1.2.3");
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: "document", ...document });

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.close());

test("the document is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document) as never);
  assert.equal(valid, true, JSON.stringify(errors));
  assert.equal(validator.version, "3.1");
});

test("the document lists every route that the server has, and no other", () => {
  const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(listed.sort(), routesOf(server.app.printRoutes({ commonPrefix: false })).sort());
});

test("an entry is told apart by its kind", async () => {
  const { schemas } = document.components as { schemas: Record<string, Entry> };
  type Entry = {
    discriminator?: { propertyName: string; mapping: Record<string, string> };
    oneOf?: object[];
  };
  const { discriminator, oneOf } = schemas.Entry as Entry;
  assert.equal(discriminator?.propertyName, "kind");
  assert.deepEqual(
    Object.values(discriminator?.mapping ?? {}).map(($ref) => ({ $ref })),
    oneOf,
  );
  for (const [kind, reference] of Object.entries(discriminator?.mapping ?? {})) {
    const named = schemas[reference.split("/").at(-1) ?? ""] as {
      properties?: { kind?: { const?: string } };
    };
    assert.equal(named.properties?.kind?.const, kind);
  }
});

test("every operation has a summary, a success and the problems it may answer", () => {
  for (const methods of Object.values(document.paths)) {
    for (const { operationId, summary, responses } of Object.values(methods)) {
      assert.ok(summary.length > 0 && responses["500"] !== undefined, operationId);
      assert.ok(
        Object.keys(responses).some((status) => /^[23]/.test(status)),
        operationId,
      );
    }
  }
});

describe("answers are as the document says", () => {
  const pesel = adult(1);
  const opening = { name: "Jan", surname: "Kowalski", pesel, pln: 100 };
  const order = { pesel, from: "PLN", to: "USD", toBuy: 1 };
  const requests: [line: string, status: number, body?: object][] = [
    ["POST /api/user", 204, { ...opening, pesel: adult(3) }],
    ["POST /api/user", 409, opening],
    ["POST /api/user", 400, {}],
    [`GET /api/user/${pesel}`, 200],
    [`GET /api/user/${adult(2)}`, 404],
    ["GET /api/user/1", 400],
    [`POST /api/exchange/${pesel}`, 200, order],
    [`POST /api/exchange/${pesel}`, 400, { ...order, toBuy: 1e6 }],
    [`POST /api/exchange/${adult(2)}`, 404, { ...order, pesel: adult(2) }],
    ["GET /api/quote?from=PLN&to=USD&toSell=5", 200],
    ["GET /api/quote?from=PLN", 400],
    ["GET /api/receipts/{exchange}", 200],
    ["GET /api/receipts/{opening}", 200],
    ["GET /api/receipts/none", 404],
    ["GET /api/rates", 200],
    ["GET /api/rates/USD/history", 200],
    ["GET /api/rates/USD/history?days=x", 400],
    [`GET /api/user/${pesel}/history?limit=1`, 200],
    ["GET /api/users", 200],
    ["GET /api/position", 200],
    ["GET /api/audit", 200],
    ["GET /health/live", 200],
    ["GET /health/ready", 200],
    ["GET /metrics", 200],
    ["GET /openapi.json", 200],
    ["GET /", 302],
  ];
  let receipts: string[] = [];
  before(async () => {
    const opened = await send(server.url, "POST", "/api/user", { body: opening });
    const done = await send(server.url, "POST", `/api/exchange/${pesel}`, { body: order });
    receipts = [opened, done].map(({ headers }) => headers.get("fx-receipt") ?? "");
  });

  for (const [line, status, body] of requests) {
    test(`${line.replaceAll(/\d{11}/g, "…")} answers ${status}`, async () => {
      const [first = "", last = ""] = receipts;
      const [method = "", path = ""] = line
        .replace("/api/receipts/{opening}", first)
        .replace("/api/receipts/{exchange}", last)
        .split(" ");
      const answer = await send(server.url, method, path, { body });
      assert.equal(answer.status, status, answer.text);
      conforms(method, path, answer);
    });
  }

  test("and no operation was left out", () => {
    const asked = new Set(requests.map(([line]) => operationAt(...splitLine(line))?.operationId));
    const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    assert.deepEqual(
      all.map(({ operationId }) => operationId).filter((id) => !asked.has(id)),
      [],
    );
  });
});

function splitLine(line: string): [method: string, path: string] {
  const [method = "", path = ""] = line.split(" ");
  return [method, path];
}

/** The operation that a method and an actual path belong to. */
function operationAt(method: string, path: string) {
  const [plain = ""] = path.split("?");
  const pattern = Object.keys(document.paths).find((candidate) =>
    new RegExp(`^${candidate.replace(/\{\w+\}/g, "[^/]+")}$`).test(plain),
  );
  return document.paths[pattern ?? ""]?.[method.toLowerCase()];
}

/** Checks an answer's type and body by the document alone. */
function conforms(method: string, path: string, answer: HttpAnswer): void {
  const described = operationAt(method, path)?.responses[answer.status];
  assert.ok(described !== undefined, "the document does not list the status");
  const content = (described.content ?? {}) as Record<string, { schema: { $ref?: string } }>;
  const type = answer.headers.get("content-type")?.split(";")[0];
  assert.equal(type, Object.keys(content)[0]);
  const reference = type === undefined ? undefined : content[type]?.schema.$ref;
  if (reference === undefined) return;
  const validate = ajv.getSchema(`document${reference}`);
  assert.ok(validate !== undefined, reference);
  assert.ok(validate(answer.json), JSON.stringify(validate.errors));
}

/** The lines of Fastify's route tree as "GET /api/user/{pesel}", without HEAD and the pages of the documentation. */
function routesOf(tree: string): string[] {
  const parents: string[] = [];
  return tree.split("\n").flatMap((line) => {
    const [, indent = "", part = "", methods = ""] = /^([│ ]*)(?:├|└)── (\S+)(?: \((.*)\))?/.exec(line) ?? [];
    const depth = indent.length / 4;
    parents.length = depth;
    parents[depth] = part;
    const path = parents.join("").replaceAll(/:(\w+)/g, "{$1}");
    return methods
      .split(", ")
      .filter((method) => method !== "" && method !== "HEAD" && !path.startsWith("/docs"))
      .map((method) => `${method} ${path}`);
  });
}
