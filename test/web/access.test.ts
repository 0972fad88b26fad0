import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Locator } from "playwright-core";
import { FxError } from "../../src/core/errors.ts";
import { encodeProblem } from "../../src/wire/problem.ts";
import { noBrowser, visit } from "../support/browser.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";
import { ask, entriesOn, find, leaveAlone, openAccount, parts, savedBy, suiteServer } from "./teller.ts";

/** Everything that the browser keeps of a page's origin, its address and title included. */
const kept = `(async () => JSON.stringify([
  location.href, document.title, history.state, document.cookie, window.name,
  { ...localStorage }, { ...sessionStorage },
  await indexedDB.databases(), await caches.keys(),
  (await navigator.serviceWorker?.getRegistrations() ?? []).length,
]))()`;

describe("what a teller does on the page", { skip: noBrowser }, () => {
  const server = suiteServer("--rates", "demo", "--log-level", "debug");

  test("The page leaves no PESEL and no name in the address, title, history, storage or log", async (t) => {
    const { page } = await visit(t, server.url);
    const { confirm, statement, receipt, search } = parts(page);
    const pesel = adult(51);
    await openAccount(page, { pesel, first: "Świętopełk", surname: "Brzęczyszczykiewicz" });
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    await confirm.click();
    await entriesOn(page, 2);
    await statement
      .getByRole("button", { name: /^Receipt/ })
      .last()
      .click();
    await receipt.waitFor();
    const { name: file } = await savedBy(page.getByRole("button", { name: "CSV" }));
    await search.fill("Brzęczyszczykiewicz");
    await search.press("Enter");
    await search.fill("12345678901");
    await search.press("Enter");
    await parts(page).alert.waitFor();
    const session = await page.context().newCDPSession(page);
    const { entries } = await session.send("Page.getNavigationHistory");
    const { stdout, stderr } = server.output();
    const left = [String(await page.evaluate(kept)), JSON.stringify(entries), stdout, stderr].join("\n");
    assert.doesNotMatch(file, /\d{6}/);
    assert.match(stderr, /api\/exchange/);
    for (const secret of [pesel, pesel.slice(0, 6), "12345678901", "Brzęczyszczykiewicz", "Świętopełk"]) {
      assert.ok(!left.includes(secret), `${secret} is in ${left}`);
      assert.ok(!left.includes(encodeURIComponent(secret)), `${secret} is in ${left}`);
    }
    assert.equal(entries.length, 2, "about:blank and the page");
  });

  test("The page needs a policy that lets nothing in line run and nothing from elsewhere in", async () => {
    const response = await fetch(server.url);
    const policy = response.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*|data:/);
    assert.doesNotMatch(await response.text(), /<style|\sstyle=|\son\w+=|<script>/);
  });

  test("The page is locked after some idle minutes, and goes on when somebody is there", async (t) => {
    const { page } = await visit(t, server.url);
    await openAccount(page, { pesel: adult(52), first: "Jan", surname: "Bezczynny" });
    await leaveAlone(page, 9);
    assert.equal(await page.getByRole("heading", { name: "Jan Bezczynny" }).count(), 1);
    await page.keyboard.press("Shift");
    await leaveAlone(page, 9);
    assert.equal(await page.getByRole("heading", { name: "Jan Bezczynny" }).count(), 1);
    await leaveAlone(page, 2);
    await page.getByRole("heading", { name: "Locked" }).waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /Bezczynny|1,000/);
    await page.getByRole("button", { name: "Go on" }).click();
    await parts(page).search.waitFor();
  });
});

const folder = newFolder();

