import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Page } from "playwright-core";
import { FxError } from "../../src/core/errors.ts";
import { encodeProblem } from "../../src/wire/problem.ts";
import { noBrowser, visit } from "../support/browser.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import {
  ask,
  balancesAre,
  balancesOn,
  drawn,
  entriesOn,
  eventually,
  fillTicket,
  find,
  holdBack,
  leaveAlone,
  openAccount,
  parts,
  postTo,
  savedBy,
  suiteServer,
} from "./teller.ts";

const anna = { pesel: "80010112340", name: "Anna Nowak" };
const jan = { pesel: "75061598768", name: "Jan Kowalski" };

/** Does what a browser's translation does: replaces every text with elements that hold it. */
const translate = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const outer = document.createElement("font");
    const inner = document.createElement("font");
    inner.textContent = text.data;
    outer.append(inner);
    text.replaceWith(outer);
  }
})()`;

describe("answers that come late, and work that is left", { skip: noBrowser }, () => {
  const server = suiteServer("--demo");

  const post = (path: string, body: object) => postTo(server.url, path, body);

  for (const first of [anna.pesel, "nowak"]) {
    test(`The customer who is shown is the one searched for last, when that of ${first.length} characters comes late`, async (t) => {
      const { page } = await visit(t, server.url);
      const { search } = parts(page);
      const release = await holdBack(
        page,
        ({ pathname, searchParams }) => pathname.endsWith(`/${first}`) || searchParams.get("name") === first,
      );
      const asked = page.waitForRequest((request) => new RegExp(`(/|name=)${first}`).test(request.url()));
      await search.fill(first);
      await search.press("Enter");
      await asked;
      await find(page, jan.pesel, jan.name);
      await release();
      assert.equal(await page.getByRole("heading", { name: anna.name }).count(), 0);
      assert.equal(await page.getByRole("heading", { name: jan.name }).count(), 1);
    });
  }

  test("A statement has the entries of its own period above and below, on the screen and on paper", async (t) => {
    const { page } = await visit(t, server.url);
    const { since, until } = parts(page);
    await page.evaluate(`globalThis.printed = []; globalThis.print = () => {
      const seen = document.querySelector(".statement");
      printed.push({ ends: seen.querySelector(".ends")?.innerText ?? "", rows: seen.querySelectorAll("tbody tr").length });
      dispatchEvent(new Event("afterprint"));
    };`);
    await find(page, anna.pesel, anna.name);
    await entriesOn(page, 3);
    const release = await holdBack(page, ({ searchParams }) => searchParams.get("limit") === "200");
    const whole = page.waitForRequest(/limit=200(?!.*cursor)/);
    await page.locator(".statement").getByRole("button", { name: "Print" }).click();
    await whole;
    await until.fill("2020-12-31");
    await release();
    await entriesOn(page, 0);
    assert.deepEqual(await page.evaluate("printed"), [], "it was printed after the period had changed");
    const late = await holdBack(page, ({ searchParams }) => searchParams.get("from") === "2020-01-01");
    const asked = page.waitForRequest(/from=2020-01-01&to=2020-12-31/);
    await since.fill("2020-01-01");
    await asked;
    await since.fill("");
    await until.fill("");
    await entriesOn(page, 3);
    await late();
    await since.fill("2021-01-01");
    const ends = /Opening balance – Closing balance 6,677\.25 PLN · 250\.50 EUR · 500\.00 USD/;
    await eventually(
      async () => (await page.locator(".ends").innerText()).replace(/\s+/g, " "),
      (text) => ends.test(text),
    );
    await entriesOn(page, 3);
    await page.locator(".statement").getByRole("button", { name: "Print" }).click();
    const [printed] = await eventually(
      () => page.evaluate("printed") as Promise<{ ends: string; rows: number }[]>,
      ({ length }) => length > 0,
    );
    assert.equal(printed?.rows, 3);
    assert.match(printed?.ends ?? "", /Since 1 Jan 2021/);
    for (const [day, shown] of [
      ["2021-02-01", "Since 1 Feb 2021"],
      ["2021-01-01", "Since 1 Jan 2021"],
    ] as const) {
      await since.fill(day);
      await page.locator(".ends", { hasText: shown }).waitFor();
    }
    for (let frames = 0; frames < 3; frames += 1) await drawn(page);
    assert.equal(await page.evaluate("printed.length"), 1, "it was printed again without a click");
  });

  test("An exchange on an account that was blocked meanwhile is told as refused, beside the block", async (t) => {
    const { page } = await visit(t, server.url);
    const pesel = adult(74);
    await openAccount(page, { pesel, first: "Ewa", surname: "Zablokowana", initial: "1000" });
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    await postTo(server.url, `user/${pesel}/block`, { reason: "a freeze" });
    await parts(page).confirm.click();
    await page.getByText("Blocked since").waitFor();
    await page.getByRole("alert").filter({ hasText: "blocked: nothing leaves it" }).waitFor();
    await page.locator("main:focus").waitFor();
  });

  test("A tab reads again on focus, on search and before Confirm what another tab has changed, and refuses nothing by itself", async (t) => {
    const { page, anotherTab } = await visit(t, server.url);
    const pesel = adult(71);
    const name = "Ewa Dwiekarty";
    await openAccount(page, { pesel, first: "Ewa", surname: "Dwiekarty", initial: "1000" });
    const other = await anotherTab();
    await find(other, pesel, name);
    const exchange = async (tab: Page, count: number) => {
      await ask(tab, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
      await parts(tab).confirm.click();
      await entriesOn(tab, count);
    };
    await exchange(page, 2);
    assert.deepEqual(await balancesOn(other), { PLN: "1,000.00" });
    await other.evaluate(`dispatchEvent(new Event("focus"))`);
    await balancesAre(other, { USD: "10.00" });
    await entriesOn(other, 2);
    await exchange(page, 3);
    await find(other, pesel, name);
    await balancesAre(other, { USD: "20.00" });
    await exchange(page, 4);
    await ask(other, { from: "USD", to: "PLN", side: "Sell", amount: "30" });
    assert.match((await other.locator(".asked").innerText()).replace(/\s+/g, " "), /30\.00 → 0\.00 USD/);
    assert.equal(await parts(other).alert.count(), 0);
    await parts(other).confirm.click();
    await entriesOn(other, 5);
    await page.evaluate(`dispatchEvent(new Event("focus"))`);
    await entriesOn(page, 5);
    await balancesAre(other, { USD: "0.00" });
    await balancesAre(page, await balancesOn(other));
  });

  test("An order of unknown outcome keeps its key in another view, with another customer and under the lock", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { confirm, alert } = parts(page);
    const pesel = adult(72);
    await openAccount(page, { pesel, first: "Iga", surname: "Klucz" });
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    await page.route("**/api/exchange/*", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await confirm.click();
    await alert.getByText("not known").waitFor();
    await page.unroute("**/api/exchange/*");
    const told = page
      .getByRole("status")
      .getByText("not known yet whether this was done: Exchange · Iga Klucz");
    await page.getByRole("button", { name: "Position" }).click();
    await told.waitFor();
    await page.getByRole("button", { name: "Counter" }).click();
    await alert.getByText("not known").waitFor();
    await find(page, anna.pesel, anna.name);
    await told.waitFor();
    await leaveAlone(page, 11);
    await page.getByRole("button", { name: "Go on" }).click();
    await told.waitFor();
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("heading", { name: "Iga Klucz" }).waitFor();
    await confirm.click();
    await entriesOn(page, 2);
    await balancesAre(page, { USD: "10.00" });
    const keys = changes().map((request) => request.headers()["idempotency-key"]);
    assert.deepEqual([keys.length, new Set(keys).size], [3, 2]);
    assert.equal(await told.count(), 0);
  });

  test("The outcome of an order whose customer is not in sight is told until it is shown or closed", async (t) => {
    const { page } = await visit(t, server.url);
    const form = parts(page);
    await openAccount(page, { pesel: adult(96), first: "Ida", surname: "Odeszła" });
    await page.getByText("Cash and corrections").click();
    const cash = async (button: string, sum: string) => {
      await page.getByRole("textbox", { name: "Sum" }).fill(sum);
      await page.getByRole("button", { name: button, exact: true }).click();
      await form.doIt.waitFor();
      const letGo = await holdBack(
        page,
        ({ pathname }) => pathname.endsWith("s") && pathname.includes(adult(96)),
      );
      await form.doIt.click();
      await page.getByRole("button", { name: "Till", exact: true }).click();
      await letGo();
    };
    const told = page.locator(".banner", { hasText: "Ida Odeszła" });
    const show = page.getByRole("button", { name: "Show" });
    await cash("Withdraw", "5000");
    await told.getByText(/Refused: Withdrawal · Ida Odeszła · −5,000\.00\sPLN\. ./).waitFor();
    await show.click();
    await form.alert.waitFor();
    assert.equal(await told.count(), 0);
    await cash("Deposit", "7");
    await told.getByText("Done: Deposit · Ida Odeszła · +7.00 PLN").waitFor();
    await show.click();
    await form.receipt.getByText("7.00").first().waitFor();
    await page.getByRole("button", { name: "Till", exact: true }).click();
    assert.equal(await told.count(), 0);
    await page.getByRole("button", { name: "Counter", exact: true }).click();
    await cash("Deposit", "8");
    await told.getByRole("button", { name: "Close" }).click();
    assert.equal(await told.count(), 0);
  });

  test("What was done is told until its receipt is read, beside an account that cannot be read, too", async (t) => {
    const { page } = await visit(t, server.url);
    const { newAccount, openAccount: open, receipt, doIt, ...box } = parts(page);
    const told = page.locator("main").getByRole("status");
    /** Confirms, and loses all answers after that. */
    const confirm = async () => {
      let isDone = false;
      await page.route("**/api/**", async (route) => {
        if (isDone) return route.abort();
        isDone = route.request().method() === "POST";
        await route.continue();
      });
      await doIt.click();
    };
    const readAgain = async () => {
      await page.unroute("**/api/**");
      await page.evaluate(`dispatchEvent(new Event("focus"))`);
      await receipt.waitFor();
      assert.equal(await told.filter({ hasText: "Done" }).count(), 0);
    };
    await newAccount.click();
    await box.pesel.fill(adult(97));
    await box.first.fill("Iza");
    await box.surname.fill("Pewna");
    await box.initial.fill("700");
    await open.click();
    await confirm();
    await told.getByText("Done: Opening · Iza Pewna · +700.00 PLN").waitFor();
    await readAgain();
    await page.getByText("Cash and corrections").click();
    await page.getByRole("textbox", { name: "Sum" }).fill("60");
    await page.getByRole("button", { name: "Deposit" }).click();
    await confirm();
    await told.getByText("Done: Deposit · Iza Pewna · +60.00 PLN").waitFor();
    assert.equal(await page.locator(".banner", { hasText: "Done" }).count(), 0);
    await readAgain();
  });

  test("What was put in at the bank is told where it was, after a lock and by Show", async (t) => {
    const { page } = await visit(t, server.url);
    const { receipt, doIt } = parts(page);
    const where = page.getByLabel("Where");
    const putIn = async (sum: string, goOn: () => Promise<void>) => {
      await page.getByRole("textbox", { name: "Sum" }).fill(sum);
      await page.getByRole("button", { name: "Put in" }).click();
      const letGo = await holdBack(page, ({ pathname }) => pathname.endsWith("/house/deposits"));
      await doIt.click();
      await goOn();
      await letGo();
    };
    await page.getByRole("button", { name: "Position" }).click();
    await where.selectOption("bank");
    await putIn("300", () => leaveAlone(page, 11));
    await page.getByRole("button", { name: "Go on" }).click();
    await receipt.getByText("300.00 PLN").first().waitFor();
    await putIn("400", () => page.getByRole("button", { name: "Counter" }).click());
    const told = page.locator(".banner", { hasText: "The house's own money (The bank) · +400.00 PLN" });
    await told.getByRole("button", { name: "Show" }).click();
    await receipt.getByText("400.00 PLN").first().waitFor();
    assert.deepEqual([await where.inputValue(), await told.count()], ["bank", 0]);
  });

  test("A question that stood before takes no focus when its view comes back", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const view = (name: string) => page.getByRole("button", { name, exact: true });
    await view("Position").click();
    await page.getByRole("textbox", { name: "Sum" }).fill("500");
    await page.getByRole("button", { name: "Put in" }).click();
    await parts(page).doIt.waitFor();
    await view("Till").click();
    await view("Position").press("Enter");
    await parts(page).doIt.click({ trial: true });
    await page.keyboard.press("Enter");
    await view("Position").and(page.locator(":focus")).waitFor();
    assert.equal(changes().length, 0);
  });

  test("A price that is refused while one types in the search, or while the page is locked, is told beside the next", async (t) => {
    const { page } = await visit(t, server.url);
    const { search, confirm, alert } = parts(page);
    await openAccount(page, { pesel: adult(98), first: "Ewa", surname: "Kursowa" });
    const refused = async (amount: string, goOn: () => Promise<unknown>) => {
      await ask(page, { from: "PLN", to: "USD", side: "Buy", amount });
      let letGo = () => {};
      const held = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const sent = page.waitForRequest("**/api/exchange/*");
      await page.route(
        "**/api/exchange/*",
        async (route) => {
          await held;
          await route.continue({ headers: { ...route.request().headers(), "fx-table": "no-such" } });
        },
        { times: 1 },
      );
      await confirm.click();
      await sent;
      await goOn();
      const answered = page.waitForResponse("**/api/exchange/*");
      letGo();
      await answered;
    };
    await refused("10", () => search.focus());
    await alert.getByText("is in force now").waitFor();
    await confirm.click({ trial: true });
    await search.and(page.locator(":focus")).waitFor();
    await refused("11", () => leaveAlone(page, 11));
    await page.getByRole("button", { name: "Go on" }).click();
    await alert.getByText("is in force now").waitFor();
    await confirm.waitFor();
  });

  test("A renaming of unknown outcome shows the new name, also after a reload", async (t) => {
    const { page } = await visit(t, server.url);
    await openAccount(page, { pesel: adult(52), first: "Ewa", surname: "Panna" });
    await page.getByText("Cash and corrections").click();
    await page.getByRole("textbox", { name: "New surname" }).fill("Mężatka");
    await page.route("**/name", (route) => route.abort());
    await page.getByRole("button", { name: "Save the name" }).click();
    await parts(page).doIt.click();
    const question = page.locator(".asked");
    await question.getByText("Ewa Mężatka").waitFor();
    await page.reload();
    await page.getByRole("status").getByText("Ewa Mężatka").waitFor();
    await page.getByRole("button", { name: "Show" }).click();
    await question.getByText("Ewa Mężatka").waitFor();
  });

  for (const [path, name] of [
    ["user/*/deposits", "Deposit"],
    ["user/*/closing", "Close this account"],
    ["user", "Open account"],
  ] as const) {
    test(`A request to ${path} without an answer is there after a reload, and is sent again under its key`, async (t) => {
      const { page, changes } = await visit(t, server.url);
      const form = parts(page);
      const pesel = adult(73 + name.length);
      const isOpening = name === "Open account";
      if (!isOpening) {
        await openAccount(page, { pesel, first: "Ola", surname: "Druga", initial: "0" });
        await page.getByText("Cash and corrections").click();
      } else {
        await form.newAccount.click();
        await form.pesel.fill(pesel);
        await form.first.fill("Ola");
        await form.surname.fill("Druga");
      }
      if (name === "Deposit") await page.getByRole("textbox", { name: "Sum" }).fill("50");
      await page.route(`**/api/${path}`, async (route) => {
        await route.fetch();
        await route.abort();
      });
      await page.getByRole("button", { name }).click();
      await form.doIt.click();
      await form.alert.getByText("not known").waitFor();
      await page.unroute(`**/api/${path}`);
      await page.reload();
      await page.getByRole("button", { name: "Show" }).click();
      await form.doIt.click();
      await page.getByRole("heading", { name: "Ola Druga" }).waitFor();
      await entriesOn(page, isOpening ? 1 : 2);
      const keys = changes()
        .slice(isOpening ? 0 : 1)
        .map((request) => request.headers()["idempotency-key"]);
      assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
    });
  }

  test("A batch goes on when its view is left and the page locks, and closing asks first", async (t) => {
    const folder = newFolder(t);
    const path = join(folder, "long.csv");
    writeFileSync(path, `pesel,from,to,toBuy\n${`${jan.pesel},PLN,USD,0.01\n`.repeat(1000)}`);
    const { page } = await visit(t, server.url);
    await page.getByRole("button", { name: "Batch" }).click();
    await page.getByLabel("Batch file").setInputFiles(path);
    const carryOut = page.getByRole("button", { name: "Carry out the lines: 1,000" });
    await carryOut.waitFor();
    const release = await holdBack(page, ({ pathname }) => pathname.endsWith("/api/bulk"));
    const sent = page.waitForRequest("**/api/bulk");
    await carryOut.click();
    await sent;
    const asks = `!dispatchEvent(new Event("beforeunload", { cancelable: true }))`;
    assert.equal(await page.evaluate(asks), true);
    await page.getByRole("button", { name: "Counter" }).click();
    await page.getByRole("status").getByText("Still running: Batch").waitFor();
    await leaveAlone(page, 11);
    const unlock = page.getByRole("button", { name: "Go on" });
    await unlock.waitFor();
    await release();
    await unlock.click();
    await page.getByRole("button", { name: "Batch", exact: true }).click();
    await eventually(
      () => page.getByRole("region", { name: "Batch" }).innerText(),
      (text) => text.includes("The batch is done."),
    );
    const done = page.locator("dl.tiles div", { has: page.getByText("Done", { exact: true }) }).locator("dd");
    assert.equal(await done.innerText(), "1,000");
  });

  test("A statement is printed and saved with the entries of now, each time, and one that failed does not print later by itself", async (t) => {
    const { page } = await visit(t, server.url);
    await page.evaluate(`globalThis.printed = []; globalThis.print = () => {
      printed.push(document.querySelectorAll(".statement tbody tr").length);
      dispatchEvent(new Event("afterprint"));
    };`);
    const printed = () => page.evaluate("printed") as Promise<number[]>;
    const pesel = adult(55);
    await openAccount(page, { pesel, first: "Pa", surname: "Pier" });
    await entriesOn(page, 1);
    const statement = page.locator(".statement");
    for (const count of [1, 2, 3]) {
      if (count > 1) await post(`user/${pesel}/deposits`, { amount: 1, currency: "PLN" });
      await statement.getByRole("button", { name: "Print" }).click();
      await eventually(printed, ({ length }) => length === count);
    }
    assert.deepEqual(await printed(), [1, 2, 3]);
    for (const count of [4, 5]) {
      await post(`user/${pesel}/deposits`, { amount: 1, currency: "PLN" });
      const { text } = await savedBy(statement.getByRole("button", { name: "Save as CSV" }));
      assert.equal(text.trim().split("\r\n").length, count + 1);
    }
    await page.route(/limit=200(?!.*cursor)/, (route) => route.abort());
    await statement.getByRole("button", { name: "Print" }).click();
    await parts(page).alert.waitFor();
    await page.unroute(/limit=200(?!.*cursor)/);
    const again = page.waitForResponse(/api\/rates$/);
    await page.evaluate(`dispatchEvent(new Event("focus"))`);
    await again;
    await drawn(page);
    assert.equal((await printed()).length, 3);
  });

  for (const [status, code, locale, words] of [
    [503, "overloaded", "en-GB", "Not now."],
    [429, "rate-limited", "pl-PL", "Za dużo żądań"],
    [500, "storage-unavailable", "pl-PL", "Baza danych nie odpowiada"],
  ] as const) {
    test(`A page whose first request is answered ${status} says why, has a button, and begins by itself, in ${locale}`, async (t) => {
      const { page } = await visit(t, server.url, { locale });
      let count = 0;
      const problem = encodeProblem(new FxError(code, "Not now."), "r-1");
      const headers = { "retry-after": "1" };
      await page.route("**/api/token", (route) => {
        count += 1;
        return count < 3 ? route.fulfill({ status, headers, json: problem }) : route.continue();
      });
      await page.goto(server.url);
      await page.getByRole("status").getByText(words).waitFor();
      await page.getByRole("button", { name: /Try again|Spróbuj ponownie/ }).waitFor();
      await page.getByRole("searchbox").waitFor();
      assert.equal(count, 3);
    });
  }

  test("A form for the next new account stays, although the one sent before is opened meanwhile", async (t) => {
    const { page } = await visit(t, server.url);
    const { newAccount, openAccount: open, pesel, first, surname, doIt } = parts(page);
    await openAccount(page, { pesel: adult(92), first: "Ewa", surname: "Obok" });
    const letGo = await holdBack(page, ({ pathname }) => pathname === "/api/user");
    await newAccount.click();
    await pesel.fill(adult(93));
    await first.fill("Jan");
    await surname.fill("Pierwszy");
    await open.click();
    await doIt.click();
    await find(page, adult(92), "Ewa Obok");
    await letGo();
    const done = page.locator(".banner", { hasText: "Done: Opening · Jan Pierwszy" });
    await done.waitFor();
    await newAccount.click();
    await surname.fill("Następny");
    assert.equal(await page.getByRole("heading", { name: "Jan Pierwszy" }).count(), 0);
    await done.getByRole("button", { name: "Show" }).click();
    await page.getByRole("heading", { name: "Jan Pierwszy" }).waitFor();
    await done.waitFor({ state: "detached" });
  });

  test("The form for a new account is empty once its account was opened, also where a banner showed that", async (t) => {
    const { page } = await visit(t, server.url);
    const { newAccount, openAccount: open, pesel, first, surname, doIt } = parts(page);
    const letGo = await holdBack(page, ({ pathname }) => pathname === "/api/user");
    await newAccount.click();
    await pesel.fill(adult(94));
    await first.fill("Jan");
    await surname.fill("Baner");
    await open.click();
    await doIt.click();
    await page.getByRole("button", { name: "Till", exact: true }).click();
    await letGo();
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.getByRole("heading", { name: "Jan Baner" }).waitFor();
    await newAccount.click();
    assert.deepEqual([await pesel.inputValue(), await surname.inputValue()], ["", ""]);
  });

  test("A receipt that comes late does not take the focus from the next amount", async (t) => {
    const { page } = await visit(t, server.url);
    const { amount, confirm, receipt } = parts(page);
    await openAccount(page, { pesel: adult(99), first: "Jan", surname: "Szybki" });
    await fillTicket(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    await amount.press("Enter");
    await confirm.click({ trial: true });
    const release = await holdBack(page, ({ pathname }) => pathname.includes("/api/receipts/"));
    await confirm.press("Enter");
    await amount.and(page.locator(":focus")).waitFor();
    await page.keyboard.type("2");
    await release();
    await receipt.waitFor();
    await page.keyboard.type("5");
    assert.equal(await amount.inputValue(), "25");
  });

  test("An account that comes late does not take the focus from the next search", async (t) => {
    const { page } = await visit(t, server.url);
    const { search } = parts(page);
    let count = 0;
    const release = await holdBack(page, ({ pathname }) => {
      if (pathname.endsWith(`/user/${anna.pesel}`)) count += 1;
      return count > 1;
    });
    await search.fill(anna.pesel);
    await search.press("Enter");
    await eventually(
      async () => count,
      (asked) => asked > 1,
    );
    await page.keyboard.type("Kowal");
    await release();
    await page.getByRole("heading", { name: anna.name }).waitFor();
    await page.keyboard.type("ski");
    assert.equal(await search.inputValue(), "Kowalski");
  });

  test("A search whose answer comes late does not take the teller away from what was begun meanwhile", async (t) => {
    const { page } = await visit(t, server.url);
    const { search, confirm, alert } = parts(page);
    await find(page, anna.pesel, anna.name);
    await page.route("**/api/exchange/*", (route) => route.abort());
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    await confirm.click();
    await alert.getByText("not known").waitFor();
    const release = await holdBack(page, ({ pathname }) => pathname.endsWith(`/${jan.pesel}`));
    const asked = page.waitForRequest(new RegExp(`/${jan.pesel}`));
    await search.fill(jan.pesel);
    await search.press("Enter");
    await asked;
    await page.getByRole("button", { name: "Show" }).click();
    await release();
    assert.equal(await page.getByRole("heading", { name: anna.name }).count(), 1);
    await find(page, jan.pesel, jan.name);
  });

  test("A question that comes late does not take the focus from what was chosen meanwhile, where Enter or space would confirm it", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { search, since, doIt } = parts(page);
    const pesel = adult(57);
    await openAccount(page, { pesel, first: "Jan", surname: "Spacja" });
    await post(`user/${pesel}/deposits`, { amount: 5, currency: "PLN" });
    await find(page, pesel, "Jan Spacja");
    await page.getByText("Cash and corrections").click();
    await page.getByRole("textbox", { name: "Sum" }).fill("50");
    const questions = [
      { button: /^Deposit$/, chosen: page.getByRole("button", { name: "Withdraw" }) },
      { button: /^Reverse /, chosen: search },
      { button: /^Close this account$/, chosen: since },
    ];
    for (const { button, chosen } of questions) {
      const release = await holdBack(page, ({ pathname }) => pathname.endsWith(`/${pesel}`));
      const asked = page.waitForRequest(new RegExp(`/${pesel}$`));
      await page.getByRole("button", { name: button }).click();
      await asked;
      await chosen.focus();
      await release();
      await doIt.click({ trial: true });
      assert.ok(await chosen.evaluate((element) => element.matches(":focus")));
      await page.keyboard.press("Space");
      await page.getByRole("button", { name: "Cancel" }).click();
    }
    assert.equal(changes().length, 1);
  });

  test("A question that is on its way has the focus: Tab and Enter, pressed too early, ask for nothing else", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { doIt } = parts(page);
    const pesel = adult(91);
    await openAccount(page, { pesel, first: "Jan", surname: "Prędki" });
    await page.getByText("Cash and corrections").click();
    await page.getByRole("textbox", { name: "Sum" }).fill("50");
    for (const button of ["Deposit", "Block this account"]) {
      const release = await holdBack(page, ({ pathname }) => pathname.endsWith(`/${pesel}`));
      const asked = page.waitForRequest(new RegExp(`/${pesel}$`));
      await page.getByRole("button", { name: button, exact: true }).press("Enter");
      await asked;
      await page.locator(".asked:focus").waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await release();
      await doIt.click({ trial: true });
      assert.match(
        await page.locator(".asked").innerText(),
        new RegExp(`^Operation\\s+${button.slice(0, 5)}`),
      );
      await page.getByRole("button", { name: "Cancel" }).click();
    }
    assert.equal(changes().length, 1);
  });

  test("A question left standing is seen with the balances and the warning only, and not in the form for a new account", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { newAccount, pesel: box, doIt, alert } = parts(page);
    const pesel = adult(58);
    await openAccount(page, { pesel, first: "Ewa", surname: "Czeka" });
    await page.getByText("Cash and corrections").click();
    await page.getByRole("textbox", { name: "Sum" }).fill("700");
    await page.getByRole("button", { name: "Withdraw" }).click();
    await doIt.waitFor();
    await page.getByRole("button", { name: "Till", exact: true }).click();
    await post(`user/${pesel}/withdrawals`, { amount: 400, currency: "PLN" });
    const release = await holdBack(page, ({ pathname }) => pathname.endsWith(`/user/${pesel}`));
    const asked = page.waitForRequest(new RegExp(`/user/${pesel}$`));
    await page.getByRole("button", { name: "Counter", exact: true }).click();
    await asked;
    await drawn(page);
    assert.equal(await doIt.count(), 0);
    await release();
    await alert.getByText("not enough on the account").waitFor();
    assert.equal(await doIt.and(page.locator(":focus")).count(), 0);
    await newAccount.click();
    await box.fill(pesel);
    await page.getByText("This PESEL has an account already.").waitFor();
    assert.equal(await doIt.count(), 0);
    assert.equal(changes().length, 1);
  });

  test("Balances in sight are read again when the page's own batch ends", async (t) => {
    const { page } = await visit(t, server.url);
    const pesel = adult(56);
    await openAccount(page, { pesel, first: "Wsa", surname: "Dowa" });
    await page.getByRole("button", { name: "Batch" }).click();
    const buffer = Buffer.from(`kind,pesel,amount,currency\ndeposit,${pesel},5,PLN\n`);
    await page.getByLabel("Batch file").setInputFiles({ name: "one.csv", mimeType: "text/csv", buffer });
    const release = await holdBack(
      page,
      ({ pathname, search }) => pathname.endsWith("/bulk") && search === "",
    );
    const sent = page.waitForRequest("**/api/bulk");
    await page.getByRole("button", { name: "Carry out the lines: 1" }).click();
    await sent;
    await page.getByRole("button", { name: "Counter" }).click();
    await entriesOn(page, 1);
    await release();
    await entriesOn(page, 2);
    await balancesAre(page, { PLN: "1,005.00" });
  });

  test("The chart's legend follows the pointer under a browser's translation, too", async (t) => {
    const { page } = await visit(t, server.url);
    await page.getByRole("button", { name: "USD", exact: true }).click();
    const plot = page.locator(".plot svg");
    await plot.waitFor();
    const legend = page.locator(".history .legend");
    // At first it has the newest table.
    const seen = new Set([await legend.innerText()]);
    for (const share of [0.1, 0.5, 0.9]) {
      const box = await plot.boundingBox();
      assert.ok(box !== null);
      await page.mouse.move(box.x + box.width * share, box.y + box.height / 2);
      const text = await eventually(
        () => legend.innerText(),
        (now) => /Table: \d+\/C/.test(now) && !seen.has(now),
      );
      seen.add(text);
      const [number = ""] = /\d+\/C\/NBP\/\d+/.exec(text) ?? [];
      const history = (await (await fetch(`${server.url}/api/rates/USD/history?days=92`)).json()) as {
        rates: { table: string; bid: number; ask: number }[];
      };
      const rate = history.rates.find(({ table }) => table === number);
      assert.match(text, new RegExp(`Bid: ${rate?.bid}`));
      assert.match(text, new RegExp(`Ask: ${rate?.ask}`));
      await page.evaluate(translate);
    }
    assert.equal(seen.size, 4);
  });

  for (const [locale, words] of [
    ["en-GB", "There is no newer rate table. Table 9/C/NBP/2026 is held back: USD has moved by 40 %."],
    ["pl-PL", "Nie ma nowszej tabeli kursów. Tabelę 9/C/NBP/2026 wstrzymano"],
  ] as const) {
    test(`A rate table that is held back is told, in ${locale}`, async (t) => {
      const { page } = await visit(t, server.url, { locale });
      const heldBack = "9/C/NBP/2026";
      const problem = `Table ${heldBack} is held back: USD has moved by 40 %.`;
      await page.route("**/health/ready", async (route) => {
        const answer = (await (await route.fetch()).json()) as { rates: object };
        await route.fulfill({ json: { ...answer, rates: { ...answer.rates, problem, heldBack } } });
      });
      await page.goto(server.url);
      await page.locator(".banner").getByText(words).waitFor();
    });
  }

  test("The question before a reversal tells two exchanges of one minute apart, and shows the balances after it", async (t) => {
    const { page } = await visit(t, server.url);
    const pesel = adult(75);
    await openAccount(page, { pesel, first: "Bo", surname: "Para" });
    for (const toBuy of [10, 20]) await post(`exchange/${pesel}`, { pesel, from: "PLN", to: "USD", toBuy });
    await find(page, pesel, "Bo Para");
    await entriesOn(page, 3);
    for (const [nth, amount, left] of [
      [0, "20", "10"],
      [1, "10", "20"],
    ] as const) {
      await page.getByRole("button", { name: "Reverse" }).nth(nth).click();
      const question = page.locator(".asked");
      await question.getByText(`−${amount}.00`).waitFor();
      const text = (await question.innerText()).replace(/\s+/g, " ");
      assert.match(text, /Bo Para/);
      assert.match(text, new RegExp(`30\\.00 → ${left}\\.00 USD`));
      assert.match(text, /\+[\d.]+ PLN/);
      await page.getByRole("button", { name: "Cancel" }).click();
    }
  });

  test("Every other question shows the holder, what moves and the balances after it, too, in both languages", async (t) => {
    const { page } = await visit(t, server.url);
    const pesel = adult(76);
    await openAccount(page, { pesel, first: "Al", surname: "Pytanie", initial: "100" });
    const asked = page.locator(".asked");
    const text = async () => (await asked.innerText()).replace(/\s+/g, " ");
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    assert.match(
      await text(),
      /Al Pytanie · .*−[\d.]+ PLN .*\+10\.00 USD .*100\.00 → [\d.]+ PLN .*0\.00 → 10\.00 USD/,
    );
    await page.getByText("Cash and corrections").click();
    const sum = page.getByRole("textbox", { name: "Sum" });
    await sum.fill("25");
    await page.getByRole("button", { name: "Deposit" }).click();
    await page.getByRole("button", { name: "Yes, do it" }).waitFor();
    assert.match(await text(), /Al Pytanie · .*\+25\.00 PLN .*100\.00 → 125\.00 PLN/);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Withdraw" }).click();
    await page.getByRole("button", { name: "Yes, do it" }).waitFor();
    assert.match(await text(), /Al Pytanie · .*−25\.00 PLN .*100\.00 → 75\.00 PLN/);
    await page.getByRole("button", { name: "Close this account" }).click();
    await parts(page).alert.getByText("still money").waitFor();
    assert.match(await text(), /Al Pytanie · .*100\.00 PLN/);
    await page.getByRole("button", { name: "Polski" }).click();
    await page.getByRole("button", { name: "Tak, wykonaj" }).waitFor();
    assert.match(await text(), /Al Pytanie · .*Saldo PLN/);
  });

  test("A sign-in that ran out at Confirm is told, and the question is there again", async (t) => {
    const { page, changes } = await visit(t, server.url);
    const { confirm, alert } = parts(page);
    await openAccount(page, { pesel: adult(77), first: "To", surname: "Ken" });
    await ask(page, { from: "PLN", to: "USD", side: "Buy", amount: "10" });
    const problem = encodeProblem(new FxError("unauthorized", "Not now."), "r-1");
    await page.route("**/api/exchange/*", (route) => route.fulfill({ status: 401, json: problem }), {
      times: 1,
    });
    await confirm.click();
    await alert.getByText("the server refused the token").waitFor();
    await page.getByLabel("Access token").fill("any");
    await page.getByRole("button", { name: "Enter" }).click();
    await alert.getByText("had expired or was revoked").waitFor();
    await confirm.click();
    await entriesOn(page, 2);
    assert.equal(changes().length, 3);
  });

  test("A browser that translates is asked not to, and leaves no amount beside another name if it does", async (t) => {
    const { page } = await visit(t, server.url);
    assert.equal(await page.locator("html").getAttribute("translate"), "no");
    assert.equal(await page.locator('meta[name="google"]').getAttribute("content"), "notranslate");
    const pesel = adult(78);
    await openAccount(page, { pesel, first: "Tłu", surname: "Macz" });
    const { confirm, exchange, receipt } = parts(page);
    for (const [to, amount] of [
      ["USD", "10"],
      ["EUR", "20"],
      ["JPY", "300"],
    ] as const) {
      await fillTicket(page, { from: "PLN", to, side: "Buy", amount });
      await page.evaluate(translate);
      await exchange.click();
      await confirm.waitFor();
      await page.evaluate(translate);
      const ticket = (await page.locator("section.ticket").innerText()).replace(/\s+/g, " ");
      assert.match(ticket, new RegExp(`Customer receives ${amount}(\\.00)? ${to}`));
      assert.match(ticket, new RegExp(`1 ${to} = `));
      await confirm.click();
      await receipt.getByText("Customer received").waitFor();
      await eventually(
        () => receipt.innerText(),
        (text) => new RegExp(`Customer received\\s+${amount}(\\.00)?\\s${to}`).test(text),
      );
      await page.evaluate(translate);
    }
    await entriesOn(page, 4);
    await page.evaluate(translate);
    await balancesAre(page, { EUR: "20.00", JPY: "300", USD: "10.00" });
    const { PLN } = await balancesOn(page);
    const answer = (await (await fetch(`${server.url}/api/user/${pesel}`)).json()) as {
      currencies: { symbol: string; amount: number }[];
    };
    assert.equal(Number(PLN?.replaceAll(",", "")), answer.currencies[0]?.amount);
    await page.getByRole("button", { name: "Polski" }).click();
    await page.evaluate(translate);
    await page.getByRole("button", { name: "English" }).click();
    await find(page, jan.pesel, jan.name);
    await parts(page).statement.locator("tbody tr").first().waitFor();
    assert.doesNotMatch(await page.locator("main").innerText(), /Macz/);
  });
});
