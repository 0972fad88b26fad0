import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseHouseCash } from "../../src/core/change.ts";
import type { ErrorCode } from "../../src/core/errors.ts";
import type { HousePlace } from "../../src/core/house.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adult, decimal, table as inForce } from "../support/fixture.ts";
import { type HttpAnswer, isProblem, send } from "../support/http.ts";
import { startServer, useServer } from "../support/server.ts";

const { account: ledgerAccount } = LedgerService.prototype;
const server = useServer();
let people = 0;

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

/** Prepares an account for each kind of change, and returns the request that goes through. */
const changes: Record<string, () => Promise<{ path: string; body: object }>> = {
  deposit: async () => ({ path: user(await opened(), "/deposits"), body: { amount: 2.5, currency: "USD" } }),
  withdrawal: async () => {
    return { path: user(await opened(), "/withdrawals"), body: { amount: 2.5, currency: "PLN" } };
  },
  reversal: async () => {
    const deposit = await done(post(user(await opened(), "/deposits"), { amount: 1, currency: "PLN" }));
    return { path: `${pathOf(deposit)}/reversal`, body: { reason: "a slip" } };
  },
  renaming: async () => ({ path: user(await opened(), "/name"), body: { name: "Maria", surname: "Nowak" } }),
  closing: async () => ({ path: user(await opened(0), "/closing"), body: {} }),
  block: async () => ({ path: user(await opened(), "/block"), body: { reason: "freeze" } }),
  unblock: async () => {
    const pesel = await opened();
    await done(post(user(pesel, "/block"), { reason: "freeze" }));
    return { path: user(pesel, "/unblock"), body: { reason: "lifted" } };
  },
};

for (const [kind, prepare] of Object.entries(changes)) {
  test(`A ${kind} answers the account after it, and where its receipt is`, async () => {
    const { path, body } = await prepare();
    const answer = await done(post(path, body));
    const { kind: kindOfReceipt, pesel, currencies } = await receiptOf(answer);
    assert.equal(kindOfReceipt, kind);
    const { json, headers } = await get(user(pesel as string));
    assert.deepEqual(answer.json, json);
    assert.deepEqual(Object.keys(json as object), ["name", "surname", "pesel", "currencies"]);
    assert.deepEqual((json as { currencies: unknown }).currencies, currencies);
    assert.equal(answer.headers.get("fx-account"), headers.get("fx-account"));
    assert.equal(answer.headers.get("cache-control"), "no-store");
  });

  test(`A ${kind} is counted by its outcome, and its line in the log has the receipt`, async () => {
    const counts = async () => {
      const { text } = await get("/metrics");
      return ["settled", "replayed", "invalid-request"].map((result) => {
        const row = `fx_changes_total{kind="${kind}",result="${result}"} `;
        return Number(text.split(row)[1]?.split("\n")[0]);
      });
    };
    const before = await counts();
    const { path, body } = await prepare();
    await post(path, { ...body, nothing: 1 }, "k");
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
    assert.match(line ?? "", /"method":"POST","route":"\/api\/[^"]*\{\w+\}[^"]*","status":200,.*"receipt":/);
  });
}

test("A reversal takes the whole id of a receipt, not its beginning", async () => {
  const pesel = await opened();
  const { id } = await receiptOf(await done(post(user(pesel, "/deposits"), { amount: 1, currency: "PLN" })));
  const beginning = String(id).slice(0, 35);
  assert.equal((await get(`/api/receipts/${beginning}`)).status, 200);
  isProblem(await post(`/api/receipts/${beginning}/reversal`, { reason: "a slip" }), "not-found");
  assert.equal(
    (await post(`/api/receipts/${String(id).toUpperCase()}/reversal`, { reason: "a slip" })).status,
    200,
  );
});

test("Every answer about a blocked account says so, and its entries and the list do", async () => {
  const pesel = await opened();
  const state = async (answer: Promise<HttpAnswer>) => (await answer).headers.get("fx-account");
  const listed = async () => {
    const { users } = (await get("/api/users?limit=200")).json as { users: Record<string, unknown>[] };
    return users.find((user) => user.pesel === pesel)?.blocked;
  };
  assert.deepEqual([await state(get(user(pesel))), await listed()], [null, undefined]);
  assert.equal(await state(done(post(user(pesel, "/block"), { reason: "freeze" }))), "blocked");
  const deposit = await done(post(user(pesel, "/deposits"), { amount: 1, currency: "PLN" }));
  assert.equal(await state(Promise.resolve(deposit)), "blocked");
  assert.equal((await receiptOf(deposit)).blocked, true);
  assert.deepEqual([await state(get(user(pesel))), await listed()], ["blocked", true]);
  const { json } = await get(user(pesel, "/history"));
  const { entries } = json as { entries: Record<string, unknown>[] };
  assert.deepEqual(
    entries.map(({ kind, reason, blocked }) => [kind, reason, blocked]),
    [
      ["deposit", undefined, true],
      ["block", "freeze", true],
      ["opening", undefined, undefined],
    ],
  );
  assert.equal(await state(done(post(user(pesel, "/unblock"), { reason: "lifted" }))), null);
  assert.equal(await listed(), undefined);
});

test("A closing takes no body, an empty one, or an empty object", async () => {
  for (const request of [{}, { headers: { "content-type": "application/json" } }, { body: {} }]) {
    const path = user(await opened(0), "/closing");
    const answer = await done(send(server.url, "POST", path, request));
    assert.equal(answer.headers.get("fx-account"), "closed");
  }
  const { errors } = isProblem(await post(user(await opened(0), "/closing"), { why: 1 }), "invalid-request");
  assert.deepEqual(errors, [{ pointer: "", detail: "unknown field (its name is withheld). Known: none" }]);
});

describe("a change with several faults", () => {
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

  test("A deposit names its first fault: body, PESEL, account, closed, rates, currency, amount, limit", async () => {
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

  test("A withdrawal names its first fault: body, PESEL, account, closed, currency, amount, funds", async () => {
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

  test("A closing and a change of name name their first fault: body, PESEL, account, closed, money held", async () => {
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

  test("A reversal names its first fault: body, receipt, closed, kind, already reversed, funds", async () => {
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

test("The house's drawer and bank are read together: money on its way from one to the other is not in both", async (t) => {
  const { url, service, close } = await startServer({
    async account(this: ExchangeService, pesel, at) {
      const read = await ledgerAccount.call(this, pesel, at);
      moving ??= toTheBank();
      await moving;
      return read;
    },
  });
  t.after(close);
  const move = (kind: "deposit" | "withdrawal", account: HousePlace) =>
    service.change(parseHouseCash({ kind, account, amount: decimal("300"), currency: "PLN" }));
  const toTheBank = async () => {
    await move("withdrawal", "cash");
    await move("deposit", "bank");
  };
  let moving: Promise<void> | undefined;
  await move("deposit", "cash");
  const { json } = await send(url, "GET", "/api/house");
  assert.deepEqual(json, { cash: [{ symbol: "PLN", amount: 300 }], bank: [] });
});