describe("the page of a server that takes tokens", { skip: noBrowser }, () => {
  let server: Served;
  const tokens: Record<string, string> = {};
  before(async () => {
    const file = join(folder, "tokens.json");
    for (const role of ["viewer", "teller", "operator"]) {
      const { stdout } = await runHere(["token", "create", `a-${role}`, "--role", role, "--tokens", file]);
      tokens[role] = stdout.trim();
    }
    server = await startFx(["--demo", "--tokens", file]);
  });
  after(() => server?.stop());

  async function enter(page: Awaited<ReturnType<typeof visit>>["page"], token = ""): Promise<void> {
    await page.getByLabel("Access token").fill(token);
    await page.getByRole("button", { name: "Enter" }).click();
  }
  const anna = "80010112340";

  /** Waits until what is typed goes into this box. */
  const hasFocus = (box: Locator) => box.and(box.page().locator(":focus")).waitFor();

  test("The page asks for a token, says when it is wrong, and asks again", async (t) => {
    const { page, requests } = await visit(t, server.url);
    await page.getByLabel("Access token").waitFor();
    assert.equal(await page.getByLabel("Access token").getAttribute("type"), "password");
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.equal(await parts(page).rates.count(), 0);
    await enter(page, "fxt_wrong");
    await page.getByRole("alert").getByText("does not accept this token").waitFor();
    await hasFocus(page.getByLabel("Access token"));
    await page.getByRole("button", { name: "Polski" }).click();
    await page.getByLabel("Token dostępu").waitFor();
    await page.getByRole("button", { name: "English" }).click();
    await page.getByLabel("PIN to unlock with (optional)").fill("12");
    await enter(page, tokens.teller);
    const said = await page
      .locator("input:focus:invalid")
      .evaluate((input) => (input as unknown as { validationMessage: string }).validationMessage);
    assert.equal(said, "A PIN has at least 4 characters.");
    await page.getByLabel("PIN to unlock with (optional)").fill("");
    await enter(page, tokens.teller);
    await page.locator("main:focus").waitFor();
    await parts(page).search.waitFor();
    assert.ok(!requests.some((request) => request.url().includes("fxt_")));
  });

  test("The page keeps the token for the tab only, through a reload, until it is locked", async (t) => {
    const { page, anotherTab } = await visit(t, server.url);
    await enter(page, tokens.teller);
    await parts(page).search.waitFor();
    await page.reload();
    await parts(page).search.waitFor();
    assert.ok(
      !String(await page.evaluate("JSON.stringify({ ...localStorage }) + document.cookie")).includes("fxt_"),
    );
    const other = await anotherTab();
    await other.getByLabel("Access token").waitFor();
    await page.getByRole("button", { name: "Lock" }).click();
    await page.getByLabel("Access token").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.ok(!String(await page.evaluate(kept)).includes("fxt_"));
    assert.ok(!server.output().stderr.includes(String(tokens.teller)));
    await page.reload();
    await page.getByLabel("Access token").waitFor();
    await enter(page, tokens.teller);
    await parts(page).search.waitFor();
  });

  test("The page takes the token away, too, when it is locked for idleness", async (t) => {
    const { page } = await visit(t, server.url);
    await enter(page, tokens.teller);
    await parts(page).search.waitFor();
    await find(page, anna, "Anna Nowak");
    await leaveAlone(page, 11);
    await page.getByLabel("Access token").waitFor();
    assert.ok(!String(await page.evaluate(kept)).includes("fxt_"));
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.doesNotMatch(await page.locator("body").innerText(), /Nowak/);
  });

  test("The page is unlocked with the PIN that came with the token, shows the customer again, and asks for the token after three wrong PINs", async (t) => {
    const { page } = await visit(t, server.url);
    const lock = page.getByRole("button", { name: "Lock" });
    const pin = page.getByRole("textbox", { name: "PIN", exact: true });
    const unlock = page.getByRole("button", { name: "Go on", exact: true });
    await page.getByLabel("PIN to unlock with (optional)").fill("4711");
    await enter(page, tokens.teller);
    await find(page, anna, "Anna Nowak");
    await parts(page).amount.fill("12");
    await lock.click();
    await hasFocus(pin);
    assert.ok(!String(await page.evaluate(kept)).includes("fxt_"));
    assert.doesNotMatch(await page.locator("body").innerText(), /Nowak/);
    await pin.fill("1234");
    await unlock.click();
    await parts(page).alert.getByText("2 attempts are left").waitFor();
    await page.reload();
    await pin.fill("4711");
    await unlock.click();
    await find(page, anna, "Anna Nowak");
    await parts(page).amount.fill("12");
    await lock.click();
    await pin.fill("4711");
    await unlock.click();
    await page.getByRole("heading", { name: "Anna Nowak" }).waitFor();
    assert.equal(await parts(page).amount.inputValue(), "12");
    await lock.click();
    for (const [wrong, told] of [
      ["1111", "2 attempts are left"],
      ["2222", "One attempt is left"],
      ["3333", "wrong three times"],
    ] as const) {
      await pin.fill(wrong);
      await unlock.click();
      await parts(page).alert.getByText(told).waitFor();
      await page.locator(".lock [aria-busy=true]").waitFor({ state: "detached" });
    }
    await hasFocus(page.getByLabel("Access token"));
    await enter(page, tokens.teller);
    await page.getByRole("heading", { name: "Anna Nowak" }).waitFor();
  });

  test("The page does not show another teller the customer and the ticket of the one before, but an order without an answer", async (t) => {
    const { page } = await visit(t, server.url);
    const { amount, confirm, alert } = parts(page);
    await enter(page, tokens.teller);
    await find(page, "75061598768", "Jan Kowalski");
    await amount.fill("13");
    await find(page, anna, "Anna Nowak");
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "12" });
    await page.route("**/api/exchange/*", (route) => route.abort());
    await confirm.click();
    await alert.getByText("not known").waitFor();
    await page.getByRole("button", { name: "Lock" }).click();
    await enter(page, tokens.operator);
    await page.locator(".banner", { hasText: /Exchange · Anna Nowak.* · a-teller Show/ }).waitFor();
    await find(page, "75061598768", "Jan Kowalski");
    assert.equal(await amount.inputValue(), "");
    await page.getByRole("button", { name: "Show" }).click();
    await alert.getByText("not known").waitFor();
    await page.locator(".asked").getByText("+12.00 USD").waitFor();
  });

  test("A teller behind an operator's PIN signs in, and is told whose entry of the house is not settled", async (t) => {
    const { page } = await visit(t, server.url);
    const { doIt } = parts(page);
    await page.getByLabel("PIN to unlock with (optional)").fill("4711");
    await enter(page, tokens.operator);
    await page.getByRole("button", { name: "Position" }).click();
    const form = page.locator("form", { hasText: "The house's own money" });
    await form.getByLabel("Sum").fill("1");
    await form.getByRole("button", { name: "Put in" }).click();
    await page.route("**/api/house/deposits", (route) => route.abort());
    await doIt.click();
    await page.getByRole("alert").getByText("not known").waitFor();
    await page.getByRole("button", { name: "Lock" }).click();
    await page.getByRole("button", { name: "Use another token" }).click();
    await enter(page, tokens.teller);
    const banner = page.locator(".banner", { hasText: "The drawer" });
    assert.match(await banner.innerText(), /\+1\.00\sPLN · a-operator\s*$/);
  });

  test("The page announces that a token expires within a day, and not before", async (t) => {
    const { page } = await visit(t, server.url);
    const banner = page.locator(".banner", { hasText: "Your token expires on" });
    let hours = 25;
    await page.route("**/api/token", async (route) => {
      const answer = (await (await route.fetch()).json()) as object;
      const expires = new Date(Date.now() + hours * 3_600_000).toISOString();
      await route.fulfill({ json: { ...answer, expires } });
    });
    await page.getByLabel("Access token").waitFor();
    await enter(page, tokens.teller);
    await parts(page).search.waitFor();
    assert.equal(await banner.count(), 0);
    hours = 23;
    await page.reload();
    await banner.waitFor();
  });

  test("The page shows a viewer accounts and statements, and nothing that changes them", async (t) => {
    const { page } = await visit(t, server.url);
    const { exchange, newAccount, balances, amount } = parts(page);
    await enter(page, tokens.viewer);
    const { search, alert } = parts(page);
    await search.fill("Nowak");
    await search.press("Enter");
    await alert.getByText("Type a whole PESEL.").waitFor();
    await find(page, anna, "Anna Nowak");
    await balances.waitFor();
    await entriesOn(page, 3);
    for (const part of [exchange, newAccount, amount]) assert.equal(await part.count(), 0);
    assert.equal(await page.getByText("Cash and corrections").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Reverse" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Position" }).count(), 0);
  });

  test("The page shows a teller the ticket, and nothing of an operator's", async (t) => {
    const { page } = await visit(t, server.url);
    const { confirm, receipt } = parts(page);
    await enter(page, tokens.teller);
    await find(page, anna, "Anna Nowak");
    for (const name of ["Reverse", "Position", "Audit"]) {
      assert.equal(await page.getByRole("button", { name }).count(), 0);
    }
    await ask(page, { from: "PLN", to: "CHF", side: "Buy", amount: "1" });
    await confirm.click();
    await receipt.getByText("a-teller").waitFor();
  });

  test("The page shows an operator the position, and the audit, which agrees", async (t) => {
    const { page } = await visit(t, server.url);
    await enter(page, tokens.operator);
    await page.getByRole("button", { name: "Position" }).click();
    await page.getByRole("rowheader", { name: "EUR" }).waitFor();
    await page.getByRole("button", { name: "Audit" }).click();
    await page.getByRole("button", { name: "Run the audit" }).click();
    await page.getByText("The books agree").waitFor();
    assert.match(await page.locator("dl.tiles").innerText(), /Discrepancies\s+0\s+Duration\s+[\d.]+s/);
  });

  test("The page keeps its new token when the server refuses the earlier one, with which an audit was begun", async (t) => {
    const { page } = await visit(t, server.url);
    await enter(page, tokens.operator);
    await page.getByRole("button", { name: "Audit" }).click();
    let refuse = async () => {};
    await page.route("**/api/audit/checkpoint", (route) => {
      const problem = encodeProblem(new FxError("unauthorized", "The token is not valid."), "r-1");
      refuse = () => route.fulfill({ status: 401, json: problem });
    });
    const asked = page.waitForRequest("**/api/audit/checkpoint");
    await page.getByRole("button", { name: "Run the audit" }).click();
    await asked;
    await page.getByRole("button", { name: "Lock" }).click();
    await enter(page, tokens.teller);
    // A teller has no view of audits: the page shows the counter.
    const goesOn = page.getByText("Still running: Audit");
    await goesOn.waitFor();
    await refuse();
    await goesOn.waitFor({ state: "detached" });
    await find(page, anna, "Anna Nowak");
  });
});
