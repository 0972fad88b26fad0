import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AnswerCode, answerCodes, FxError } from "../../src/core/errors.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** The HTTP statuses of error codes that are not 400. */
const statuses: Partial<Record<AnswerCode, number>> = {
  ...{ unauthorized: 401, forbidden: 403, "account-not-found": 404, "not-found": 404 },
  ...{ "method-not-allowed": 405, "account-exists": 409, "idempotency-key-reused": 422, "rate-limited": 429 },
  ...{ "rates-unavailable": 500, "storage-unavailable": 500, internal: 500, overloaded: 503 },
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
    const status = statuses[code] ?? 400;
    test(`${code} is answered with ${status}, its message, its fields and Retry-After`, async () => {
      const fields = [{ pointer: "/toBuy", detail: "is required" }];
      refusal = new FxError(code, "What happened.", { fields, retryAfterSeconds: 7 });
      const answer = await send(server.url, "GET", `/api/user/${adult(1)}`);
      const { detail, errors } = isProblem(answer, code);
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get("retry-after"), "7");
      assert.deepEqual(errors, fields);
      if (code !== "internal") assert.equal(detail, "What happened.");
    });
  }
});
