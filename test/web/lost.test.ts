import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { warsawDate } from "../../src/core/date.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { noBrowser, visit } from "../support/browser.ts";
import { adult, identified, putInForce } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { type NbpStandIn, startNbpStandIn, tablesUpTo } from "../support/nbp-stand-in.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import {
  ask,
  balancesAre,
  drawn,
  entriesOn,
  eventually,
  fillTicket,
  find,
  openAccount,
  parts,
  postTo,
  suiteServer,
} from "./teller.ts";

const buy100 = { from: "PLN", to: "USD", side: "Buy", amount: "100" } as const;

/** Gives the page's next orders a fate, until the route is removed. */
type Fate =
  | "carried out and unanswered"
  | "carried out, and answered by a gateway"
  | "kept by something else, which answers"
  | "held back";

/** Answers that are not of fx, although one looks like it. */
const gateway = {
  status: 504,
  json: { code: "UPSTREAM_TIMEOUT", title: "Timeout", detail: "upstream timeout" },
};
const login = { status: 200, json: { login: "required" } };

async function intercept(page: Page, fate: Fate, then = async () => {}): Promise<void> {
  await page.route("**/api/exchange/*", async (route) => {
    if (fate === "held back") return;
    if (fate === "kept by something else, which answers") return route.fulfill(login);
    await route.fetch();
    await then();
    if (fate === "carried out, and answered by a gateway") await route.fulfill(gateway);
    else await route.abort();
  });
}

describe("an order from the page", { skip: noBrowser }, () => {
  const server = suiteServer("--demo");

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

  test("An order is carried out once, however often Confirm is clicked", async (t) => {
    const { page, confirm, changes } = await offered(t, 11);
    await confirm.evaluate((button: { click(): void }) => {
      for (let nth = 0; nth < 5; nth += 1) button.click();
    });
    assert.equal(await entriesOn(page, 2), 2);
    await balancesAre(page, { USD: "100.00" });
    assert.equal(keysOf(changes()).length, 1);
  });

  test("An order is not confirmed by the second click of a double click on Exchange, by Enter held down, by an Enter at the question, or by a Confirm that has just come", async (t) => {
    const { page, exchange, confirm, changes } = await offered(t, 39);
    const cancel = page.getByRole("button", { name: "Cancel" });
    await cancel.click();
    await page.evaluate(`{
      const seen = new WeakSet();
      new MutationObserver(() => {
        for (const button of document.querySelectorAll(".asked [type=submit]")) {
          if (!seen.has(button)) button.click();
          seen.add(button);
        }
      }).observe(document.body, { childList: true, subtree: true });
    }`);
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
    await cancel.click();
    await parts(page).amount.press("Enter");
    await page.locator(".asked:focus").waitFor();
    await confirm.click({ trial: true });
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await confirm.and(page.locator(":focus")).waitFor();
    assert.equal(keysOf(changes()).length, 0);
    await page.keyboard.press("Enter");
    assert.equal(await entriesOn(page, 2), 2);
    assert.equal(keysOf(changes()).length, 1);
  });

  for (const [fate, entries] of [
    ["carried out and unanswered", 2],
    ["carried out, and answered by a gateway", 2],
    ["kept by something else, which answers", 1],
    ["held back", 1],
  ] as const) {
    test(`An order that is ${fate} is not sent again by a reload, and is shown as unsettled until it is looked up`, async (t) => {
      const { page, pesel, name, confirm, changes } = await offered(t, 60 + fate.length);
      const asked = page.waitForRequest("**/api/exchange/*");
      await intercept(page, fate);
      await confirm.click();
      await asked;
      if (fate !== "held back") await parts(page).alert.waitFor();
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
        await page.getByRole("button", { name: "Abandon" }).click();
        await parts(page).alert.getByText("may still be done, whatever").waitFor();
        await page.getByRole("button", { name: "Keep it" }).click();
        await page.getByRole("button", { name: "Abandon", exact: true }).click();
        await page.getByRole("button", { name: "Abandon, although it may still be done" }).click();
        await parts(page).alert.getByText("abandoned, but may still be done").waitFor();
      }
      await parts(page).exchange.waitFor();
      await confirm.waitFor({ state: "detached" });
      await eventually(
        () => parts(page).receipt.count(),
        (count) => count === entries - 1,
      );
      assert.equal(keysOf(changes()).length, 1);
      assert.equal(await page.evaluate("sessionStorage.length"), 0);
    });
  }

  test("An order that is asked for again after a refusal has a new key", async (t) => {
    const { page, pesel, confirm, alert, changes } = await offered(t, 20);
    const price = page.locator(".ticket .price");
    const asked = await price.innerText();
    await postTo(server.url, `user/${pesel}/withdrawals`, { amount: 999, currency: "PLN" });
    await confirm.click();
    assert.match(await alert.innerText(), /not enough|holds|balance/i);
    assert.equal(await confirm.count(), 0);
    assert.equal(await price.innerText(), asked, "the refusal stands beside another price");
    await postTo(server.url, `user/${pesel}/deposits`, { amount: 999, currency: "PLN" });
    await ask(page, buy100);
    await confirm.click();
    await balancesAre(page, { USD: "100.00" });
    const [first, second, ...others] = keysOf(changes());
    assert.ok(first !== undefined && second !== undefined && first !== second && others.length === 0);
  });
});

