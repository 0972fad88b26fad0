import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Page } from "playwright-core";
import { noBrowser, visit, withoutTimer } from "../support/browser.ts";
import { ask, entriesOn, fillTicket, find, parts, suiteServer } from "./teller.ts";

const anna = { pesel: "80010112340", name: "Anna Nowak" };

/** Answers that are no answer: cut off, of another server, or of an unknown shape. */
const broken = {
  "cut off": '{"entries": [{"id": "01',
  "an HTML page": "<!doctype html><title>Welcome</title>",
  "of an unknown shape": "{}",
};

/** The parts of the page with reads of their own, what they read, and a sign that they still work. */
const readers = [
  { part: "the statement", path: /\/history\?limit=100/, place: ".statement, .account > .card" },
  { part: "the rates' history", path: /\/api\/rates\/USD\/history/, place: "aside" },
  { part: "the price", path: /\/api\/quote/, place: ".work" },
] as const;

describe("an answer that is broken", { skip: noBrowser }, () => {
  const server = suiteServer("--demo");

  async function openAll(page: Page): Promise<void> {
    await find(page, anna.pesel, anna.name);
    await page.getByRole("button", { name: "USD", exact: true }).click();
    await parts(page).amount.fill("1");
  }

  for (const [how, body] of Object.entries(broken)) {
    for (const { part, path, place } of readers) {
      test(`An answer for ${part} that is ${how} is told there, and the other parts stand`, async (t) => {
        const { page } = await visit(t, server.url);
        await page.route(path, (route) =>
          route.fulfill({ status: 200, contentType: "application/json", body }),
        );
        await openAll(page);
        await page
          .locator(place)
          .getByText(/No answer came|cannot be shown/)
          .first()
          .waitFor();
        const { balances, rates } = parts(page);
        for (const stands of [balances, rates]) await stands.waitFor();
        await page.getByText("Loading…").first().waitFor({ state: "detached" });
        await page.unroute(path);
        if (part !== "the price") await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "1" });
        else await entriesOn(page, 3);
      });
    }
  }

  test("An audit that something else answers is told as broken off, and can be run again", async (t) => {
    const { page } = await visit(t, server.url);
    await page.route(/audit\/checkpoint/, (route) => route.fulfill({ body: `${broken["an HTML page"]}\n` }));
    await page.getByRole("button", { name: "Audit", exact: true }).click();
    const run = page.getByRole("button", { name: "Run the audit" });
    await run.click();
    await page.getByRole("alert").getByText("The audit broke off").waitFor();
    await page.getByRole("button", { name: "Till" }).click();
    await page.locator(".banner", { hasText: "Not finished: Audit" }).getByRole("button").click();
    await page.unroute(/audit\/checkpoint/);
    await run.click();
    await page.getByRole("alert").waitFor({ state: "detached" });
  });

  test("The history of a currency with one table has lines, its figures and its day", async (t) => {
    const { page } = await visit(t, server.url);
    const one = { table: "1/C/NBP/2026", effectiveDate: "2026-01-02", bid: 3.5, ask: 3.6 };
    await page.route("**/api/rates/USD/history*", (route) => route.fulfill({ json: { rates: [one] } }));
    await page.getByRole("button", { name: "USD", exact: true }).click();
    const history = page.getByRole("region", { name: "History of USD" });
    await history.getByText(/Bid: 3\.5/).waitFor();
    await history.getByText("Since 2 Jan 2026").waitFor();
    assert.match(String(await history.locator("polyline.bid").getAttribute("points")), / 100\.00,/);
  });

  test("A position that cannot be shown leaves the counter usable, and is shown once it can be", async (t) => {
    const { page } = await visit(t, server.url);
    await page.route(/api\/position/, (route) => route.fulfill({ json: { currencies: 7 } }));
    await page.getByRole("button", { name: "Position", exact: true }).click();
    await page.getByText("This part cannot be shown").waitFor();
    await page.unroute(/api\/position/);
    await page.getByRole("button", { name: "Counter", exact: true }).click();
    await find(page, anna.pesel, anna.name);
    await page.getByRole("button", { name: "Position", exact: true }).click();
    await page.getByRole("rowheader", { name: "EUR", exact: true }).waitFor();
  });

  test("A browser that goes offline says that no answer came, with the time of what is shown, and goes on when it is back", async (t) => {
    const { page } = await visit(t, server.url);
    await withoutTimer(page);
    await find(page, anna.pesel, anna.name);
    await entriesOn(page, 3);
    await page.context().setOffline(true);
    await page.evaluate(`dispatchEvent(new Event("focus"))`);
    await page
      .locator(".account")
      .getByText(/This is as of/)
      .first()
      .waitFor();
    assert.equal(await parts(page).balances.count(), 1);
    await page.context().setOffline(false);
    await page
      .getByText(/This is as of/)
      .first()
      .waitFor({ state: "detached" });
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "1" });
  });

  test("The position of a past time is asked for, and both times are shown", async (t) => {
    const { page, requests } = await visit(t, server.url);
    await page.getByRole("button", { name: "Position", exact: true }).click();
    await page.getByText(/^As of .*\d\d:\d\d\.$/).waitFor();
    await page.getByLabel("At the time", { exact: true }).fill("2026-01-31T12:00");
    await page.getByText("As of 31 Jan 2026, 12:00.").waitFor();
    assert.ok(requests.some((request) => request.url().includes("at=2026-01-31T11%3A00%3A00.000Z")));
    await page.getByRole("button", { name: "Now", exact: true }).click();
    await page.getByRole("rowheader", { name: "EUR", exact: true }).waitFor();
  });

  test("Focus returns to where it was after Cancel and Esc, and a PESEL that was sought is kept for a new account", async (t) => {
    const { page } = await visit(t, server.url);
    const { exchange, confirm, amount, statement, receipt, search, pesel } = parts(page);
    await find(page, anna.pesel, anna.name);
    const focused = () =>
      page.evaluate("document.activeElement.textContent || document.activeElement.dataset.key");
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "1" });
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    assert.equal(await focused(), "Exchange");
    await exchange.waitFor();
    await amount.press("Enter");
    await confirm.press("Escape");
    assert.equal(await focused(), "amount");
    await statement
      .getByRole("button", { name: /^Receipt/ })
      .last()
      .click();
    await receipt.press("Escape");
    assert.equal(await focused(), "Receipt");
    await search.fill("850505 12345");
    await page.keyboard.press("Alt+n");
    assert.equal(await pesel.inputValue(), "85050512345");
    assert.equal(await search.inputValue(), "", "the form for the next customer would begin with this PESEL");
  });

  test("Alt with a letter goes to a part of the page unless the keyboard types another letter so", async (t) => {
    const { page } = await visit(t, server.url);
    const isTaken = (key: string) =>
      page.evaluate(
        `!dispatchEvent(new KeyboardEvent("keydown", { key: "${key}", code: "KeyS", altKey: true, cancelable: true }))`,
      );
    await parts(page).search.waitFor();
    assert.deepEqual([await isTaken("s"), await isTaken("ś")], [true, false]);
  });

  test("The form for cash stays open for the next customer, and says nothing of the balance to who pays in", async (t) => {
    const { page } = await visit(t, server.url);
    await find(page, anna.pesel, anna.name);
    await page.keyboard.press("Alt+c");
    await page.keyboard.press("Enter");
    await find(page, "75061598768", "Jan Kowalski");
    await page.getByLabel("Sum").fill("999999");
    await page.getByRole("button", { name: "Deposit" }).click();
    await page.locator(".asked").waitFor();
    assert.equal(await page.getByText("The account has only").count(), 0);
  });

  test("Too little money and an amount that cannot be read are told while one types, and all of a balance is put in at a click", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { amount, sell } = parts(page);
    await find(page, anna.pesel, anna.name);
    await amount.fill("99999");
    await page.locator(".ticket").getByText("The account has only").waitFor();
    await amount.fill("ten");
    await page.locator(".ticket .fault").getByText("This is not an amount").waitFor();
    await page
      .locator(".ticket")
      .getByRole("button", { name: /^All of it/ })
      .click();
    assert.deepEqual([await amount.inputValue(), await sell.isChecked()], ["6677.25", true]);
    assert.equal(await page.locator(".ticket .fault").count(), 0);
    assert.equal(changes().length, 0);
  });

  test("A price on the ticket that cannot be read again is told with the time of the one in sight", async (t) => {
    const { page } = await visit(t, server.url);
    await find(page, "80010112340", "Anna Nowak");
    await fillTicket(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    await page.locator(".price").getByText("1 USD =").waitFor();
    await page.route("**/api/quote**", (route) => route.abort());
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page
      .locator(".price")
      .getByText(/^No answer came .* This is as of/)
      .waitFor();
    assert.match(await page.locator(".price").innerText(), /1\sUSD =/);
  });

  test("The price on the ticket stays through a question about cash and its refusal", async (t) => {
    const { page } = await visit(t, server.url);
    const { amount, doIt, alert } = parts(page);
    await find(page, anna.pesel, anna.name);
    await amount.fill("10");
    const price = page.locator(".ticket .price");
    await price.getByText("10.00 USD").waitFor();
    await page.getByText("Cash and corrections").click();
    await page.getByRole("textbox", { name: "Sum" }).fill("99999");
    await page.getByRole("button", { name: "Withdraw" }).click();
    await doIt.waitFor();
    const shown = await price.innerText();
    assert.match(shown, /10\.00\sUSD/);
    await doIt.click();
    await doIt.waitFor({ state: "detached" });
    assert.equal(await alert.count(), 1);
    assert.equal(await price.innerText(), shown);
  });
});
