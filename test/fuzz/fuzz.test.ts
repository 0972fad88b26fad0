import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openApiDocument } from "../../src/wire/openapi.ts";
import { faultOf } from "./check.ts";
import type { Answer } from "./connection.ts";
import { ApiDocument } from "./document.ts";
import type { Asked } from "./requests.ts";

const document = new ApiDocument(openApiDocument("1.2.3"));
describe("The fuzzer's check of an answer", () => {
  const asked = (operationId: string, role?: Asked["role"]): Asked => {
    const operation = document.operations.find((each) => each.operationId === operationId);
    assert.ok(operation !== undefined);
    return { method: operation.method, operation, role, bytes: Buffer.of(), body: Buffer.of(), isHttp: true };
  };
  const answer = (status: number, type: string, body: string): Answer => ({
    status,
    headers: new Map([
      ["x-request-id", "1"],
      ["content-type", type],
    ]),
    body: Buffer.from(body),
  });
  const json = "application/json; charset=utf-8";
  const problemJson = "application/problem+json; charset=utf-8";
  const account = { name: "Jan", surname: "Kowalski", pesel: "80010112340", currencies: [] };
  const problem = (code: string, status: number, detail = "It failed.") =>
    answer(
      status,
      problemJson,
      JSON.stringify({
        ...{ type: `urn:fx:error:${code}`, title: "T", status, detail, instance: "urn:fx:request:1", code },
      }),
    );
  const good = answer(200, json, JSON.stringify(account));
  const ofViewer = asked("account", "viewer");
  const batch = { ...asked("bulk", "teller"), body: Buffer.from("{}\n") };

  const cases: readonly [what: string, asked: Asked, answer: Answer, fault: RegExp | undefined][] = [
    ["accepts a correct answer", ofViewer, good, undefined],
    ["finds a success without a token", asked("account"), good, /a success for nobody/],
    [
      "finds a success for too low a role",
      asked("position", "teller"),
      answer(200, json, "{}"),
      /for teller/,
    ],
    ["finds an undocumented status", ofViewer, problem("account-exists", 409), /not documented/],
    ["finds an undocumented error code", ofViewer, problem("underage", 400), /code underage/],
    ["finds an internal error", ofViewer, problem("internal", 500), /status 500/],
    ["finds a body that violates the schema", ofViewer, answer(200, json, "{}"), /required/],
    ["finds a body that is not JSON", ofViewer, answer(200, json, "{"), /no JSON/],
    ["finds an error without problem details", ofViewer, answer(404, json, "{}"), /content type/],
    ["finds a PESEL in a problem", ofViewer, problem("account-not-found", 404, account.pesel), /PESEL/],
    ["finds a token in an answer", ofViewer, answer(200, json, "fxt_o"), /a token/],
    [
      "finds an unanswered line of a batch",
      batch,
      answer(200, "application/x-ndjson", ""),
      /lines {2}answered, of 1/,
    ],
  ];
  for (const [what, request, given, fault] of cases) {
    test(`The fuzzer's check ${what}`, () => {
      assert.match(faultOf(request, given, document) ?? "nothing", fault ?? /^nothing$/);
    });
  }
});