describe("an order of unknown outcome", { skip: noBrowser }, () => {
  test("An order of unknown outcome is shown as such while the server is away: looked up, reloaded, and beside an account that cannot be read", async (t) => {
    const server = await startFx(["--demo"]);
    t.after(() => server.stop());
    const { page } = await visit(t, server.url);
    const { confirm, alert } = parts(page);
    await openAccount(page, { pesel: adult(21), first: "Jan", surname: "Nieznany" });
    await ask(page, buy100);
    await intercept(page, "carried out and unanswered");
    await confirm.click();
    await alert.getByText("not known whether it was done").waitFor();
    await page.route("**/api/**", (route) => route.abort());
    await page.getByRole("button", { name: "See whether it was done" }).click();
    const both = alert.getByText(/not known whether it was done.*No answer came from the server/s);
    await both.waitFor();
    await page.reload();
    await alert.getByText("not known yet whether an order was done").waitFor();
    await page.unroute("**/api/**");
    await page.route("**/api/user/**", (route) => route.abort());
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "Show" }).click();
    await alert.getByText("not known whether it was done").waitFor();
    await page.unroute("**/api/user/**");
    await page.unroute("**/api/exchange/*");
    await confirm.click();
    await page.getByRole("heading", { name: "Jan Nieznany" }).waitFor();
    assert.equal(await entriesOn(page, 2), 2);
    await balancesAre(page, { USD: "100.00" });
  });
});

/** Removed after the servers of all tests have stopped. */
const folder = newFolder();

