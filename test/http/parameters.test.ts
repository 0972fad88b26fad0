import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { FxError } from "../../src/core/errors.ts";
import type { Operation } from "../../src/wire/operation.ts";
import { operations } from "../../src/wire/operations.ts";
import { adult, table } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { answerTo, headOf } from "../support/raw-connection.ts";
import * as requests from "../support/requests.ts";
import { startServer } from "../support/server.ts";

const pesel = adult(1);
const server = await startServer({}, "", { cors: ["https://bank.example"] });
after(() => server.close());
let receipt = "";

const opening = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
assert.equal((await send(server.url, "POST", "/api/user", { body: opening })).status, 204);
const cash = { amount: 1, currency: "PLN" };
const { headers } = await send(server.url, "POST", `/api/user/${pesel}/deposits`, { body: cash });
receipt = headers.get("fx-receipt")?.split("/").at(-1) ?? "";

const queries: Readonly<Record<string, string>> = {
  quote: "from=PLN&to=USD&toBuy=1",
  exportJournal: "format=csv",
};

const all = Object.entries<Operation>(operations);
const pathOf = (operation: Operation) => requests.pathOf(operation, { id: receipt });

function ask(
  id: string,
  operation: Operation,
  query: string,
  method: string = operation.method,
  url = server.url,
) {
  const asked = [queries[id], query].filter(Boolean).join("&");
  const path = `${pathOf(operation)}${asked === "" ? "" : `?${asked}`}`;
  if (operation.method === "GET") return send(url, method, path);
  return send(url, method, path, {
    body: requests.bodies[id],
    headers: { "content-type": requests.typeOf(operation) },
  });
}

/** Everything that the store holds. */
async function state(): Promise<string> {
  const texts = ["/api/users", `/api/user/${pesel}/history`, "/api/position"].map(async (path) => {
    return (await send(server.url, "GET", path)).text;
  });
  return (await Promise.all(texts)).join("\n");
}

/** Parameters that no operation takes. */
const unknownQueries = [
  ...["dryRun", "dryRun=", "dry+run=1", "dry-run=true", "=1", "=", "x=1&x=2", "at[from]=x"],
  ...["__proto__=1", "constructor=1", "toString", "pesel=1", `${pesel}=1`, "%zz=1", "%00", "a;b=1"],
];

/** Parameters that an operation does not take, or not in this form. */
function unfitQueries(id: string, { query }: Operation): string[] {
  const known = Object.keys(query?.shape ?? {});
  return [
    // Names are read by the same code for all operations.
    ...(["accounts", "exchange", "bulk"].includes(id) ? unknownQueries : unknownQueries.slice(0, 1)),
    ...(known.includes("dryRun") ? ["dryRun=yes", "dryRun=1"] : ["dryRun=true", "%64ryRun=true"]),
    ...known.flatMap((name) => [`${name}[]=1`, `${name}[0]=1`, `${name.toUpperCase()}=1`, `${name}s=1`]),
    ...known.flatMap((name) => [`${name}=1&${name}=1`, `${name}=1&%${hex(name)}=1`, `%20${name}=1`]),
    ...(known.includes("at") ? [] : ["at=2026-01-01T00:00:00Z", "at="]),
    ...(known.includes("limit") ? [] : ["limit=5"]),
  ];
}

const hex = (name: string) => name.charCodeAt(0).toString(16) + name.slice(1);

describe("parameters that an operation does not take", () => {
  for (const [id, operation] of all) {
    test(`${id} with parameters that it does not take is refused, and nothing is done`, async () => {
      const before = await state();
      for (const query of unfitQueries(id, operation)) {
        const { detail } = isProblem(await ask(id, operation, query), "invalid-request");
        assert.match(detail, /^The query is not valid: /, query);
        // The message suggests a parameter of similar name, and only a batch has `dryRun`.
        if (id !== "bulk") assert.ok(!/dry.?run/i.test(detail), detail);
        assert.ok(!/constructor|toString/i.test(detail), detail);
        if (operation.method === "GET") {
          const head = await ask(id, operation, query, "HEAD");
          assert.deepEqual([head.status, head.text], [400, ""], query);
        }
      }
      assert.equal(await state(), before);
    });
  }
});

describe("an unknown parameter", () => {
  for (const [id, operation] of all.filter(([, { path }]) => path.includes("{"))) {
    test(`${id} with an unknown parameter is refused before its path is looked at`, async () => {
      const path = operation.path.replace(/\{\w+\}/, "1");
      const { detail } = isProblem(
        await send(server.url, operation.method, `${path}?dryRun=true`, { headers: {} }),
        "invalid-request",
      );
      assert.match(detail, /^The query is not valid: /);
    });
  }
  for (const [id, operation] of all.filter(([, { method }]) => method === "POST")) {
    test(`${id} with an unknown parameter is refused before its body is sent`, async () => {
      const headers = [`Content-Type: ${requests.typeOf(operation)}`, "Content-Length: 20"];
      const answer = await answerTo(server.url, headOf(`POST ${pathOf(operation)}?dry-run=true`, ...headers));
      assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*"code":"invalid-request"/);
    });
  }
});

