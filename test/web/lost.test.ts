import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { warsawDate } from "../../src/core/date.ts";
import { type AnswerCode, FxError } from "../../src/core/errors.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { encodeProblem } from "../../src/wire/problem.ts";
import { noBrowser, visit } from "../support/browser.ts";
import { adult, identified, putInForce } from "../support/fixture.ts";
import { type NbpStandIn, startNbpStandIn, tablesUpTo } from "../support/nbp-stand-in.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { ask, balancesOn, entriesOn, eventually, fillTicket, find, openAccount, parts } from "./teller.ts";

const buy100 = { from: "PLN", to: "USD", side: "Buy", amount: "100" } as const;

/** What becomes of the page's next orders, until it is told otherwise. */
type Fate = "carried out and unanswered" | "never arrives" | "held back";

async function spoilOrders(page: Page, fate: Fate, then = async () => {}): Promise<void> {
  await page.route("**/api/exchange/*", async (route) => {
    if (fate === "held back") return;
    if (fate === "carried out and unanswered") await route.fetch();
    await then();
    await route.abort();
  });
}

/** Has the server refuse one request, as one that is busy would, and answer those after it. */
async function answerOnce(
  page: Page,
  url: string,
  code: AnswerCode,
  send: () => Promise<void>,
): Promise<void> {
  await page.unroute(url);
  const problem = encodeProblem(new FxError(code, "Not now."), "1");
  await page.route(url, (route) => route.fulfill({ status: problem.status, json: problem }), { times: 1 });
  const answered = page.waitForResponse(url);
  await send();
  await answered;
  await parts(page).alert.waitFor();
}

