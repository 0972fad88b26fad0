import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { openApiDocument } from "../../src/wire/openapi.ts";
import { send } from "../support/http.ts";
import { useServer } from "../support/server.ts";

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));
const document = JSON.parse(JSON.stringify(openApiDocument(read("package.json").version)));

/** With OPENAPI_WRITE=1 the document is written anew: `npx biome format --write docs/openapi.json` lays it out. */
test("docs/openapi.json is the document of this fx, so that a change of the contract is a diff", () => {
  if (process.env.OPENAPI_WRITE) {
    writeFileSync(new URL("../../docs/openapi.json", import.meta.url), JSON.stringify(document));
  }
  const recorded = read("docs/openapi.json");
  assert.deepEqual(recorded, document);
  assert.equal(JSON.stringify(recorded), JSON.stringify(document), "the order differs");
});

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly example?: string | number;
}

interface Content {
  readonly schema: { readonly $ref: string };
  readonly example?: string;
}

describe("the examples of the document can be sent as they are", () => {
  const server = useServer();
  before(async () => {
    const { example } = contentOf(document.paths["/api/bulk"].post.requestBody);
    await send(server.url, "POST", "/api/bulk", {
      body: Buffer.from(example ?? ""),
      headers: { "content-type": "application/x-ndjson" },
    });
  });

  for (const [path, methods] of Object.entries<object>(document.paths)) {
    for (const [method, { operationId, parameters, requestBody }] of Object.entries(methods)) {
      test(`The example of ${operationId} can be sent as it is`, async () => {
        const filled = (parameters as Parameter[]).filter((each) => each.example !== undefined);
        const query = filled
          .filter((each) => each.in === "query")
          .map(({ name, example }): [string, string] => [name, String(example)]);
        const target = filled.reduce(
          (url, each) => url.replace(`{${each.name}}`, String(each.example)),
          path,
        );
        const asked = `${target}?${new URLSearchParams(query)}`;
        const answer = await send(
          server.url,
          method.toUpperCase(),
          asked,
          requestBody && bodyOf(requestBody),
        );
        const { code } = Object(answer.status < 400 ? {} : answer.json) as { code?: string };
        const inState = ["account-exists", "account-not-empty", "account-not-blocked", "not-found"];
        assert.ok(code === undefined || inState.includes(code), answer.text);
      });
    }
  }
});

function contentOf({ content }: { readonly content: object }): Content & { readonly type: string } {
  const [[type, media] = []] = Object.entries(content);
  return { type, ...media };
}

function bodyOf(requestBody: { readonly content: object }) {
  const { type, schema, example } = contentOf(requestBody);
  const [shown] = document.components.schemas[schema.$ref.split("/").at(-1) ?? ""].examples ?? [];
  return { body: Buffer.from(example ?? JSON.stringify(shown)), headers: { "content-type": type } };
}