for (const code of ["storage-unavailable", "overloaded"] as const) {
  test(`Every operation whose service fails with ${code} answers with it, and the document lists that`, async () => {
    const failing = async () => {
      throw new FxError(code, "The store cannot do it.");
    };
    const untouched = ["close", "bulk", "export", "follow"];
    const broken = await startServer(
      new Proxy({}, { get: (_, name: string) => (untouched.includes(name) ? undefined : failing) }),
    );
    let failed = 0;
    for (const [id, operation] of all) {
      const answer = await ask(id, operation, "", operation.method, broken.url);
      if (answer.status < 500) continue;
      isProblem(answer, code);
      failed += 1;
    }
    assert.ok(failed > 20, String(failed));
    await broken.close();
  });
}

test("a preflight is answered whatever the parameters, since the request itself will be refused", async () => {
  const answer = await send(server.url, "OPTIONS", `/api/user/${pesel}?dryRun=true`, {
    headers: { origin: "https://bank.example", "access-control-request-method": "GET" },
  });
  assert.equal(answer.status, 204);
});

describe("a header that resembles one of those of orders", () => {
  const movesMoney = all.filter(([id]) => id in requests.bodies && id !== "compareCheckpoint");
  const nearKeys = (
    "X-Idempotency-Key Idempotency_Key IdempotencyKey Idempotency-Keys Idempotencykey Idempotent-Key Idempotence-Key " +
    "Idempotency Idempotency-Id Idempotency-Token X_Idempotency_Key Idempotncy-Key Idempotency-Kye Idmepotency-Key " +
    "Indempotency-Key Idemptoency-Kee Idempotenzy-Ke Idempotency.Key X-Request-Idempotency-Key PREFER-IDEMPOTENCY " +
    "Idenpotency-Key Impotency-Key"
  ).split(" ");
  const nearTables = "X-Fx-Table Fx_Table FxTable Fx-Tabel Fx-Tables Fx-Tabl F-Table fx-rate-table".split(
    " ",
  );

  async function isRefused(id: string, operation: Operation, name: string, value: string): Promise<void> {
    const answer = await send(server.url, "POST", pathOf(operation), {
      body: requests.bodies[id],
      headers: { "content-type": requests.typeOf(operation), [name]: value },
    });
    const { detail } = isProblem(answer, "invalid-request");
    assert.match(detail, /Idempotency-Key|Fx-Table/, name);
    assert.ok(!detail.includes(value), detail);
  }

  for (const [id, operation] of movesMoney) {
    test(`${id} with a header that resembles one of those of orders is refused, and nothing is done`, async () => {
      const before = await state();
      // One look at the names serves all operations.
      const some = (names: readonly string[]) => (id === "exchange" ? names : names.slice(0, 2));
      for (const name of some(nearKeys)) await isRefused(id, operation, name, "k-1");
      for (const name of some(nearTables)) await isRefused(id, operation, name, "224/C/NBP/2026");
      if (id !== "exchange") await isRefused(id, operation, "Fx-Table", table.number);
      if (id === "bulk") await isRefused(id, operation, "Idempotency-Key", "k-1");
      assert.equal(await state(), before);
    });

    test(`${id} with one of its headers given twice is refused`, async () => {
      for (const name of operation.headers?.length === 0 ? [] : (operation.headers ?? [])) {
        const body = JSON.stringify(requests.bodies[id]);
        const twice = [`${name}: "a"`, `${name.toLowerCase()}: "a"`];
        const headers = ["Content-Type: application/json", ...twice, `Content-Length: ${body.length}`];
        const answer = await answerTo(server.url, headOf(`POST ${pathOf(operation)}`, ...headers), body);
        assert.match(answer, /"code":"invalid-request"/);
      }
    });
  }

  test("Every operation that takes no such header leaves the ledger as it is", async () => {
    const before = await state();
    for (const [id, operation] of all.filter(([id]) => !movesMoney.some(([other]) => other === id))) {
      await ask(id, operation, "");
    }
    assert.equal(await state(), before);
  });

  test("Common headers of other programs are not taken for misspelt ones", async () => {
    const usual = {
      "x-request-id": "a",
      "x-api-key": "a",
      "sec-websocket-key": "a",
      "x-forwarded-for": "192.0.2.1",
      "x-fax": "a",
      "if-match": '"a"',
      prefer: "wait=5",
      "x-timetable": "a",
      "x-table": "a",
      "proxy-authorization": "a",
      "x-currency": "a",
    };
    const headers = { "content-type": "application/json", ...usual };
    const body = { amount: 1, currency: "PLN" };
    const answer = await send(server.url, "POST", `/api/user/${pesel}/deposits`, { headers, body });
    assert.equal(answer.status, 200, answer.text);
  });
});
