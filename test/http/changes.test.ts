import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHouseCash } from "../../src/core/change.ts";
import type { HousePlace } from "../../src/core/house.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adult, decimal } from "../support/fixture.ts";
import { type HttpAnswer, send } from "../support/http.ts";
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

/** The answer to a change that goes through. */
async function done(answer: Promise<HttpAnswer>): Promise<HttpAnswer> {
  const given = await answer;
  assert.equal(given.status, 200, given.text);
  return given;
}

const pathOf = ({ headers }: HttpAnswer) => headers.get("fx-receipt") ?? "";

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