describe("an order from the page", { skip: noBrowser }, () => {
  let server: Served;
  before(async () => {
    server = await startFx(["--demo"]);
  });
  after(() => server?.stop());

  /** The page with an account of 1,000.00 PLN, and an order of 100.00 USD that is to be confirmed. */
  async function offered(t: TestContext, index: number) {
    const seen = await visit(t, server.url);
    const pesel = adult(index);
    await openAccount(seen.page, { pesel, first: "Jan", surname: `Kowal-${index}` });
    await ask(seen.page, buy100);
    return { ...parts(seen.page), ...seen, pesel, name: `Jan Kowal-${index}` };
  }
  const keysOf = (changes: ReturnType<Awaited<ReturnType<typeof visit>>["changes"]>) =>
    changes
      .filter((request) => request.url().includes("/api/exchange/"))
      .map((request) => request.headers()["idempotency-key"]);

  test("is carried out once, however often Confirm is clicked", async (t) => {
    const { page, confirm, changes } = await offered(t, 11);
    await confirm.evaluate((button: { click(): void }) => {
      for (let nth = 0; nth < 5; nth += 1) button.click();
    });
    assert.equal(await entriesOn(page, 2), 2);
    assert.equal((await balancesOn(page)).USD, "100.00");
    assert.equal(keysOf(changes()).length, 1);
  });

  test("is carried out once by a double click of the mouse, and by Exchange clicked twice", async (t) => {
    const { page, exchange, confirm, changes } = await offered(t, 12);
    await page.getByRole("button", { name: "Cancel" }).click();
    await exchange.dblclick();
    await confirm.waitFor();
    assert.equal(keysOf(changes()).length, 0);
    await confirm.dblclick();
    assert.equal(await entriesOn(page, 2), 2);
    assert.equal((await balancesOn(page)).USD, "100.00");
  });

  test("is not confirmed by the second click of a double click on Exchange, or by Enter held down", async (t) => {
    const { page, exchange, confirm, changes } = await offered(t, 39);
    const cancel = page.getByRole("button", { name: "Cancel" });
    await cancel.click();
    const box = await exchange.boundingBox();
    assert.ok(box !== null);
    await page.mouse.click(box.x + 5, box.y + 5);
    await confirm.waitFor();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await cancel.click();
    await exchange.focus();
    await page.keyboard.down("Enter");
    await confirm.waitFor();
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    assert.equal(keysOf(changes()).length, 0);
    await confirm.press("Enter");
    assert.equal(await entriesOn(page, 2), 2);
    assert.equal(keysOf(changes()).length, 1);
  });

  test("is carried out once when its answer is lost and it is confirmed again", async (t) => {
    const { page, confirm, alert, changes } = await offered(t, 13);
    await spoilOrders(page, "carried out and unanswered");
    await confirm.click();
    assert.match(await alert.innerText(), /not known whether it was done/);
    await page.unroute("**/api/exchange/*");
    await confirm.click();
    assert.equal(await entriesOn(page, 2), 2);
    assert.equal((await balancesOn(page)).USD, "100.00");
    const [first, again, ...others] = keysOf(changes());
    assert.ok(first !== undefined && first === again && others.length === 0);
  });

  for (const [index, code] of (["overloaded", "rate-limited", "rates-unavailable"] as const).entries()) {
    test(`is carried out once when its answer is lost, and the next one is ${code}`, async (t) => {
      const { page, confirm, alert, changes } = await offered(t, 40 + index);
      await spoilOrders(page, "carried out and unanswered");
      await confirm.click();
      await alert.waitFor();
      await answerOnce(page, "**/api/exchange/*", code, () => confirm.click());
      await confirm.click();
      assert.equal(await entriesOn(page, 2), 2);
      assert.equal((await balancesOn(page)).USD, "100.00");
      const keys = keysOf(changes());
      assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
    });
  }

  test("and a deposit is made once, too", async (t) => {
    const { page, alert } = await offered(t, 43);
    const make = async () => {
      await page.getByRole("button", { name: "Deposit" }).click();
      await page.getByRole("button", { name: "Yes, do it" }).click();
    };
    await page.getByText("Cash and corrections").click();
    await page.getByRole("textbox", { name: "Sum" }).fill("50");
    await page.route("**/deposits", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await make();
    await alert.waitFor();
    const again = page.getByRole("button", { name: "Yes, do it" });
    await answerOnce(page, "**/deposits", "overloaded", () => again.click());
    await again.click();
    assert.equal(await entriesOn(page, 2), 2);
    assert.equal((await balancesOn(page)).PLN, "1,050.00");
  });

  test("cannot be changed into another while its outcome is not known", async (t) => {
    const { page, confirm, alert, from, amount } = await offered(t, 14);
    await spoilOrders(page, "never arrives");
    await confirm.click();
    await alert.waitFor();
    assert.deepEqual([await from.isDisabled(), await amount.isDisabled()], [true, true]);
  });

  for (const [fate, words, entries] of [
    ["carried out and unanswered", /Statement/, 2],
    ["never arrives", /not been done so far/, 1],
  ] as const) {
    test(`that is ${fate} is looked up in the statement instead`, async (t) => {
      const { page, confirm, alert, exchange, receipt, changes } = await offered(t, entries + 14);
      await spoilOrders(page, fate);
      await confirm.click();
      await alert.waitFor();
      await page.getByRole("button", { name: "See whether it was done" }).click();
      if (entries === 2) await exchange.waitFor();
      else await alert.getByText("not been done so far").waitFor();
      assert.match(await page.locator("main").innerText(), words);
      assert.equal(await entriesOn(page, entries), entries);
      if (entries === 2) await receipt.waitFor();
      assert.equal(await receipt.count(), entries - 1);
      assert.equal(keysOf(changes()).length, 1);
    });
  }

  for (const [fate, entries] of [
    ["carried out and unanswered", 2],
    ["held back", 1],
  ] as const) {
    test(`that is ${fate} is not sent again by a reload, and is shown as unsettled until it is looked up`, async (t) => {
      const { page, pesel, name, confirm, changes } = await offered(t, entries + 17);
      const asked = page.waitForRequest("**/api/exchange/*");
      await spoilOrders(page, fate);
      await confirm.click();
      await asked;
      if (entries === 2) await parts(page).alert.waitFor();
      await page.reload();
      await page
        .getByRole("status")
        .getByText(`not known yet whether this was done: Exchange · ${name}`)
        .waitFor();
      await find(page, pesel, name);
      assert.match(await parts(page).alert.innerText(), /not known whether it was done/);
      assert.equal(await entriesOn(page, entries), entries);
      assert.equal(await parts(page).from.isDisabled(), true);
      await page.getByRole("button", { name: "See whether it was done" }).click();
      if (entries === 1) {
        await parts(page).alert.getByText("not been done so far").waitFor();
        await page.getByRole("button", { name: "Give it up" }).click();
        await parts(page).alert.getByText("may still be done, whatever").waitFor();
        await page.getByRole("button", { name: "Give it up, although it may still be done" }).click();
        await parts(page).alert.getByText("given up, and may still be done").waitFor();
      }
      await parts(page).exchange.waitFor();
      await confirm.waitFor({ state: "detached" });
      assert.equal(keysOf(changes()).length, 1);
      assert.equal(await page.evaluate("sessionStorage.length"), 0);
    });
  }

  test("has a new key after a refusal", async (t) => {
    const { page, pesel, confirm, alert, changes } = await offered(t, 20);
    const spent = await fetch(`${server.url}/api/user/${pesel}/withdrawals`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ amount: 999, currency: "PLN" }),
    });
    assert.equal(spent.status, 200, await spent.text());
    await confirm.click();
    assert.match(await alert.innerText(), /not enough|holds|balance/i);
    assert.equal(await confirm.count(), 0);
    await fetch(`${server.url}/api/user/${pesel}/deposits`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ amount: 999, currency: "PLN" }),
    });
    await ask(page, buy100);
    await confirm.click();
    await eventually(
      () => balancesOn(page),
      ({ USD }) => USD === "100.00",
    );
    const [first, second, ...others] = keysOf(changes());
    assert.ok(first !== undefined && second !== undefined && first !== second && others.length === 0);
  });
});

