import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Page } from "playwright-core";
import type { TillJson } from "../../src/wire/ledger.ts";
import { noBrowser, visit } from "../support/browser.ts";
import { adult } from "../support/fixture.ts";
import { ask, entriesOn, eventually, find, openAccount, parts, postTo, suiteServer } from "./teller.ts";

describe("the page for tellers on paper, and what stands around it", { skip: noBrowser }, () => {
  const server = suiteServer("--demo", "--office-name", "Kantor Wawel", "--office-tax", "676-000-00-00");

  test("The page prints the whole statement, also of what was not scrolled to, or the receipt alone", async (t) => {
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
    await entriesOn(page, 100);
    await page.emulateMedia({ media: "print" });
    const paper = page.locator(".statement");
    assert.deepEqual(
      [await paper.isVisible(), await paper.locator(".signatures").isVisible()],
      [true, false],
    );
    await page.emulateMedia({ media: null });
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
    assert.deepEqual(await onPaper(page), {
      receipt: false,
      statement: true,
      rates: false,
      office: "Kantor Wawel Tax number 676-000-00-00",
      signatures: 2,
    });
    await page.evaluate(`dispatchEvent(new Event("afterprint"))`);
    assert.deepEqual(await onPaper(page), {
      receipt: true,
      statement: false,
      rates: false,
      office: "Kantor Wawel Tax number 676-000-00-00",
      signatures: 2,
    });
  });

  test("A printed statement has each entry's number and the balance after it, which the screen has not", async (t) => {
    const pesel = adult(17);
    const { page } = await visit(t, server.url);
    await openAccount(page, { pesel, first: "Anna", surname: "Wydruk", initial: "1000" });
    await postTo(server.url, `user/${pesel}/withdrawals`, { amount: 250.5, currency: "PLN" });
    await page.reload();
    await find(page, pesel, "Anna Wydruk");
    const rows = parts(page).statement.locator("tbody tr");
    const words = ["Entry 2", "Balances after it: 749.50 PLN", "Entry 1", "Balances after it: 1,000.00 PLN"];
    const seen = async () => {
      const texts = (await rows.allInnerTexts()).join(" ").replace(/\s+/g, " ");
      return words.filter((each) => texts.includes(each));
    };
    await rows.nth(1).waitFor();
    const made = page.getByText(/^Statement · Anna Wydruk · .* · As of .*\d\d:\d\d\.$/);
    assert.deepEqual([await seen(), await made.isVisible()], [[], false]);
    await page.emulateMedia({ media: "print" });
    assert.deepEqual([await seen(), await made.isVisible()], [words, true]);
  });

  test("A receipt in sight is printed as reversed, if it was reversed meanwhile, with the reason named as one", async (t) => {
    const pesel = adult(18);
    const { page } = await visit(t, server.url);
    await openAccount(page, { pesel, first: "Jan", surname: "Cofnięty", initial: "0" });
    await page.getByText("Cash and corrections").click();
    await page.getByLabel("Sum").fill("5");
    await page.getByRole("button", { name: "Deposit" }).click();
    await parts(page).doIt.click();
    const { receipt } = parts(page);
    await receipt.getByText("Receipt · Deposit").waitFor();
    const [id] = /[0-9a-f-]{36}/.exec(await receipt.innerText()) ?? [];
    await page.evaluate(`globalThis.print = () => {
      document.title = document.querySelector(".receipt").innerText;
    }`);
    await postTo(server.url, `receipts/${id}/reversal`, { reason: "mistyped" });
    await receipt.getByRole("button", { name: "Print" }).click();
    await eventually(
      () => page.title(),
      (title) => title.includes("Reversed by"),
    );
    await find(page, pesel, "Jan Cofnięty");
    await entriesOn(page, 3);
    await page
      .getByRole("button", { name: /^Receipt of/ })
      .first()
      .click();
    await receipt.getByText("Receipt · Reversal").waitFor();
    assert.match(await receipt.innerText(), /Reason\s+mistyped/);
  });

  test("The page closes an account when it is empty, shows then that it is closed, and says whose it was before it is opened again", async (t) => {
    const { page } = await visit(t, server.url);
    await openAccount(page, { pesel: adult(12), first: "Pusta", surname: "Kasa", initial: "5" });
    const close = page.getByRole("button", { name: "Close this account" });
    await page.getByText("Cash and corrections").click();
    await close.click();
    assert.match(await parts(page).alert.innerText(), /still money/);
    await page.locator(".asked:focus").waitFor();
    await page.getByLabel("Sum").fill("5");
    await page.getByRole("button", { name: "Withdraw" }).click();
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await entriesOn(page, 2);
    await close.click();
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await page.getByText("This account is closed.").waitFor();
    assert.equal(await parts(page).exchange.count(), 0);
    await page.getByRole("button", { name: "Reverse" }).first().click();
    const asked = page.locator(".asked");
    assert.match(await asked.getByRole("alert").innerText(), /account is closed/);
    await asked.getByRole("button", { name: "Cancel" }).click();
    const { newAccount, openAccount: open, ...box } = parts(page);
    await newAccount.click();
    await box.pesel.fill(adult(12));
    await page.getByRole("status").getByText("had an account in the name of Pusta Kasa").waitFor();
    await box.first.fill("Inna");
    await box.surname.fill("Osoba");
    await open.click();
    await asked.getByRole("alert").getByText("in the name of Pusta Kasa").waitFor();
  });

  test("A teller sees that an account is blocked, why and since when, before there is an amount to type, and an operator lifts it", async (t) => {
    const { page } = await visit(t, server.url);
    const pesel = adult(14);
    await openAccount(page, { pesel, first: "Ewa", surname: "Zajęta", initial: "5" });
    await page.getByText("Cash and corrections").click();
    await page.getByRole("button", { name: "Block this account" }).click();
    const yes = page.getByRole("button", { name: "Yes, do it" });
    assert.match(await page.locator(".asked").innerText(), /^Operation\s+Block\s/);
    await yes.click();
    await page.locator("input:focus:invalid").waitFor();
    await page.getByRole("textbox", { name: "Reason" }).fill("freeze 12/2026");
    await yes.click();
    const blocked = page.getByRole("region", { name: "This account is blocked." });
    await blocked.getByText("freeze 12/2026").waitFor();
    await blocked.getByText("Blocked since").waitFor();
    const { exchange, amount } = parts(page);
    const withdraw = page.getByRole("button", { name: "Withdraw" });
    assert.deepEqual([await exchange.count(), await amount.count(), await withdraw.count()], [0, 0, 0]);
    const deposit = { amount: 1, currency: "PLN" };
    for (let nth = 0; nth < 101; nth += 1) await postTo(server.url, `user/${pesel}/deposits`, deposit);
    await page.reload();
    await find(page, "zajęta", "Ewa Zajęta");
    await blocked.getByText("freeze 12/2026").waitFor();
    await blocked.getByRole("button", { name: "Unblock this account" }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("lifted 15/2026");
    await yes.click();
    await exchange.waitFor();
    assert.equal(await blocked.count(), 0);
    const seen = () => page.getByText("lifted 15/2026").locator("visible=true").count();
    const onScreenAndPaper = async () => {
      const onScreen = await seen();
      await page.emulateMedia({ media: "print" });
      const onPaper = await seen();
      await page.emulateMedia({ media: null });
      return [onScreen, onPaper];
    };
    await parts(page).receipt.waitFor();
    assert.deepEqual(await onScreenAndPaper(), [2, 0], "the receipt, and the statement's row");
    await parts(page).receipt.press("Escape");
    assert.deepEqual(await onScreenAndPaper(), [1, 0], "the statement's row");
  });

  test("A block that comes while an amount is typed refuses the order, and the page then shows it", async (t) => {
    const { page } = await visit(t, server.url);
    const pesel = adult(15);
    await openAccount(page, { pesel, first: "Jan", surname: "Spóźniony" });
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    await postTo(server.url, `user/${pesel}/block`, { reason: "freeze" });
    await parts(page).confirm.click();
    await page.getByRole("region", { name: "This account is blocked." }).getByText("freeze").waitFor();
    assert.equal(await parts(page).exchange.count(), 0);
  });

  test("The sheet of the till expects the float and what came less what went, keeps what is typed, and prints alone", async (t) => {
    const { page } = await visit(t, server.url);
    const till = async () => {
      const { currencies } = (await (await fetch(`${server.url}/api/till`)).json()) as TillJson;
      const { in: came = 0, out = 0 } = currencies.find(({ symbol }) => symbol === "PLN") ?? {};
      return Number(came) - Number(out);
    };
    await openAccount(page, { pesel: adult(16), first: "Ala", surname: "Kasowa", initial: "70.30" });
    await postTo(server.url, `user/${adult(16)}/withdrawals`, { amount: 20.2, currency: "PLN" });
    await page.getByRole("button", { name: "Till" }).click();
    const row = page.getByRole("row", { name: /^PLN/ });
    const cells = async () => (await row.getByRole("cell").allInnerTexts()).map((text) => text.trim());
    const expected = Math.round((await till()) * 100 + 10_010) / 100;
    await page.getByRole("textbox", { name: "Float PLN" }).fill("100,10");
    await page.getByRole("textbox", { name: "Counted PLN" }).fill(String(expected - 1));
    const shown = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2 }).format(expected);
    const [, , , expects, , difference] = await cells();
    assert.deepEqual([expects, difference], [shown, "−1.00 (shortage)"]);
    await page.evaluate(`globalThis.print = () => { document.title = "printed"; }`);
    await postTo(server.url, `user/${adult(16)}/withdrawals`, { amount: 1, currency: "PLN" });
    await page.getByRole("button", { name: "Print" }).click();
    await eventually(
      () => page.title(),
      (title) => title === "printed",
    );
    assert.equal((await cells())[5], "0.00");
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.getByRole("row", { name: /^AUD/ }).isVisible(), false);
    assert.deepEqual(
      [await row.isVisible(), await page.locator(".signatures span:visible").count()],
      [true, 2],
    );
    assert.equal(await page.getByRole("navigation").isVisible(), false);
    await page.emulateMedia({ media: null });
    await page.reload();
    await page.getByRole("button", { name: "Till" }).click();
    await row.waitFor();
    assert.equal((await cells())[5], "0.00");
    await page.getByRole("button", { name: "Polski" }).click();
    await page.getByRole("textbox", { name: "Policzono PLN" }).fill(String(expected - 1).replace(".", ","));
    assert.equal((await cells())[5], "0,00");
  });

  test("The sheet of the till says which amount cannot be read, and is not printed with it", async (t) => {
    const { page } = await visit(t, server.url);
    await page.getByRole("button", { name: "Till" }).click();
    const box = page.getByRole("textbox", { name: "Float EUR" });
    const print = page.getByRole("button", { name: "Print" });
    for (const [typed, fault] of [
      ["abc", /not an amount/],
      ["1,234", /thousands or decimals/],
    ] as const) {
      await box.fill(typed);
      await page.getByRole("status").getByText(fault).waitFor();
      assert.match(String(await box.getAttribute("aria-describedby")), /./);
      assert.deepEqual([await box.getAttribute("aria-invalid"), await print.isDisabled()], ["true", true]);
    }
    const [border, words] = await page.evaluate<string[]>(`{
      const box = document.querySelector("[aria-invalid=true]");
      const fault = document.getElementById(box.getAttribute("aria-describedby"));
      [getComputedStyle(box).borderColor, getComputedStyle(fault).color];
    }`);
    assert.equal(border, words);
    assert.match(String(words), /./);
    await box.fill("1234,5");
    assert.equal(await print.isDisabled(), false);
  });

  test("The page keeps a long name and the largest balance inside a phone's width", async (t) => {
    const { page } = await visit(t, server.url, { viewport: { width: 360, height: 800 } });
    const first = "Wolfeschlegelsteinhausenbergerdorff-Aleksandra";
    const surname = "Brzęczyszczykiewicz-Chrząszczyżewoszycka";
    await openAccount(page, { pesel: adult(13), first, surname, initial: "9999999999999.99" });
    await entriesOn(page, 1);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
  });

  test("The page shows the API under the page's policy, and asks it", async (t) => {
    const { page } = await visit(t, `${server.url}/docs`);
    await page.locator(".opblock-summary", { hasText: "/health/live" }).click();
    await page.getByRole("button", { name: "Try it out" }).click();
    await page.getByRole("button", { name: "Execute" }).click();
    await page.locator(".live-responses-table .response-col_status", { hasText: "200" }).waitFor();
  });
});

/** The parts that a printer gets. */
async function onPaper(page: Page) {
  await page.emulateMedia({ media: "print" });
  const { receipt, statement, rates } = parts(page);
  const seen = {
    receipt: await receipt.isVisible(),
    statement: await statement.isVisible(),
    rates: await rates.isVisible(),
    office: (await page.locator("address:visible").allInnerTexts()).join().replace(/\s+/g, " "),
    signatures: await page.locator(".signatures span:visible").count(),
  };
  await page.emulateMedia({ media: null });
  return seen;
}
