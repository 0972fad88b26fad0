import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AnswerCode, answerCodes, FxError } from "../../src/core/errors.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** The HTTP status of each error code. */
const statuses: Readonly<Record<AnswerCode, number>> = {
  "invalid-request": 400,
  "invalid-pesel": 400,
  "pesel-mismatch": 400,
  underage: 400,
  "unsupported-currency": 400,
  "same-currency": 400,
  "invalid-amount": 400,
  "amount-too-small": 400,
  "insufficient-funds": 400,
  "balance-limit": 400,
  "rate-changed": 400,
  "already-reversed": 400,
  "not-reversible": 400,
  "account-closed": 400,
  "account-blocked": 400,
  "account-not-blocked": 400,
  "account-not-empty": 400,
  "account-not-found": 404,
  "not-found": 404,
  "method-not-allowed": 405,
  "account-exists": 409,
  "idempotency-key-reused": 422,
  "rates-unavailable": 500,
  "trading-suspended": 400,
  "storage-unavailable": 500,
  internal: 500,
  unauthorized: 401,
  forbidden: 403,
  "rate-limited": 429,
  overloaded: 503,
};

describe("the answer to each error code", () => {
  let server: TestServer;
  let refusal: FxError;
  before(async () => {
    server = await startServer({
      account: async () => {
        throw refusal;
      },
    });
  });
  // `close` would object to the codes that this operation never answers with.
  after(() => server.app.close());

  for (const code of answerCodes) {
    test(`${code} is answered with ${statuses[code]}, its message, its fields and Retry-After`, async () => {
      const fields = [{ pointer: "/toBuy", detail: "is required" }];
      refusal = new FxError(code, "What happened.", { fields, retryAfterSeconds: 7 });
      const answer = await send(server.url, "GET", `/api/user/${adult(1)}`);
      const { detail, errors } = isProblem(answer, code);
      assert.equal(answer.status, statuses[code]);
      assert.equal(answer.headers.get("retry-after"), "7");
      assert.deepEqual(errors, fields);
      if (code !== "internal") assert.equal(detail, "What happened.");
    });
  }
});
