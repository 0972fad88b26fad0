import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openApiDocument } from "../../src/wire/openapi.ts";
import { faultOf } from "./check.ts";
import type { Answer } from "./connection.ts";
import { ApiDocument } from "./document.ts";
import { type Asked, makeRequest, type Tokens } from "./requests.ts";
import { Heard } from "./values.ts";

const document = new ApiDocument(openApiDocument("1.2.3"));
const tokens: Tokens = {
  valid: { viewer: ["fxt_v"], teller: ["fxt_t"], operator: ["fxt_o"] },
  invalid: ["fxt_x"],
};
const requests = (seed: number, count: number) =>
  Array.from({ length: count }, (_, nth) => makeRequest({ seed, nth, document, heard: new Heard(), tokens }));

test("a seed makes the same requests, and another seed others", () => {
  // What is a time or a day is of now.
  const texts = (seed: number) =>
    requests(seed, 200).map(({ bytes }) => bytes.toString("latin1").replaceAll(/20\d\d-[^&\s]*/g, ""));
  assert.deepEqual(texts(1), texts(1));
  assert.notDeepEqual(texts(1), texts(2));
});

test("every operation is asked for, with every role and with none", () => {
  const asked = requests(1, 20_000);
  for (const { operationId } of document.operations) {
    const roles = new Set(
      asked.filter(({ operation }) => operation?.operationId === operationId).map(({ role }) => role),
    );
    assert.deepEqual([...roles].sort(), ["operator", "teller", "viewer", undefined], operationId);
  }
});

describe("an answer is found to be wrong", () => {
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

  const cases: readonly [string, Asked, Answer, RegExp | undefined][] = [
    ["not if nothing is wrong", asked("account", "viewer"), good, undefined],
    ["if it is a success for nobody", asked("account"), good, /a success for nobody/],
    [
      "if it is a success for too little a role",
      asked("position", "teller"),
      answer(200, json, "{}"),
      /for teller/,
    ],
    [
      "if its status is not documented",
      asked("account", "viewer"),
      problem("account-exists", 409),
      /not documented/,
    ],
    ["if its code is not documented", asked("account", "viewer"), problem("underage", 400), /code underage/],
    ["if it is 500", asked("account", "viewer"), problem("internal", 500), /status 500/],
    ["if its body breaks the schema", asked("account", "viewer"), answer(200, json, "{}"), /required/],
    ["if its body is no JSON", asked("account", "viewer"), answer(200, json, "{"), /no JSON/],
    ["if an error is no problem", asked("account", "viewer"), answer(404, json, "{}"), /content type/],
    [
      "if a problem has a PESEL",
      asked("account", "viewer"),
      problem("account-not-found", 404, "80010112340"),
      /PESEL/,
    ],
    ["if it has a token", asked("account", "viewer"), answer(200, json, "fxt_o"), /a token/],
    [
      "if a line of a bulk is not answered",
      { ...asked("bulk", "teller"), body: Buffer.from("{}\n") },
      answer(200, "application/x-ndjson", ""),
      /lines {2}answered, of 1/,
    ],
  ];
  for (const [what, request, given, fault] of cases) {
    test(what, () => {
      const found = faultOf(request, given, document);
      if (fault === undefined) assert.equal(found, undefined);
      else assert.match(found ?? "nothing is wrong", fault);
    });
  }
});
