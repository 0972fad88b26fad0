import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { OperationId } from "../../src/wire/operations.ts";
import type { Role } from "../../src/wire/role.ts";
import type { HttpAnswer } from "../support/http.ts";
import { check } from "./play.ts";
import type { Asked } from "./requests.ts";

const json = "application/json; charset=utf-8";
const account = { name: "Jan", surname: "Kowalski", pesel: "80010112340", currencies: [] };

const trading = { tradable: true, reason: null, reasonCode: null, suspension: null };

const asked = (operation: OperationId, role?: Role, body = ""): Asked => {
  return {
    method: "GET",
    target: "",
    headers: [],
    body: Buffer.from(body),
    chunk: undefined,
    operation,
    role,
  };
};
const answer = (status: number, body: string | object, type = json): HttpAnswer => ({
  status,
  headers: new Headers({ "x-request-id": "1", "content-type": type }),
  text: typeof body === "string" ? body : JSON.stringify(body),
  json: typeof body === "string" ? undefined : body,
});
const problem = (code: string, status: number, detail = "It failed.") => {
  const body = {
    type: `urn:fx:error:${code}`,
    title: "T",
    status,
    detail,
    instance: "urn:fx:request:1",
    code,
  };
  return answer(status, body, "application/problem+json; charset=utf-8");
};

describe("The fuzzer's check of an answer", () => {
  const ofViewer = asked("account", "viewer");
  for (const [fault, request, given, told] of [
    ["a success without a token", asked("account"), answer(200, account), /a success for nobody/],
    [
      "a success for too low a role",
      asked("resumeTrading", "teller"),
      answer(200, trading),
      /a success for teller/,
    ],
    ["an undocumented status", ofViewer, problem("account-exists", 409), /not documented/],
    ["an undocumented error code", ofViewer, problem("underage", 400), /code underage/],
    ["an internal error", ofViewer, problem("internal", 500), /status 500/],
    ["a body that violates the schema", ofViewer, answer(200, {}), /required/],
    ["a body that is not JSON", ofViewer, answer(200, "{"), /must be object/],
    ["a field beside its shape", ofViewer, answer(200, { ...account, age: 1 }), /age/],
    ["an error without problem details", ofViewer, answer(404, {}), /content type/],
    ["a PESEL in a problem", ofViewer, problem("account-not-found", 404, account.pesel), /800101\*/],
    ["a token in an answer", ofViewer, answer(200, "fxt_o"), /a token/],
    ["an unanswered line", asked("bulk", "teller", "{}\n"), answer(200, "", "application/x-ndjson"), /lines/],
  ] as const) {
    test(`The fuzzer's check finds ${fault}`, () => {
      assert.throws(() => check(request, given), { name: "AssertionError", message: told });
    });
  }

  test("The fuzzer's check takes an answer that is right", () => check(ofViewer, answer(200, account)));
});