describe("the page of a server at the bank's rates", { skip: noBrowser }, () => {
  let folder: string;
  let bank: NbpStandIn;
  let server: Served;
  const tables = tablesUpTo(warsawDate(new Date()));
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "fx-web-"));
    bank = await startNbpStandIn(tables.slice(0, -1));
    server = await startFx(settings());
  });
  after(async () => {
    await server?.stop();
    await bank?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });
  const settings = () => ["--db", `sqlite:${join(folder, "fx.db")}`, "--rates", bank.url];

  async function restart(): Promise<void> {
    const { port } = new URL(server.url);
    await server.stop();
    server = await startFx([...settings(), "--port", port]);
  }

  test("carries out once what was confirmed again after a restart of the server", async (t) => {
    const { page } = await visit(t, server.url);
    const { confirm, alert } = parts(page);
    await openAccount(page, { pesel: adult(31), first: "Jan", surname: "Kowalski" });
    await ask(page, buy100);
    await spoilOrders(page, "carried out and unanswered", restart);
    await confirm.click();
    await alert.getByText("not known").waitFor();
    await page.unroute("**/api/exchange/*");
    await confirm.click();
    assert.equal(await entriesOn(page, 2), 2);
    assert.equal((await balancesOn(page)).USD, "100.00");
  });

  test("says that no answer came while the server is away, and goes on when it is back", async (t) => {
    const { page } = await visit(t, server.url);
    const { confirm, alert, exchange } = parts(page);
    await openAccount(page, { pesel: adult(32), first: "Ewa", surname: "Kowalska" });
    // The statement would say that no answer came, too.
    assert.equal(await entriesOn(page, 1), 1);
    const { port } = new URL(server.url);
    await server.stop();
    await fillTicket(page, buy100);
    await exchange.click();
    await alert.getByText("No answer").waitFor();
    server = await startFx([...settings(), "--port", port]);
    await ask(page, buy100);
    await confirm.click();
    assert.equal(await entriesOn(page, 2), 2);
  });

  test("shows a rate that moved before Confirm, and settles at it only when it is confirmed, under a new key", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { confirm, alert, rates } = parts(page);
    await openAccount(page, { pesel: adult(33), first: "Ola", surname: "Kowal" });
    await ask(page, buy100);
    const before = await page.locator("section.ticket").innerText();
    const newest = tables.at(-1) ?? "";
    bank.tables.push(newest);
    const store = openSqlite(join(folder, "fx.db"));
    t.after(() => store.close());
    const table = identified(JSON.parse(newest), bank.url);
    await putInForce(store, table);
    await confirm.click();
    await alert.getByText("rate has moved").waitFor();
    const moved = await page.locator("section.ticket").innerText();
    assert.notEqual(moved, before);
    assert.ok(moved.includes(table.number), moved);
    assert.equal(await entriesOn(page, 1), 1);
    await eventually(
      () => page.locator("header").innerText(),
      (text) => text.includes(table.number),
    );
    assert.ok((await rates.getByRole("rowheader").count()) > 10);
    await confirm.click();
    assert.equal(await entriesOn(page, 2), 2);
    const orders = changes().filter((request) => request.url().includes("/exchange/"));
    const headers = orders.map((request) => request.headers());
    assert.equal(new Set(headers.map((each) => each["idempotency-key"])).size, 2);
    assert.equal(new Set(headers.map((each) => each["fx-table"])).size, 2);
  });
});

