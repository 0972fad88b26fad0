import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHouseCash } from "../../src/core/change.ts";
import type { HousePlace } from "../../src/core/house.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adult, decimal } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { startServer } from "../support/server.ts";

const { account: ledgerAccount } = LedgerService.prototype;

test("Every kind of change is counted by its outcome, and its line in the log has the receipt", async (t) => {
  const { url, log, close } = await startServer();
  t.after(close);
  const account = `/api/user/${adult(1)}`;
  const post = (path: string, body: object) => {
    const headers = { "content-type": "application/json", "idempotency-key": path };
    return send(url, "POST", path, { headers, body });
  };
  await post("/api/user", { name: "Jan", surname: "Kowalski", pesel: adult(1), pln: 5 });
  let receipt = "";
  for (const [kind, path, body] of [
    ["withdrawal", "withdrawals", { amount: 5, currency: "PLN" }],
    ["deposit", "deposits", { amount: 5, currency: "PLN" }],
    ["reversal", "reversal", { reason: "a slip" }],
    ["renaming", "name", { name: "Maria", surname: "Nowak" }],
    ["block", "block", { reason: "freeze" }],
    ["unblock", "unblock", { reason: "lifted" }],
    ["closing", "closing", {}],
  ] as const) {
    const at = `${kind === "reversal" ? receipt : account}/${path}`;
    await post(at, { ...body, nothing: 1 });
    const { status, headers, text } = await post(at, body);
    assert.equal(status, 200, text);
    await post(at, body);
    receipt = headers.get("fx-receipt") ?? "";
    const line = new RegExp(
      `"route":"/api/[^"]*{\\w+}[^"]*","status":200,.*"receipt":"${receipt.slice(-36)}"`,
    );
    assert.match(log(), line);
    const { text: metrics } = await send(url, "GET", "/metrics");
    for (const result of ["settled", "replayed", "invalid-request"]) {
      assert.ok(
        metrics.includes(`fx_changes_total{kind="${kind}",result="${result}"} 1\n`),
        `${kind} ${result}`,
      );
    }
  }
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