describe("the page of a server at the bank's rates", { skip: noBrowser }, () => {
  let bank: NbpStandIn;
  let server: Served;
  const tables = tablesUpTo(warsawDate(new Date()));
  before(async () => {
    bank = await startNbpStandIn(tables.slice(0, -1));
    server = await startFx(settings());
  });
  after(async () => {
    await server?.stop();
    await bank?.close();
  });
  const settings = () => ["--db", `sqlite:${join(folder, "fx.db")}`, "--rates", bank.url];

  async function restart(): Promise<void> {
    const { port } = new URL(server.url);
    await server.stop();
    server = await startFx([...settings(), "--port", port]);
  }

  test("The page carries out once what was confirmed again after a restart of the server", async (t) => {
    const { page } = await visit(t, server.url);
    const { confirm, alert } = parts(page);
    await openAccount(page, { pesel: adult(31), first: "Jan", surname: "Kowalski" });
    await ask(page, buy100);
    await intercept(page, "carried out and unanswered", restart);
    await confirm.click();
    await alert.getByText("not known").waitFor();
    await page.unroute("**/api/exchange/*");
    await confirm.click();
    assert.equal(await entriesOn(page, 2), 2);
    await balancesAre(page, { USD: "100.00" });
  });

  test("The page says that no answer came while the server is away, and goes on when it is back", async (t) => {
    const { page } = await visit(t, server.url);
    const { confirm, alert, exchange } = parts(page);
    await openAccount(page, { pesel: adult(32), first: "Ewa", surname: "Kowalska" });
    // The statement would say that no answer came, too.
    assert.equal(await entriesOn(page, 1), 1);
    const { port } = new URL(server.url);
    await server.stop();
    await fillTicket(page, buy100);
    await exchange.click();
    await alert.getByText("No answer").first().waitFor();
    server = await startFx([...settings(), "--port", port]);
    const again = page.waitForResponse(/api\/rates$/);
    await page.evaluate(`dispatchEvent(new Event("focus"))`);
    await again;
    await drawn(page);
    // A price that came later would seem to be what got no answer.
    assert.match(await page.locator(".ticket .price").innerText(), /–/);
    await ask(page, buy100);
    await confirm.click();
    assert.equal(await entriesOn(page, 2), 2);
  });

  test("The page shows a rate that moved before Confirm, and settles at it only when it is confirmed, under a new key", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { confirm, alert, rates } = parts(page);
    await openAccount(page, { pesel: adult(33), first: "Ola", surname: "Kowal" });
    await fillTicket(page, buy100);
    await parts(page).amount.press("Enter");
    await page.locator(".asked:focus").waitFor();
    const before = await page.locator("section.ticket").innerText();
    const price = async () =>
      /Customer pays\s+([\d.,]+)\sPLN/.exec(await page.locator(".price").innerText())?.[1];
    const was = await price();
    const newest = tables.at(-1) ?? "";
    bank.tables.push(newest);
    const store = openSqlite(join(folder, "fx.db"));
    t.after(() => store.close());
    const table = identified(JSON.parse(newest), bank.url);
    await putInForce(store, table);
    await confirm.click({ trial: true });
    await confirm.press("Enter");
    await alert.getByText("rate has moved").waitFor();
    const is = await price();
    assert.ok(was !== undefined && is !== undefined && was !== is);
    await alert.getByText(`It was ${was} PLN, it is ${is} PLN now.`).waitFor();
    await page.locator(".asked:focus").waitFor();
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
  test("A batch is carried out at the rates that its question showed, or asks again", async (t) => {
    const tables = tablesUpTo(warsawDate(new Date()));
    const bank = await startNbpStandIn(tables.slice(0, -1));
    const server = await startFx(["--db", `sqlite:${join(folder, "batch.db")}`, "--rates", bank.url]);
    t.after(async () => {
      await server.stop();
      await bank.close();
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
    const store = openSqlite(join(folder, "batch.db"));
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
  const server = suiteServer("--rates", "http://127.0.0.1:1");

  for (const [locale, words] of [
    ["en-GB", "The rate table is 9 days old"],
    ["pl-PL", "Najnowsza tabela jest za stara."],
  ] as const) {
    test(`The page says why no orders are settled at a rate table that is too old, in ${locale}`, async (t) => {
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
        reasonCode: "too-old",
        suspension: null,
        previous: null,
      };
      await page.route("**/api/rates", (route) => route.fulfill({ json: old }));
      await page.goto(server.url);
      await page.locator(".banner").getByText(words).waitFor();
    });
  }

  test("The page of a server without rates says so, opens accounts, and says why it cannot exchange", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { exchange, alert, amount, to } = parts(page);
    await page.getByText("no rates yet").waitFor();
    const { detail } = (await (await fetch(`${server.url}/api/rates`)).json()) as { detail: string };
    await page.locator(".banner").getByText(detail).waitFor();
    await openAccount(page, { pesel: adult(41), first: "Jan", surname: "Kowalski" });
    await balancesAre(page, { PLN: "1,000.00" });
    assert.equal(await to.inputValue(), "USD");
    await amount.fill("1");
    await exchange.click();
    await alert.waitFor();
    assert.match(await alert.innerText(), /rate/);
    assert.equal(changes().length, 1);
  });
});
