import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ErrorCode } from "../../src/core/errors.ts";
import { adult, table as inForce } from "../support/fixture.ts";
import { type HttpAnswer, isProblem, send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let people = 0;

before(async () => {
  server = await startServer();
});
after(() => server.close());

function post(path: string, body: unknown, key?: string): Promise<HttpAnswer> {
  const headers = { "content-type": "application/json", ...(key && { "idempotency-key": key }) };
  return send(server.url, "POST", path, { body, headers });
}
const get = (path: string) => send(server.url, "GET", path);
const user = (pesel: string, rest = "") => `/api/user/${pesel}${rest}`;

/** Opens an account for somebody new. */
async function opened(pln = 1000): Promise<string> {
  people += 1;
  const pesel = adult(people);
  const body = { name: "Jan", surname: "Kowalski", pesel, pln };
  assert.equal((await post("/api/user", body)).status, 204);
  return pesel;
}

async function closed(): Promise<string> {
  const pesel = await opened(0);
  await done(post(user(pesel, "/closing"), {}));
  return pesel;
}

/** The answer to a change that goes through. */
async function done(answer: Promise<HttpAnswer>): Promise<HttpAnswer> {
  const given = await answer;
  assert.equal(given.status, 200, given.text);
  return given;
}

const pathOf = ({ headers }: HttpAnswer) => headers.get("fx-receipt") ?? "";
const receiptOf = async (answer: HttpAnswer) =>
  (await get(pathOf(answer))).json as { id: string } & Record<string, unknown>;
const currenciesOf = ({ json }: HttpAnswer) =>
  (json as { currencies: { symbol: string; amount: number }[] }).currencies.map(
    ({ symbol, amount }) => `${amount} ${symbol}`,
  );
const replayedOf = ({ headers }: HttpAnswer) => headers.get("idempotency-replayed");

/** Each change, as it is asked for of an account for which it goes through. */
const changes: Record<string, () => Promise<{ path: string; body: unknown; other: unknown }>> = {
  deposit: async () => {
    return { path: user(await opened(), "/deposits"), ...bodies({ amount: 2.5, currency: "USD" }) };
  },
  withdrawal: async () => {
    return { path: user(await opened(), "/withdrawals"), ...bodies({ amount: 2.5, currency: "PLN" }) };
  },
  reversal: async () => {
    const deposit = await done(post(user(await opened(), "/deposits"), { amount: 1, currency: "PLN" }));
    return { path: `${pathOf(deposit)}/reversal`, body: { reason: "a slip" }, other: { reason: "a slip!" } };
  },
  renaming: async () => {
    const names = { name: "Maria", surname: "Nowak" };
    return { path: user(await opened(), "/name"), body: names, other: { ...names, name: "Ewa" } };
  },
  closing: async () => ({ path: user(await opened(0), "/closing"), body: {}, other: undefined }),
};
const bodies = (body: { amount: number; currency: string }) => ({ body, other: { ...body, amount: 3 } });

for (const [kind, prepare] of Object.entries(changes)) {
  describe(`a ${kind} over HTTP`, () => {
    test("answers the account after it, and where its receipt is", async () => {
      const { path, body } = await prepare();
      const answer = await done(post(path, body));
      const { kind: told, pesel, currencies } = await receiptOf(answer);
      assert.equal(told, kind);
      const { json, headers } = await get(user(pesel as string));
      assert.deepEqual(answer.json, json);
      assert.deepEqual(Object.keys(json as object), ["name", "surname", "pesel", "currencies"]);
      assert.deepEqual((json as { currencies: unknown }).currencies, currencies);
      assert.equal(answer.headers.get("fx-account"), headers.get("fx-account"));
      assert.equal(answer.headers.get("cache-control"), "no-store");
    });

    test("sent again with its key gets the first answer, byte for byte, marked as replayed", async () => {
      const { path, body } = await prepare();
      const [first, again] = [await done(post(path, body, "k")), await done(post(path, body, '"k"'))];
      assert.equal(again.text, first.text);
      assert.equal(pathOf(again), pathOf(first));
      assert.equal(again.headers.get("fx-account"), first.headers.get("fx-account"));
      assert.deepEqual([first, again].map(replayedOf), [null, "true"]);
    });

    test("with a key that was used for another request is refused with 422", async () => {
      const { path, body, other } = await prepare();
      const { pesel } = await receiptOf(await done(post(path, body, "k")));
      if (other !== undefined) isProblem(await post(path, other, "k"), "idempotency-key-reused");
      const deposit = { amount: 7, currency: "PLN" };
      isProblem(await post(user(pesel as string, "/deposits"), deposit, "k"), "idempotency-key-reused");
    });

    test("with a key that is none is refused", async () => {
      const { path, body } = await prepare();
      isProblem(await post(path, body, '"a b"'), "invalid-request");
    });

    test("is counted by its outcome, and its line in the log has the receipt", async () => {
      const counts = async () => {
        const { text } = await get("/metrics");
        return ["settled", "replayed", "invalid-request"].map((result) => {
          const row = `fx_changes_total{kind="${kind}",result="${result}"} `;
          return Number(text.split(row)[1]?.split("\n")[0]);
        });
      };
      const before = await counts();
      const { path, body } = await prepare();
      await post(path, { ...(body as object), nothing: 1 }, "k");
      const first = await done(post(path, body, "k"));
      await done(post(path, body, "k"));
      assert.deepEqual(
        await counts(),
        before.map((count) => count + 1),
      );
      const id = pathOf(first).split("/").at(-1) ?? "";
      const line = server
        .log()
        .split("\n")
        .find((each) => each.includes(id));
      assert.match(
        line ?? "",
        /"method":"POST","route":"\/api\/[^"]*\{\w+\}[^"]*","status":200,.*"receipt":/,
      );
    });
  });
}

describe("a deposit or a withdrawal", () => {
  test("says in its receipt what was moved, and why", async () => {
    const pesel = await opened();
    const body = { amount: 100.5, currency: "usd", note: "  Counter 2 " };
    const { kind, credited, note, reversedBy, currencies } = await receiptOf(
      await done(post(user(pesel, "/deposits"), body)),
    );
    const [money, pln] = [
      { symbol: "USD", amount: 100.5 },
      { symbol: "PLN", amount: 1000 },
    ];
    assert.deepEqual([kind, credited, note, reversedBy], ["deposit", money, "Counter 2", null]);
    assert.deepEqual(currencies, [pln, money]);
    const taken = await done(post(user(pesel, "/withdrawals"), { amount: 100, currency: "PLN" }));
    const withdrawal = await receiptOf(taken);
    assert.deepEqual([withdrawal.debited, withdrawal.note], [{ symbol: "PLN", amount: 100 }, null]);
    assert.deepEqual(currenciesOf(taken), ["900 PLN", "100.5 USD"]);
  });

  test("has a note of 1 to 200 characters, in code points", async () => {
    const path = user(await opened(), "/deposits");
    const noted = (note: unknown) => post(path, { amount: 1, currency: "PLN", note });
    const longest = "😀".repeat(200);
    assert.equal((await receiptOf(await done(noted(longest)))).note, longest);
    for (const note of [`${longest}a`, "", "  ", "a\nb", "a\u202eb", "\ud800", 1, null]) {
      const { errors } = isProblem(await noted(note), "invalid-request");
      assert.equal(errors?.[0]?.pointer, "/note", JSON.stringify(note));
    }
  });

  for (const [kind, bodies] of [
    [
      "deposits",
      [
        [{}, "invalid-request"],
        [{ amount: 1 }, "invalid-request"],
        [{ amount: 1, currency: "PLN", pesel: adult(1) }, "invalid-request"],
        [{ amount: "1", currency: "PLN" }, "invalid-request"],
        [{ amount: 1, currency: "XXX" }, "unsupported-currency"],
        [{ amount: 1, currency: "ISK" }, "unsupported-currency"],
        [{ amount: 1, currency: "zł" }, "unsupported-currency"],
        [{ amount: 0, currency: "PLN" }, "invalid-amount"],
        [{ amount: -1, currency: "PLN" }, "invalid-amount"],
        [{ amount: 0.001, currency: "USD" }, "invalid-amount"],
        [{ amount: 1.5, currency: "JPY" }, "invalid-amount"],
        [{ amount: 1e13, currency: "PLN" }, "balance-limit"],
      ],
    ],
    [
      "withdrawals",
      [
        [{ amount: 1, currency: "XXX" }, "unsupported-currency"],
        [{ amount: 1, currency: "USD" }, "insufficient-funds"],
        [{ amount: 0.001, currency: "PLN" }, "invalid-amount"],
        [{ amount: 1000.01, currency: "PLN" }, "insufficient-funds"],
      ],
    ],
  ] as const) {
    for (const [body, code] of bodies) {
      test(`${kind}: ${JSON.stringify(body).replace(/\d{11}/, "…")} is refused with ${code}, and moves nothing`, async () => {
        const pesel = await opened();
        isProblem(await post(user(pesel, `/${kind}`), body), code);
        assert.deepEqual(currenciesOf(await get(user(pesel))), ["1000 PLN"]);
      });
    }
  }

  test("in PLN needs no rates, nor does a withdrawal of what the account holds", async () => {
    const pesel = await opened();
    await done(post(user(pesel, "/deposits"), { amount: 5, currency: "EUR" }));
    server.rates.use(undefined);
    try {
      const pln = { amount: 1, currency: "PLN" };
      await done(post(user(pesel, "/deposits"), pln));
      await done(post(user(pesel, "/withdrawals"), { amount: 5, currency: "EUR" }));
      const foreign = await post(user(pesel, "/deposits"), { amount: 5, currency: "EUR" });
      isProblem(foreign, "rates-unavailable");
      assert.deepEqual([foreign.status, foreign.headers.get("retry-after")], [500, "7"]);
    } finally {
      server.rates.use(inForce);
    }
  });

  test("of 1e15 − 1 minor units is exact", async () => {
    const pesel = await opened(0);
    const most = { amount: 9_999_999_999_999.99, currency: "PLN" };
    assert.deepEqual(currenciesOf(await done(post(user(pesel, "/deposits"), most))), [
      "9999999999999.99 PLN",
    ]);
    assert.deepEqual(currenciesOf(await done(post(user(pesel, "/withdrawals"), most))), ["0 PLN"]);
  });
});

describe("a reversal", () => {
  test("undoes an exchange, at its table, and both receipts name each other", async () => {
    const pesel = await opened();
    const order = { pesel, from: "PLN", to: "USD", toBuy: 10 };
    const exchange = await done(post(`/api/exchange/${pesel}`, order));
    const { side, sold, bought, bid, ask, table, tableId, effectiveDate } = await receiptOf(exchange);
    server.rates.use(undefined);
    try {
      const answer = await done(post(`${pathOf(exchange)}/reversal`, { reason: "EUR was asked for" }));
      assert.deepEqual(currenciesOf(answer), ["1000 PLN", "0 USD"]);
      const { id, reverses, reason, debited, credited, exchange: undone } = await receiptOf(answer);
      const reversed = await receiptOf(exchange);
      assert.deepEqual([reverses, reversed.reversedBy], [reversed.id, id]);
      assert.deepEqual([reason, debited, credited], ["EUR was asked for", bought, sold]);
      assert.deepEqual(undone, { side, sold, bought, bid, ask, table, tableId, effectiveDate });
    } finally {
      server.rates.use(inForce);
    }
  });

  test("of a receipt that there is none of is 404, whatever the id looks like", async () => {
    for (const id of ["019e9a70-3c5e-7000-8000-5d1f0c2b7a11", "none", adult(1)]) {
      isProblem(await post(`/api/receipts/${id}/reversal`, { reason: "a slip" }), "not-found");
    }
  });

  test("takes the whole id of a receipt, not its beginning", async () => {
    const pesel = await opened();
    const { id } = await receiptOf(
      await done(post(user(pesel, "/deposits"), { amount: 1, currency: "PLN" })),
    );
    const beginning = String(id).slice(0, 35);
    assert.equal((await get(`/api/receipts/${beginning}`)).status, 200);
    isProblem(await post(`/api/receipts/${beginning}/reversal`, { reason: "a slip" }), "not-found");
    assert.equal(
      (await post(`/api/receipts/${String(id).toUpperCase()}/reversal`, { reason: "a slip" })).status,
      200,
    );
  });

  test("of an opening, a reversal, a renaming or a closing is refused, and leaves the key free", async () => {
    const pesel = await opened(0);
    const reversed = await done(post(user(pesel, "/deposits"), { amount: 1, currency: "PLN" }));
    await done(post(`${pathOf(reversed)}/reversal`, { reason: "a slip" }));
    await done(post(user(pesel, "/name"), { name: "Maria", surname: "Nowak" }));
    const { entries } = (await get(user(pesel, "/history"))).json as {
      entries: { kind: string; id: string }[];
    };
    const others = entries.filter(({ kind }) => kind !== "deposit");
    assert.deepEqual(
      others.map(({ kind }) => kind),
      ["renaming", "reversal", "opening"],
    );
    for (const { id } of others) {
      for (const _ of [1, 2]) {
        const answer = await post(`/api/receipts/${id}/reversal`, { reason: "a slip" }, "k");
        isProblem(answer, "not-reversible");
        assert.equal(replayedOf(answer), null);
      }
    }
  });

  test("needs a reason of 1 to 200 characters", async () => {
    const deposit = await done(post(user(await opened(), "/deposits"), { amount: 1, currency: "PLN" }));
    for (const body of [{}, { reason: "" }, { reason: "a".repeat(201) }, { reason: "a\u0000" }]) {
      const { errors } = isProblem(await post(`${pathOf(deposit)}/reversal`, body), "invalid-request");
      assert.equal(errors?.[0]?.pointer, "/reason");
    }
    await done(post(`${pathOf(deposit)}/reversal`, { reason: "ż".repeat(200) }));
  });
});

describe("a change of name", () => {
  test("gives both names from then on, and entries from before keep theirs", async () => {
    const pesel = await opened();
    const { json } = await done(post(user(pesel, "/name"), { name: " Maria ", surname: "Wiśniewska" }));
    const { name, surname } = json as { name: string; surname: string };
    assert.deepEqual([name, surname], ["Maria", "Wiśniewska"]);
    const { entries } = (await get(user(pesel, "/history"))).json as { entries: { surname?: string }[] };
    assert.deepEqual(
      entries.map((entry) => entry.surname),
      ["Wiśniewska", "Kowalski"],
    );
  });

  test("has the rules of an opening's names, and both", async () => {
    const path = user(await opened(), "/name");
    for (const [field, value] of [
      ["name", "a".repeat(101)],
      ["surname", " "],
      ["name", undefined],
      ["surname", 1],
    ] as const) {
      const body = { name: "Jan", surname: "Nowak", [field]: value };
      const { errors } = isProblem(await post(path, body), "invalid-request");
      assert.equal(errors?.[0]?.pointer, `/${field}`);
    }
  });
});

describe("a closing", () => {
  test("takes no body, an empty one, or an empty object", async () => {
    for (const request of [{}, { headers: { "content-type": "application/json" } }, { body: {} }]) {
      const path = user(await opened(0), "/closing");
      const answer = await done(send(server.url, "POST", path, request));
      assert.equal(answer.headers.get("fx-account"), "closed");
    }
    const { errors } = isProblem(
      await post(user(await opened(0), "/closing"), { why: 1 }),
      "invalid-request",
    );
    assert.deepEqual(errors, [
      { pointer: "", detail: "has a field whose name is not repeated here: it is not a known field" },
    ]);
  });

  test("leaves the account readable: its four fields, and Fx-Account: closed", async () => {
    const pesel = await closed();
    const { status, json, headers } = await get(user(pesel));
    assert.deepEqual([status, headers.get("fx-account")], [200, "closed"]);
    assert.deepEqual(json, {
      name: "Jan",
      surname: "Kowalski",
      pesel,
      currencies: [{ symbol: "PLN", amount: 0 }],
    });
    assert.equal((await get(user(await opened()))).headers.get("fx-account"), null);
    const { entries } = (await get(user(pesel, "/history"))).json as { entries: { kind: string }[] };
    assert.equal(entries[0]?.kind, "closing");
  });

  test("ends every change, until the PESEL is opened again with 204, its history kept", async () => {
    const pesel = await opened(5);
    const deposit = await done(post(user(pesel, "/deposits"), { amount: 1, currency: "PLN" }));
    await done(post(user(pesel, "/withdrawals"), { amount: 6, currency: "PLN" }));
    await done(post(user(pesel, "/closing"), undefined));
    for (const [path, body] of [
      [user(pesel, "/deposits"), { amount: 1, currency: "PLN" }],
      [user(pesel, "/withdrawals"), { amount: 1, currency: "PLN" }],
      [user(pesel, "/name"), { name: "Maria", surname: "Nowak" }],
      [user(pesel, "/closing"), {}],
      [`${pathOf(deposit)}/reversal`, { reason: "a slip" }],
      [`/api/exchange/${pesel}`, { pesel, from: "PLN", to: "USD", toBuy: 1 }],
    ] as const) {
      assert.equal(isProblem(await post(path, body), "account-closed").status, 400);
    }
    const again = { name: "Jan", surname: "Lis", pesel, pln: 2 };
    assert.equal((await post("/api/user", again)).status, 204);
    const reopened = await get(user(pesel));
    assert.deepEqual([reopened.headers.get("fx-account"), currenciesOf(reopened)], [null, ["2 PLN"]]);
    const { entries } = (await get(user(pesel, "/history"))).json as { entries: { kind: string }[] };
    assert.deepEqual(
      entries.map(({ kind }) => kind),
      ["opening", "closing", "withdrawal", "deposit", "opening"],
    );
    isProblem(await post("/api/user", again), "account-exists");
  });
});

describe("of several things that are wrong, the first is told: body, PESEL, account, closed", () => {
  const deposit = { amount: 0, currency: "XXX", note: "" };
  const noted = { ...deposit, note: undefined };

  /** Each step corrects what the answer before it named. */
  async function steps(path: string, ...told: readonly [body: unknown, pesel: string, code: ErrorCode][]) {
    try {
      for (const [body, pesel, code] of told) {
        server.rates.use(code === "rates-unavailable" ? undefined : inForce);
        isProblem(await post(user(pesel, path), body), code);
      }
    } finally {
      server.rates.use(inForce);
    }
  }

  test("then rates, currency, amount and limit, for a deposit", async () => {
    const [shut, open] = [await closed(), await opened()];
    await steps(
      "/deposits",
      [{ ...deposit, extra: 1 }, "1", "invalid-request"],
      [deposit, "1", "invalid-request"],
      [noted, "1", "invalid-pesel"],
      [noted, adult(9000), "account-not-found"],
      [noted, shut, "account-closed"],
      [noted, open, "rates-unavailable"],
      [noted, open, "unsupported-currency"],
      [{ ...noted, currency: "USD" }, open, "invalid-amount"],
      [{ amount: 1e13, currency: "USD" }, open, "balance-limit"],
    );
  });

  test("then currency, amount and funds, for a withdrawal", async () => {
    const [shut, open] = [await closed(), await opened()];
    await steps(
      "/withdrawals",
      [deposit, "1", "invalid-request"],
      [noted, "1", "invalid-pesel"],
      [noted, adult(9000), "account-not-found"],
      [noted, shut, "account-closed"],
      [noted, open, "unsupported-currency"],
      [{ ...noted, currency: "USD" }, open, "invalid-amount"],
      [{ amount: 1, currency: "USD" }, open, "insufficient-funds"],
    );
  });

  test("then whether it is empty, for a closing; a change of name likewise", async () => {
    const [shut, open] = [await closed(), await opened()];
    await steps(
      "/closing",
      [[], "1", "invalid-request"],
      [{}, "1", "invalid-pesel"],
      [{}, adult(9000), "account-not-found"],
      [{}, shut, "account-closed"],
      [{}, open, "account-not-empty"],
    );
    const names = { name: "Maria", surname: "Nowak" };
    await steps(
      "/name",
      [{ ...names, name: "" }, "1", "invalid-request"],
      [names, "1", "invalid-pesel"],
      [names, adult(9000), "account-not-found"],
      [names, shut, "account-closed"],
    );
  });

  test("then the receipt, its kind, whether it is reversed, and funds, for a reversal", async () => {
    const pesel = await opened();
    const deposit = await done(post(user(pesel, "/deposits"), { amount: 1, currency: "PLN" }));
    const taken = await done(post(user(pesel, "/withdrawals"), { amount: 1001, currency: "PLN" }));
    const reverse = (id: string, reason = "a slip") => post(`${id}/reversal`, { reason });
    isProblem(await reverse("/api/receipts/none", ""), "invalid-request");
    isProblem(await reverse("/api/receipts/none"), "not-found");
    isProblem(await reverse(pathOf(deposit)), "insufficient-funds");
    const undone = await done(reverse(pathOf(taken)));
    isProblem(await reverse(pathOf(undone)), "not-reversible");
    isProblem(await reverse(pathOf(taken)), "already-reversed");
    await done(post(user(pesel, "/withdrawals"), { amount: 1001, currency: "PLN" }));
    await done(post(user(pesel, "/closing"), {}));
    isProblem(await reverse(pathOf(deposit)), "account-closed");
  });
});

describe("a refusal of a change is kept with its key, whatever happens then:", () => {
  const kept: Record<
    string,
    (pesel: string) => Promise<{ ask: () => Promise<HttpAnswer>; change?: () => Promise<unknown> }>
  > = {
    "insufficient-funds": async (pesel) => ({
      ask: () => post(user(pesel, "/withdrawals"), { amount: 2000, currency: "PLN" }, "k"),
      change: () => done(post(user(pesel, "/deposits"), { amount: 2000, currency: "PLN" })),
    }),
    "account-not-empty": async (pesel) => ({
      ask: () => post(user(pesel, "/closing"), {}, "k"),
      change: () => done(post(user(pesel, "/withdrawals"), { amount: 1000, currency: "PLN" })),
    }),
    "account-closed": async () => {
      const pesel = await closed();
      return {
        ask: () => post(user(pesel, "/deposits"), { amount: 1, currency: "PLN" }, "k"),
        change: async () => {
          const again = await post("/api/user", { name: "Jan", surname: "Lis", pesel, pln: 0 });
          assert.equal(again.status, 204);
        },
      };
    },
    "already-reversed": async (pesel) => {
      const deposit = await done(post(user(pesel, "/deposits"), { amount: 1, currency: "PLN" }));
      await done(post(`${pathOf(deposit)}/reversal`, { reason: "a slip" }));
      return { ask: () => post(`${pathOf(deposit)}/reversal`, { reason: "a slip" }, "k") };
    },
    "account-not-found": async () => {
      people += 1;
      const pesel = adult(people);
      return {
        ask: () => post(user(pesel, "/name"), { name: "Maria", surname: "Nowak" }, "k"),
        change: () => post("/api/user", { name: "Jan", surname: "Lis", pesel, pln: 0 }),
      };
    },
    "unsupported-currency": async (pesel) => ({
      ask: () => post(user(pesel, "/deposits"), { amount: 1, currency: "ISK" }, "k"),
    }),
    "balance-limit": async (pesel) => ({
      ask: () => post(user(pesel, "/deposits"), { amount: 9_999_999_999_999, currency: "PLN" }, "k"),
      change: () => done(post(user(pesel, "/withdrawals"), { amount: 1000, currency: "PLN" })),
    }),
  };

  for (const [code, prepare] of Object.entries(kept)) {
    test(code, async () => {
      const { ask, change } = await prepare(await opened());
      const first = await ask();
      await change?.();
      const again = await ask();
      const { instance: _, ...told } = isProblem(first, code as ErrorCode);
      const { instance: __, ...toldAgain } = isProblem(again, code as ErrorCode);
      assert.deepEqual(toldAgain, told);
      assert.deepEqual([first, again].map(replayedOf), [null, "true"]);
    });
  }

  test("but what is wrong in itself, or undecided, leaves the key free", async () => {
    const path = user(await opened(), "/deposits");
    isProblem(await post(path, { amount: 0, currency: "PLN" }, "k"), "invalid-amount");
    server.rates.use(undefined);
    isProblem(await post(path, { amount: 1, currency: "USD" }, "k"), "rates-unavailable");
    server.rates.use(inForce);
    await done(post(path, { amount: 1, currency: "USD" }, "k"));
  });
});