describe("a batch on the page of a server at the bank's rates", { skip: noBrowser }, () => {
  test("is carried out at the rates that its question showed, or asks again", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "fx-web-"));
    const tables = tablesUpTo(warsawDate(new Date()));
    const bank = await startNbpStandIn(tables.slice(0, -1));
    const server = await startFx(["--db", `sqlite:${join(folder, "fx.db")}`, "--rates", bank.url]);
    t.after(async () => {
      await server.stop();
      await bank.close();
      rmSync(folder, { recursive: true });
    });
    const { page } = await visit(t, server.url);
    const pesel = adult(34);
    await openAccount(page, { pesel, first: "Wsad", surname: "Kurs" });
    const shown = (await (await fetch(`${server.url}/api/rates`)).json()) as { table: string };
    const lines = [
      { kind: "deposit", pesel, amount: 5, currency: "PLN" },
      { pesel, from: "PLN", to: "USD", toBuy: 10 },
      { pesel, from: "PLN", to: "USD", toBuy: 20, table: shown.table },
      { pesel, from: "PLN", to: "EUR", toBuy: 30 },
    ];
    const buffer = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await page.getByRole("button", { name: "Batch" }).click();
    const mimeType = "application/x-ndjson";
    await page.getByLabel("Batch file").setInputFiles({ name: "b.ndjson", mimeType, buffer });
    const first = page.getByRole("button", { name: "Carry out the lines: 4" });
    await first.waitFor();
    const moves = page.locator("table.moves");
    const before = await moves.innerText();
    const newest = tables.at(-1) ?? "";
    bank.tables.push(newest);
    const store = openSqlite(join(folder, "fx.db"));
    t.after(() => store.close());
    await putInForce(store, identified(JSON.parse(newest), bank.url));
    await first.click();
    await parts(page).alert.getByText("rates have moved").waitFor();
    const second = page.getByRole("button", { name: "Carry out the lines: 2" });
    await second.waitFor();
    assert.notEqual(await moves.innerText(), before);
    const account = async () =>
      (await (await fetch(`${server.url}/api/user/${pesel}`)).json()) as {
        currencies: { symbol: string; amount: number }[];
      };
    assert.deepEqual((await account()).currencies, [{ symbol: "PLN", amount: 1005 }]);
    await second.click();
    await page.getByText("The batch is done.").waitFor();
    const { currencies } = await account();
    assert.deepEqual(
      currencies.flatMap(({ symbol, amount }) => (symbol === "PLN" ? [] : [[symbol, amount]])),
      [
        ["EUR", 30],
        ["USD", 10],
      ],
    );
  });
});

describe("the page of a server without rates", { skip: noBrowser }, () => {
  let server: Served;
  before(async () => {
    server = await startFx(["--rates", "http://127.0.0.1:1"]);
  });
  after(() => server?.stop());

  for (const locale of ["en-GB", "pl-PL"]) {
    test(`says why no orders are settled at a rate table that is too old, in ${locale}`, async (t) => {
      const { page } = await visit(t, server.url, { locale });
      const reason = "The rate table is 9 days old, and none older than 7 days is traded at.";
      const rates = {
        table: "1/C/NBP/2026",
        tableId: "1",
        tradingDate: "2026-11-15",
        effectiveDate: "2026-11-16",
      };
      const old = {
        ...rates,
        rates: [],
        source: "nbp",
        recorded: false,
        tradable: false,
        reason,
        previous: null,
      };
      await page.route("**/api/rates", (route) => route.fulfill({ json: old }));
      await page.goto(server.url);
      await page.locator(".banner").getByText(reason).waitFor();
    });
  }

  test("says so, opens accounts, and says why it cannot exchange", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { exchange, alert, amount, to } = parts(page);
    await page.getByText("no rates yet").waitFor();
    const { detail } = (await (await fetch(`${server.url}/api/rates`)).json()) as { detail: string };
    await page.locator(".banner").getByText(detail).waitFor();
    await openAccount(page, { pesel: adult(41), first: "Jan", surname: "Kowalski" });
    assert.deepEqual(await balancesOn(page), { PLN: "1,000.00" });
    assert.equal(await to.inputValue(), "USD");
    await amount.fill("1");
    await exchange.click();
    await alert.waitFor();
    assert.match(await alert.innerText(), /rate/);
    assert.equal(changes().length, 1);
  });
});
