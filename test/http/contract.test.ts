import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ErrorCode } from "../../src/core/errors.ts";
import { adult, peselOf, table } from "../support/fixture.ts";
import { type HttpRequest, isProblem, send } from "../support/http.ts";
import { useServer } from "../support/server.ts";

const server = useServer();
let people = 0;

const post = (path: string, body: unknown, headers?: HttpRequest["headers"]) =>
  send(server.url, "POST", path, {
    body,
    ...(headers && { headers: { "content-type": "application/json", ...headers } }),
  });
const read = (pesel: string) => send(server.url, "GET", `/api/user/${pesel}`);

/** The body that opens an account for somebody new. */
function newPerson(fields: object = {}) {
  people += 1;
  return { name: "Jan", surname: "Kowalski", pesel: adult(people) as string, pln: 1000, ...fields };
}

async function opened(pln = 1000): Promise<string> {
  const body = newPerson({ pln });
  assert.equal((await post("/api/user", body)).status, 204);
  return body.pesel;
}

function order(pesel: string, fields: object, headers?: HttpRequest["headers"]) {
  return post(`/api/exchange/${pesel}`, { pesel, from: "PLN", to: "USD", ...fields }, headers);
}

const withheld = (known: string) => `unknown field (its name is withheld). Known: ${known}`;

describe("the contract", () => {
  test("opening an account answers 204 without a body", async () => {
    const answer = await post("/api/user", newPerson());
    assert.deepEqual([answer.status, answer.text, answer.headers.get("content-type")], [204, "", null]);
  });

  test("opening an account tells where its receipt is, also when it is sent again, marked as replayed", async () => {
    const body = newPerson({ pln: 12.3 });
    const [first, again] = [
      await post("/api/user", body, { "idempotency-key": "o-1" }),
      await post("/api/user", body, { "idempotency-key": "o-1" }),
    ];
    const path = first.headers.get("fx-receipt") ?? "";
    assert.equal(again.headers.get("fx-receipt"), path);
    assert.deepEqual(
      [first, again].map(({ status, headers }) => [status, headers.get("idempotency-replayed")]),
      [
        [204, null],
        [204, "true"],
      ],
    );
    const { json } = await send(server.url, "GET", path);
    const { kind, pesel, initial } = json as { kind: string; pesel: string; initial: object };
    assert.deepEqual([kind, pesel, initial], ["opening", body.pesel, { symbol: "PLN", amount: 12.3 }]);
  });

  test("reading an account answers its four fields and no more", async () => {
    const pesel = await opened(12.3);
    const answer = await read(pesel);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
    assert.equal(answer.headers.get("fx-account"), null);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.deepEqual(answer.json, {
      name: "Jan",
      surname: "Kowalski",
      pesel,
      currencies: [{ symbol: "PLN", amount: 12.3 }],
    });
  });

  test("an exchange answers the account after it, and where the receipt is", async () => {
    const pesel = await opened();
    const answer = await order(pesel, { toBuy: 10.01 });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json, {
      name: "Jan",
      surname: "Kowalski",
      pesel,
      currencies: [
        { symbol: "PLN", amount: 962.96 },
        { symbol: "USD", amount: 10.01 },
      ],
    });
    const receipt = await send(server.url, "GET", answer.headers.get("fx-receipt") ?? "");
    assert.equal(receipt.status, 200);
    assert.equal((receipt.json as { bought: { amount: number } }).bought.amount, 10.01);
  });

  test("an exchange sent again with its key gets the first answer, byte for byte, marked as replayed", async () => {
    const pesel = await opened();
    const first = await order(pesel, { toSell: 10 }, { "idempotency-key": "k-1" });
    await order(pesel, { toSell: 20 });
    const again = await order(pesel, { toSell: 10 }, { "idempotency-key": '"k-1"' });
    assert.deepEqual([again.status, again.text], [200, first.text]);
    assert.equal(again.headers.get("fx-receipt"), first.headers.get("fx-receipt"));
    assert.deepEqual(
      [first, again].map(({ headers }) => headers.get("idempotency-replayed")),
      [null, "true"],
    );
  });

  test("a body that names an actor is refused", async () => {
    const pesel = await opened();
    const fields = { by: "anna" };
    const answers = [
      await order(pesel, { toBuy: 1, ...fields }),
      await post("/api/user", newPerson(fields)),
      await post(`/api/user/${pesel}/deposits`, { amount: 1, currency: "PLN", ...fields }),
      await post(`/api/user/${pesel}/name`, { name: "Ewa", surname: "Lis", ...fields }),
      await post(`/api/user/${pesel}/closing`, fields),
    ];
    for (const answer of answers) {
      const { errors } = isProblem(answer, "invalid-request");
      assert.deepEqual(
        errors?.map(({ pointer, detail }) => [pointer, detail.split(".")[0]]),
        [["", "unknown field (its name is withheld)"]],
      );
    }
  });
});

