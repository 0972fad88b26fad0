import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { noBrowser, visit } from "../support/browser.ts";
import { adult } from "../support/fixture.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { entriesOn, eventually, find, openAccount, parts } from "./teller.ts";

const anna = { pesel: "80010112340", name: "Anna Nowak" };

describe("the page for tellers on paper, and what stands around it", { skip: noBrowser }, () => {
  let server: Served;
  before(async () => {
    server = await startFx(["--demo"]);
  });
  after(() => server?.stop());

  test("shows the balances before and after a period", async (t) => {
    const { page } = await visit(t, server.url);
    await find(page, anna.pesel, anna.name);
    const ends = page.locator(".ends");
    assert.equal(await ends.count(), 0);
    await parts(page).until.fill("2020-12-31");
    await entriesOn(page, 0);
    await parts(page).since.fill("2020-01-01");
    await parts(page).until.fill("");
    await entriesOn(page, 3);
    const text = (await ends.innerText()).replace(/\s+/g, " ");
    assert.match(text, /Before it – After it 6,677\.25 PLN · 250\.50 EUR · 500\.00 USD/);
  });

  test("prints the whole statement, also of what was not scrolled to, or the receipt alone", async (t) => {
    const pesel = adult(11);
    const { page } = await visit(t, server.url);
    await openAccount(page, { pesel, first: "Długi", surname: "Wyciąg", initial: "1000" });
    const deposit = JSON.stringify({ kind: "deposit", pesel, amount: 1, currency: "PLN" });
    const bulk = await fetch(`${server.url}/api/bulk`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: `${deposit}\n`.repeat(1200),
    });
    await bulk.text();
    await page.reload();
    await page.evaluate(`globalThis.print = () => { document.title = "printed"; }`);
    await find(page, pesel, "Długi Wyciąg");
    await page
      .getByRole("button", { name: /^Receipt of/ })
      .first()
      .click();
    await parts(page).receipt.waitFor();
    await page.locator(".statement").getByRole("button", { name: "Print" }).click();
    await eventually(
      () => page.title(),
      (title) => title === "printed",
    );
    assert.equal(await parts(page).statement.locator("tbody tr").count(), 1201);
    assert.deepEqual(await onPaper(page), { receipt: false, statement: true, rates: false });
    await page.evaluate(`dispatchEvent(new Event("afterprint"))`);
    assert.deepEqual(await onPaper(page), { receipt: true, statement: false, rates: false });
  });

  test("closes an account when it is empty, and shows then that it is closed", async (t) => {
    const { page } = await visit(t, server.url);
    await openAccount(page, { pesel: adult(12), first: "Pusta", surname: "Kasa", initial: "5" });
    const close = page.getByRole("button", { name: "Close this account" });
    await page.getByText("Cash and corrections").click();
    await close.click();
    assert.match(await parts(page).alert.innerText(), /still money/);
    await page.getByLabel("Sum").fill("5");
    await page.getByRole("button", { name: "Withdraw" }).click();
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await entriesOn(page, 2);
    await close.click();
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await page.getByText("This account is closed.").waitFor();
    assert.equal(await parts(page).exchange.count(), 0);
  });

  test("keeps a long name and the largest balance inside a phone's width", async (t) => {
    const { page } = await visit(t, server.url, { viewport: { width: 360, height: 800 } });
    const first = "Wolfeschlegelsteinhausenbergerdorff-Aleksandra";
    const surname = "Brzęczyszczykiewicz-Chrząszczyżewoszycka";
    await openAccount(page, { pesel: adult(13), first, surname, initial: "9999999999999.99" });
    await entriesOn(page, 1);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
  });

  test("shows the API under the page's policy, and asks it", async (t) => {
    const { page } = await visit(t, `${server.url}/docs`);
    await page.locator(".opblock-summary", { hasText: "/health/live" }).click();
    await page.getByRole("button", { name: "Try it out" }).click();
    await page.getByRole("button", { name: "Execute" }).click();
    await page.locator(".live-responses-table .response-col_status", { hasText: "200" }).waitFor();
  });
});

/** What a printer gets. */
async function onPaper(page: Page) {
  await page.emulateMedia({ media: "print" });
  const { receipt, statement, rates } = parts(page);
  const seen = {
    receipt: await receipt.isVisible(),
    statement: await statement.isVisible(),
    rates: await rates.isVisible(),
  };
  await page.emulateMedia({ media: null });
  return seen;
}
