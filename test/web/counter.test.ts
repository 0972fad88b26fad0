import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Locator } from "playwright-core";
import { noBrowser, visit } from "../support/browser.ts";
import { adult } from "../support/fixture.ts";
import { runHere } from "../support/run-here.ts";
import {
  ask,
  balancesAre,
  balancesOn,
  entriesOn,
  fillTicket,
  find,
  holdBack,
  openAccount,
  parts,
  savedBy,
  suiteServer,
} from "./teller.ts";

/** The words with which the browser says why a form is not sent. */
const faultOf = (box: Locator) =>
  box.evaluate((input: { validationMessage?: string }) => input.validationMessage);

describe("the page for tellers", { skip: noBrowser }, () => {
  const server = suiteServer("--demo");

  test("The page says what is wrong with a PESEL while it is typed, and opens nothing", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const form = parts(page);
    await form.newAccount.click();
    await form.pesel.pressSequentially("8a");
    await page.getByText("11 digits").waitFor();
    await form.pesel.fill("");
    await form.pesel.pressSequentially("80010112341");
    await page.getByText("check digit").waitFor();
    await form.first.fill("Anna");
    await form.surname.fill("Nowak");
    await form.openAccount.click();
    assert.match(await form.alert.innerText(), /check digit/);
    await form.pesel.fill("8001011234");
    await form.openAccount.click();
    await form.alert.getByText("11 digits").waitFor();
    await form.pesel.fill("20210112340");
    await form.openAccount.click();
    assert.equal(await form.alert.count(), 1);
    assert.equal(changes().length, 0);
  });

  test("A PESEL that has an account is told as soon as it is typed, and its account is one click away", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const form = parts(page);
    await form.newAccount.click();
    await form.pesel.fill("80010112340");
    await page.getByText("This PESEL has an account already.").waitFor();
    await form.first.fill("Anna");
    await form.surname.fill("Nowak");
    await form.openAccount.click();
    assert.match(await form.alert.innerText(), /has an account/);
    await page.getByRole("button", { name: "Show the account", exact: true }).click();
    await form.balances.waitFor();
    assert.equal(changes().length, 0);
  });

  test("The page asks before it opens an account with cash, and then shows its receipt", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const form = parts(page);
    await form.newAccount.click();
    await form.pesel.fill(adult(25));
    await form.first.fill("Ewa");
    await form.surname.fill("Wpłata");
    await form.initial.fill("10 000,50");
    await form.initial.press("Enter");
    await page.getByRole("form", { name: "Opening" }).getByText("+10,000.50 PLN").waitFor();
    await form.initial.press("Enter");
    assert.equal(changes().length, 0);
    await form.doIt.click();
    await form.receipt.getByText("10,000.50 PLN").first().waitFor();
    assert.equal(changes().length, 1);
  });

  test("The page exchanges both ways, and shows the receipts and the new balances", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { confirm, receipt } = parts(page);
    await openAccount(page, { pesel: adult(2), first: "Adam", surname: "Bąk", initial: "10000" });
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "1 000,50" });
    await confirm.click();
    await receipt.getByText("Customer received").waitFor();
    const told =
      /Customer paid\s*[\d,.]+\sPLN\s*Customer received\s*1,000\.50\sUSD\s*Rate\s*1\sUSD = [\d.]+\sPLN/;
    assert.match(await receipt.innerText(), told);
    await balancesAre(page, { USD: "1,000.50" });
    await ask(page, { from: "USD", to: "PLN", side: "Sell", amount: "1000.50" });
    const answer = await holdBack(page, (url) => url.pathname.startsWith("/api/exchange"));
    await confirm.click();
    await page.getByText("Sent. Waiting for the answer…").waitFor();
    await answer();
    assert.equal(await entriesOn(page, 3), 3);
    await balancesAre(page, { USD: "0.00" });
    const { PLN } = await balancesOn(page);
    assert.ok(Number(PLN?.replaceAll(",", "")) < 10_000, `${PLN} after the spread`);
    assert.deepEqual(
      changes().map((request) => request.method()),
      ["POST", "POST", "POST"],
    );
  });

  test("The page quotes while one types, sends nothing before it is confirmed, and keeps the price in its place", async (t) => {
    const { page, changes } = await visit(t, server.url);
    await find(page, "80010112340", "Anna Nowak");
    const ticket = page.locator("section.ticket");
    const place = await ticket.boundingBox();
    const answer = await holdBack(page, (url) => url.pathname === "/api/quote");
    await fillTicket(page, { from: "PLN", to: "EUR", side: "Sell", amount: "100" });
    await ticket.getByText("Pricing…").waitFor();
    await answer();
    await ticket.getByText(/100\.00\s*PLN/).waitFor();
    assert.deepEqual(await ticket.boundingBox(), place);
    assert.equal(changes().length, 0);
  });

  test("The page says what is wrong with an amount or a pair, with Exchange never disabled, and asks for no price", async (t) => {
    const { page, requests } = await visit(t, server.url);
    const { exchange, alert, confirm } = parts(page);
    await find(page, "80010112340", "Anna Nowak");
    const wrong = [
      ["USD", "", "Type an amount"],
      ["USD", "ten", "not an amount"],
      ["USD", "1.234", "thousands or decimals"],
      ["USD", "0", "more than 0"],
      ["USD", "-5", "more than 0"],
      ["USD", "1.9999", "at most 2 decimals"],
      ["JPY", "1.5", "must be whole"],
      ["USD", "99999999999999999", "too large"],
      ["PLN", "1", "two different currencies"],
    ] as const;
    for (const [to, amount, words] of wrong) {
      // On a slow machine the amount before would be priced in the next currency.
      await parts(page).amount.fill("");
      await fillTicket(page, { from: "PLN", to, side: "Buy", amount });
      assert.equal(await alert.count(), 0, `${amount} ${to}`);
      assert.equal(await exchange.isDisabled(), false);
      await exchange.click();
      await alert.getByText(words).waitFor();
    }
    assert.equal(await confirm.count(), 0);
    assert.ok(!requests.some((request) => request.url().includes("/api/quote")));
  });

  test("The page refuses what the account has not enough money for, and takes the next order", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { exchange, confirm, alert } = parts(page);
    await openAccount(page, { pesel: adult(3), first: "Ewa", surname: "Zając", initial: "10" });
    await fillTicket(page, { from: "PLN", to: "USD", side: "Buy", amount: "1000" });
    await exchange.click();
    assert.match(await alert.innerText(), /not enough/i);
    await page.locator(".asked:focus").waitFor();
    assert.equal(await page.locator("button.primary", { hasText: "Confirm" }).count(), 0);
    assert.equal(await parts(page).receipt.count(), 0, "the receipt of the order before");
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "1" });
    assert.equal(await alert.count(), 0);
    await confirm.click();
    assert.equal(await entriesOn(page, 2), 2);
    assert.equal(changes().length, 2);
  });

  test("The page finds an account by PESEL and by name, and says when there is none", async (t) => {
    const { page } = await visit(t, server.url);
    const { search, alert } = parts(page);
    await find(page, "750615 98768", "Jan Kowalski");
    await find(page, "wisniewska", "Zofia Wiśniewska");
    await search.fill("Nikt Taki");
    await search.press("Enter");
    assert.match(await alert.innerText(), /No account/);
    await search.fill("02291234563");
    await search.press("Enter");
    assert.match(await alert.innerText(), /check digit|PESEL/);
  });

  test("A search closes the account before it, whatever it finds", async (t) => {
    const { page } = await visit(t, server.url);
    const { search, alert, amount } = parts(page);
    for (const nobody of ["Nikt Taki", adult(26), "02291234563", "0229123456", "ab"]) {
      await find(page, "wisniewska", "Zofia Wiśniewska");
      await search.fill(nobody);
      await search.press("Enter");
      await alert.waitFor();
      await page.getByText("Look for a customer").waitFor();
      assert.equal(await amount.count(), 0);
    }
  });

  test("The page offers several accounts of one name to choose from, and says which is damaged", async (t) => {
    const { page } = await visit(t, server.url);
    const { search } = parts(page);
    await openAccount(page, { pesel: adult(4), first: "Ewa", surname: "Bliźniak" });
    await openAccount(page, { pesel: adult(5), first: "Iga", surname: "Bliźniak" });
    await search.fill("Bliźniak");
    await search.press("Enter");
    const found = page.getByRole("list", { name: "Accounts found" });
    await found.getByRole("button", { name: "Iga" }).waitFor();
    assert.equal(await found.getByRole("button").count(), 2);
    await found.getByRole("button", { name: "Ewa" }).click();
    await page.getByRole("heading", { name: "Ewa Bliźniak" }).waitFor();
    await page.route("**/api/users?**", async (route) => {
      const response = await route.fetch();
      const { users } = await response.json();
      users[1] = { ...users[1], damaged: true };
      await route.fulfill({ response, json: { users, next: "cursor" } });
    });
    await search.fill("Bliźniak");
    await search.press("Enter");
    await page.getByText("More accounts have this name").waitFor();
    await found.getByRole("button", { name: "Iga Bliźniak · This account is damaged." }).waitFor();
    assert.equal(await found.getByText("damaged").count(), 1);
  });

  test("The page shows every currency of the table with its trend, in one request for all of them, and the history of one", async (t) => {
    const { page, requests } = await visit(t, server.url);
    const { rates } = parts(page);
    const { rates: served } = (await (await fetch(`${server.url}/api/rates`)).json()) as {
      rates: { symbol: string; bid: number }[];
    };
    await rates.getByRole("rowheader").first().waitFor();
    assert.deepEqual(
      await rates.getByRole("rowheader").allInnerTexts(),
      served.map(({ symbol }) => symbol),
    );
    await rates
      .locator("polyline")
      .nth(served.length - 1)
      .waitFor();
    assert.equal(requests.filter((request) => request.url().includes("/history")).length, 1);
    await rates.getByRole("button", { name: "USD" }).click();
    const history = page.getByRole("region", { name: "History of USD" });
    await history.locator(".plot svg").waitFor();
    assert.match(await history.innerText(), /Bid[\s\S]*Ask/);
  });

  test("The page takes deposits and withdrawals, reverses an order, and changes a name", async (t) => {
    const { page } = await visit(t, server.url);
    const { confirm, receipt, statement } = parts(page);
    await openAccount(page, { pesel: adult(6), first: "Ola", surname: "Nowa", initial: "100" });
    await page.getByText("Cash and corrections").click();
    for (const what of ["Deposit", "Withdraw"]) {
      await page.getByRole("textbox", { name: "Sum" }).fill(what === "Deposit" ? "50" : "20");
      await page.getByRole("button", { name: what }).click();
      await page.getByRole("button", { name: "Yes, do it" }).click();
      await receipt.getByText(what === "Deposit" ? "Paid in" : "Paid out", { exact: true }).waitFor();
    }
    await balancesAre(page, { PLN: "130.00" });
    await ask(page, { from: "PLN", to: "USD", side: "Sell", amount: "100" });
    await confirm.click();
    assert.equal(await entriesOn(page, 4), 4);
    await balancesAre(page, { PLN: "30.00" });
    await statement.getByRole("button", { name: /^Reverse Exchange, 100\.00\sPLN, [\d.]+\sUSD, / }).click();
    const reason = page.getByRole("textbox", { name: "Reason" });
    await reason.fill("   ");
    await reason.press("Enter");
    assert.equal(await faultOf(reason), "Type the reason first.");
    await reason.fill("mistyped");
    await page.getByRole("button", { name: "Yes, do it" }).click();
    assert.equal(await entriesOn(page, 5), 5);
    await balancesAre(page, { PLN: "130.00", USD: "0.00" });
    const surname = page.getByRole("textbox", { name: "New surname" });
    for (const [typed, fault] of [
      ["", "Type the first name and the surname."],
      ["  ", "Type the first name and the surname."],
      ["Nowa ", "The account has this name already."],
    ] as const) {
      await surname.fill(typed);
      await surname.press("Enter");
      await page.locator("input:focus:invalid").waitFor();
      assert.equal(await faultOf(surname), fault);
    }
    assert.equal(await page.locator(".asked").count(), 0);
    await surname.fill("Inna");
    await surname.press("Enter");
    await page.locator(".asked").getByText("Ola Inna").waitFor();
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await page.getByRole("heading", { name: "Ola Inna" }).waitFor();
  });

  test("The page shows a receipt beside the ticket, and again from the statement", async (t) => {
    const { page } = await visit(t, server.url);
    const { receipt, statement, exchange } = parts(page);
    await find(page, "80010112340", "Anna Nowak");
    await statement
      .getByRole("button", { name: /^Receipt/ })
      .first()
      .click();
    await receipt.waitFor();
    const [one, other] = await Promise.all([receipt.boundingBox(), exchange.boundingBox()]);
    assert.ok(one !== null && other !== null);
    const apart =
      one.y >= other.y + other.height ||
      other.y >= one.y + one.height ||
      one.x >= other.x + other.width ||
      other.x >= one.x + one.width;
    assert.ok(apart, "the receipt covers the ticket");
    await exchange.click();
    await receipt.getByRole("button", { name: "Close" }).click();
    assert.equal(await receipt.count(), 0);
  });

  test("The page saves the statement as camt.053, of the period that is typed, and tells a refusal and an answer of something else", async (t) => {
    const { page } = await visit(t, server.url);
    await find(page, "80010112340", "Anna Nowak");
    const { name, text } = await savedBy(page.getByRole("button", { name: "Save as camt.053" }));
    assert.equal(name, "statement Anna Nowak.xml");
    assert.match(text, /<Nm>Anna Nowak<\/Nm>[\s\S]*<\/Document>\n$/);
    await page.route("**/statement?**", (route) =>
      route.fulfill({ contentType: "text/html", body: "<h1>Sign in</h1>" }),
    );
    await page.getByRole("button", { name: "Save as camt.053" }).click();
    await page.getByRole("alert").filter({ hasText: "No answer came" }).waitFor();
    await page.unroute("**/statement?**");
    await page.getByLabel("Since").fill("2999-01-01");
    await page.getByRole("button", { name: "Save as camt.053" }).click();
    await page.getByRole("alert").filter({ hasText: "must not be in the future" }).waitFor();
  });

  test("The page saves the statement as the CSV that the command prints", async (t) => {
    const { page } = await visit(t, server.url);
    await find(page, "80010112340", "Anna Nowak");
    const { name, text } = await savedBy(page.getByRole("button", { name: "CSV" }));
    assert.equal(name, "statement Anna Nowak.csv");
    const printed = await runHere(["account", "history", "80010112340", "--format", "csv"], {
      env: { FX_URL: server.url },
    });
    assert.equal(text, printed.stdout);
  });
});