describe("gaps of the description", () => {
  test("gap: pln or initial", async () => {
    const { pln: _, ...body } = newPerson();
    const openings: [fields: object, status: number][] = [
      [{}, 400],
      [{ pln: 5, initial: 6 }, 400],
      [{ pln: 5, initial: 5 }, 204],
    ];
    for (const [fields, status] of openings) {
      assert.equal((await post("/api/user", { ...body, ...fields })).status, status, JSON.stringify(fields));
    }
    const { pln: __, ...other } = newPerson({ initial: 7.5 });
    assert.equal((await post("/api/user", other)).status, 204);
    assert.match((await read(other.pesel)).text, /"amount":7.5/);
  });

  test("gap: pesel in body and path", async () => {
    const pesel = await opened();
    const body = { pesel: adult(9000), from: "PLN", to: "USD", toSell: 1 };
    isProblem(await post(`/api/exchange/${pesel}`, body), "pesel-mismatch");
    isProblem(await post(`/api/exchange/${pesel}`, { ...body, pesel: "1" }), "invalid-pesel");
    isProblem(await post(`/api/exchange/${pesel}`, { ...body, pesel: undefined }), "invalid-request");
  });

  test("gap: several things wrong", async () => {
    const pesel = await opened(1);
    const closed = await opened(0);
    const nobody = adult(9000);
    await post(`/api/user/${closed}/closing`, {}, { "idempotency-key": "k" });
    const child = peselOf("0926010000");
    const all = { pesel: nobody, from: "XAU", to: "xau", toSell: 0 };
    const other = { ...all, to: "USD" };
    const key = (key: string) => ({ "idempotency-key": key });
    const fxTable = { "fx-table": "1/C/NBP/2020" };
    const opening = { name: "a", surname: "b", pesel: "1", pln: 0.001 };
    /** Each step corrects what the answer before it named. */
    const steps: [path: string, body: object, code: ErrorCode, headers?: Record<string, string>][] = [
      ["/api/exchange/123?dryRun=true", { x: 1 }, "invalid-request", { idempotency_key: "k" }],
      ["/api/exchange/123", { ...all, extra: 1 }, "invalid-request"],
      [`/api/exchange/${closed}`, { ...all, pesel: "1" }, "invalid-request", key("a b")],
      ["/api/exchange/123", all, "invalid-pesel"],
      [`/api/exchange/${pesel}`, { ...all, pesel: "123" }, "invalid-pesel"],
      [`/api/exchange/${pesel}`, all, "pesel-mismatch", key("k")],
      [`/api/exchange/${nobody}`, all, "same-currency"],
      [`/api/exchange/${nobody}`, other, "account-not-found"],
      [`/api/exchange/${closed}`, { ...other, pesel: closed }, "idempotency-key-reused", key("k")],
      [`/api/exchange/${closed}`, { ...other, pesel: closed }, "account-closed", key("l")],
      [`/api/exchange/${pesel}`, { ...other, pesel }, "rates-unavailable", fxTable],
      [`/api/exchange/${pesel}`, { ...other, pesel }, "rate-changed", fxTable],
      [`/api/exchange/${pesel}`, { ...other, pesel }, "unsupported-currency"],
      [`/api/exchange/${pesel}`, { ...other, from: "PLN", pesel }, "invalid-amount"],
      [`/api/exchange/${pesel}`, { ...other, from: "PLN", toSell: 2, pesel }, "insufficient-funds"],
      ["/api/user", { ...opening, name: "" }, "invalid-request"],
      ["/api/user", opening, "invalid-pesel"],
      ["/api/user", { ...opening, pesel: child }, "underage"],
      ["/api/user", { ...opening, pesel }, "account-exists"],
      ["/api/user", { ...opening, pesel: nobody }, "invalid-amount"],
      ["/api/user", { ...opening, pesel: nobody, pln: 1e15 }, "balance-limit"],
    ];
    try {
      for (const [path, body, code, headers] of steps) {
        server.rates.use(code === "rates-unavailable" ? undefined : table);
        const { detail } = isProblem(await post(path, body, headers), code);
        if (path.includes("?")) assert.match(detail, /^The query/);
      }
    } finally {
      server.rates.use(table);
    }
  });

  test("gap: unknown fields in a body", async () => {
    const pesel = await opened();
    const { errors, detail } = isProblem(await order(pesel, { toBuy: 1, tosell: 1 }), "invalid-request");
    assert.deepEqual(errors, [{ pointer: "/tosell", detail: "is not a known field" }]);
    assert.match(detail, /tosell is not a known field/);
  });

  test("gap: error body names every wrong field and repeats no value", async () => {
    const body = { name: 5, surname: "secret-value", pln: "1", [adult(77)]: 1, "p/ln": 1, kowalski: 1 };
    const answer = await post("/api/user", body);
    const { errors } = isProblem(answer, "invalid-request");
    assert.deepEqual(errors, [
      { pointer: "/name", detail: "must be a string" },
      { pointer: "/pesel", detail: "is required" },
      { pointer: "/pln", detail: "must be a number" },
      ...Array(3).fill({ pointer: "", detail: withheld("name, surname, pesel, pln, initial") }),
    ]);
    assert.doesNotMatch(answer.text, /secret-value/);
  });
});
