import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import type { MoneyJson } from "../../src/wire/fields.ts";
import { noBrowser, visit, withoutTimer } from "../support/browser.ts";
import { newFolder } from "../support/folder.ts";
import { runFx } from "../support/run-fx.ts";
import { find, parts, postTo, savedBy, suiteServer } from "./teller.ts";

const orders = [
  "pesel;from;to;toBuy;toSell;uwagi",
  "80010112340;PLN;EUR;10,50;;pierwsze",
  "75061598768;PLN;USD;;100;",
  '80010112340;PLN;USD;99999999;;"a;b"',
  "80010112341;PLN;USD;1;;",
].join("\r\n");

describe("the page for operators", { skip: noBrowser }, () => {
  const server = suiteServer("--demo");

  function files(t: TestContext) {
    const folder = newFolder(t);
    return (name: string, content: string | Buffer) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
  }

  const open = (page: Page, view: string) => page.getByRole("button", { name: view, exact: true }).click();
  const drop = (page: Page, path: string) => page.getByLabel("Batch file").setInputFiles(path);
  const saved = (page: Page, name: string) => savedBy(page.getByRole("button", { name }));
  const figure = (page: Page, label: string) =>
    page.locator("dl.tiles div", { has: page.getByText(label, { exact: true }) }).locator("dd");

  test("The page saves the register of a period, and an operator all data of one person", async (t) => {
    const { page } = await visit(t, server.url);
    await open(page, "Position");
    const day = new Date().toISOString().slice(0, 10);
    const files = page.locator("section", { hasText: "Files for accounting" });
    await files.getByLabel("Since").fill("2026-01-01");
    await files.getByLabel("Until").fill("2025-12-31");
    await files.getByText("ends before it begins").waitFor();
    assert.equal(await files.getByRole("button", { name: "Save the file" }).count(), 0);
    await files.getByLabel("Until").fill("2999-12-31");
    await page.route(
      "**/api/export?*",
      async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: (await response.text()).replace(/koniec.*\r\n/, "") });
      },
      { times: 1 },
    );
    await files.getByRole("button", { name: "Save the file" }).click();
    await files.getByText("No answer came").waitFor();
    const register = await saved(page, "Save the file");
    assert.equal(register.name, "fx-2026-01-01-2999-12-31.register.csv");
    assert.match(register.text, /^\ufeffLp\.;Data[\s\S]*;sprzedaż;[\s\S]*koniec ewidencji: \d+;+\r\n$/);
    await page.getByLabel("Format").selectOption({ label: "Journal: hledger" });
    await page.getByRole("checkbox", { name: "With personal data" }).check();
    const journal = await saved(page, "Save the file");
    assert.equal(journal.name, "fx-2026-01-01-2999-12-31-full.journal");
    assert.match(journal.text, /; end of export/);
    await open(page, "Counter");
    await find(page, "80010112340", "Anna Nowak");
    const person = await saved(page, "Save all data of this person");
    assert.equal(person.name, "all data of Anna Nowak.json");
    const { account, entries, time } = JSON.parse(person.text);
    assert.deepEqual([account.pesel, entries[0].kind, time.slice(0, 10)], ["80010112340", "opening", day]);
  });

  test("The view of the position asks before it moves the house's own money, shows what it booked, and reverses it", async (t) => {
    const { page, changes } = await visit(t, server.url);
    await open(page, "Position");
    const form = page.locator("form", { hasText: "The house's own money" });
    await form.getByLabel("Sum").fill("0,001");
    await form.getByRole("button", { name: "Put in" }).click();
    await form.getByRole("alert").waitFor();
    assert.equal(changes().length, 0);
    await form.getByLabel("Sum").fill("700");
    await form.getByLabel("In", { exact: true }).selectOption("GBP");
    await form.getByLabel("Note").fill("float");
    await form.getByLabel("Where").selectOption("bank");
    await form.getByLabel("Where").selectOption("cash");
    await form.getByRole("button", { name: "Put in" }).dblclick();
    const yes = parts(page).doIt;
    await yes.waitFor();
    assert.equal(changes().length, 0);
    const asked = (await page.locator(".asked").innerText()).replace(/\s+/g, " ");
    assert.match(asked, /Deposit .*\(The drawer\) In \+700\.00 GBP Note float .*0\.00 → 700\.00 GBP/);
    assert.doesNotMatch(asked, /000000/);
    await yes.dblclick();
    const { receipt } = parts(page);
    await receipt.and(page.locator(":focus")).getByText("700.00 GBP").first().waitFor();
    assert.doesNotMatch(await receipt.innerText(), /PESEL/);
    assert.equal(await form.getByLabel("In", { exact: true }).inputValue(), "GBP");
    const row = page.getByRole("table", { name: "Position" }).getByRole("row", { name: "GBP" });
    await row.getByText("700.00").waitFor();
    await page.getByRole("button", { name: "Reverse Deposit, 700.00" }).click();
    await page.locator(".asked").getByLabel("Reason").fill("mistyped");
    await yes.click({ trial: true });
    await page.keyboard.press("Enter");
    await receipt.getByText("Reversal").waitFor();
    assert.equal(changes().length, 2);
    await form.getByLabel("Sum").fill("1");
    await form.getByRole("button", { name: "Take out" }).click();
    await page.locator(".asked").getByText("taken out than was put in").waitFor();
    await page.locator(".asked:focus").waitFor();
  });

  for (const [when, goOn] of [
    ["in the same view", async () => {}],
    [
      "from another view",
      async (page: Page) => {
        await open(page, "Counter");
        await page
          .locator(".banner", { hasText: "The drawer" })
          .getByRole("button", { name: "Show" })
          .click();
      },
    ],
    [
      "after a reload",
      async (page: Page) => {
        page.on("dialog", (dialog) => void dialog.accept());
        await page.reload();
        await page
          .locator(".banner", { hasText: "The drawer" })
          .getByRole("button", { name: "Show" })
          .click();
      },
    ],
  ] as const) {
    for (const way of ["Yes, do it", "See whether it was done"]) {
      test(`An entry of the house without an answer is made once, settled ${when} by "${way}"`, async (t) => {
        const { page, changes } = await visit(t, server.url);
        const inDrawer = async () => {
          const { cash } = (await (await fetch(`${server.url}/api/house`)).json()) as {
            cash: readonly MoneyJson[];
          };
          return cash.find(({ symbol }) => symbol === "CHF")?.amount ?? 0;
        };
        const before = await inDrawer();
        await page.route(
          "**/api/house/deposits",
          async (route) => {
            await route.fetch();
            await route.abort();
          },
          { times: 1 },
        );
        await open(page, "Position");
        const form = page.locator("form", { hasText: "The house's own money" });
        await form.getByLabel("Sum").fill("700");
        await form.getByLabel("In", { exact: true }).selectOption("CHF");
        await form.getByRole("button", { name: "Put in" }).click();
        await parts(page).doIt.click();
        await parts(page).alert.getByText("No answer came").waitFor();
        await goOn(page);
        assert.ok(await form.getByLabel("Sum").isDisabled());
        assert.ok(await form.getByRole("button", { name: "Put in" }).isDisabled());
        await page.getByRole("button", { name: way }).click();
        await parts(page).receipt.getByText("700.00 CHF").first().waitFor();
        assert.ok(await form.getByRole("button", { name: "Put in" }).isEnabled());
        assert.equal(new Set(changes().map((request) => request.headers()["idempotency-key"])).size, 1);
        assert.equal(await inDrawer(), before + 700);
      });
    }
  }

  test("The view of the position suspends trading for a reason, and every view says so until it is resumed", async (t) => {
    const { page, changes } = await visit(t, server.url);
    await open(page, "Position");
    const { doIt, alert } = parts(page);
    await page.getByRole("button", { name: "Suspend trading" }).click();
    await doIt.click();
    const reason = page.getByLabel("Reason").and(page.locator(":focus:invalid"));
    await reason.fill("the bank corrects its table");
    assert.equal(changes().length, 0);
    await page.route("**/api/trading/*", (route) => route.abort(), { times: 1 });
    await doIt.click();
    await alert.getByText("not known").waitFor();
    await open(page, "Counter");
    await page.locator(".banner", { hasText: "not known" }).getByRole("button", { name: "Show" }).click();
    await doIt.click();
    await open(page, "Counter");
    const banner = page.locator(".banner", { hasText: "the bank corrects its table" });
    await banner.waitFor();
    const refused = await runFx([
      "exchange",
      "80010112340",
      "--from",
      "PLN",
      "--to",
      "USD",
      "--to-buy",
      "1",
      "--url",
      server.url,
      "--yes",
    ]);
    assert.equal(refused.exit, 6, refused.stderr);
    assert.equal(changes().length, 2);
    await page.getByRole("button", { name: "Resume trading" }).click();
    await doIt.click();
    await banner.waitFor({ state: "detached" });
  });

  test("A banner about suspended trading goes with the next order, once another counter has resumed it", async (t) => {
    await postTo(server.url, "trading/suspension", { reason: "a pause" });
    const { page } = await visit(t, server.url);
    await withoutTimer(page);
    const banner = page.locator(".banner", { hasText: "a pause" });
    await banner.waitFor();
    await postTo(server.url, "trading/resumption", {});
    await open(page, "Position");
    const form = page.locator("form", { hasText: "The house's own money" });
    await form.getByLabel("Sum").fill("1");
    await form.getByRole("button", { name: "Put in" }).click();
    await parts(page).doIt.click();
    await banner.waitFor({ state: "detached" });
  });

  test("Trading that another counter has suspended is told with the next price", async (t) => {
    const { page } = await visit(t, server.url);
    await withoutTimer(page);
    await find(page, "80010112340", "Anna Nowak");
    await postTo(server.url, "trading/suspension", { reason: "another pause" });
    t.after(() => postTo(server.url, "trading/resumption", {}));
    await parts(page).amount.fill("10");
    await page.locator(".banner", { hasText: "another pause" }).waitFor();
  });

  test("The view of batches tries a batch first, carries it out, and gives what fx batch gives and can go on with", async (t) => {
    const path = files(t)("orders.csv", orders);
    const { page, changes } = await visit(t, server.url);
    await open(page, "Batch");
    await drop(page, path);
    await page.getByText("This was a dry run: nothing was moved.").waitFor();
    assert.equal(await figure(page, "Would be done").innerText(), "2");
    assert.equal(await figure(page, "Would be refused").innerText(), "2");
    assert.match(await page.getByRole("table", { name: "Refused lines" }).innerText(), /check digit/);
    const tried = changes().length;
    await page.getByRole("button", { name: "Carry out the lines: 2" }).dblclick();
    await page.getByText("The batch is done.").waitFor();
    await page.locator("main:focus").waitFor();
    assert.equal(changes().length, tried + 1);
    assert.equal(await figure(page, "Done").innerText(), "2");

    const results = await saved(page, "Save the results");
    const documents = results.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      documents.map(({ line, ok, code }) => [line, ok, code]),
      [
        [2, true, undefined],
        [3, true, undefined],
        [4, false, "insufficient-funds"],
        [5, false, "invalid-pesel"],
      ],
    );
    const { stdout } = await runFx(["batch", path, "--url", server.url, "--yes"]);
    const again = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const facts = ({ line, key, receipt, code }: Record<string, unknown>) => ({ line, key, receipt, code });
    assert.deepEqual(again.map(facts), documents.map(facts));
    assert.deepEqual(
      again.map(({ replayed }) => replayed),
      [true, true, true, undefined],
    );

    const rejects = await saved(page, "Save the refused lines");
    assert.equal(rejects.name, "rejects.csv");
    const [header, first] = rejects.text.split("\n");
    assert.equal(header, "pesel;from;to;toBuy;toSell;uwagi;key");
    assert.match(first ?? "", /^80010112340;PLN;USD;99999999;;"a;b";again:/);
  });

  test("The page saves the proof of a receipt as fx receipt proof prints it", async (t) => {
    const { page } = await visit(t, server.url);
    await find(page, "80010112340", "Anna Nowak");
    await page
      .getByRole("button", { name: /^Receipt of/ })
      .last()
      .click();
    const { name, text } = await saved(page, "Save proof");
    const id = name.replace(/\.proof$/, "");
    assert.equal(`${text}\n`, (await runFx(["receipt", "proof", id, "--url", server.url])).stdout);
    await page.route("**/proof", (route) => route.abort());
    await page.getByRole("button", { name: "Save proof" }).click();
    await page.locator(".receipt").getByText("No answer came").waitFor();
  });

  test("The view of batches finishes a batch that fx batch began", async (t) => {
    const path = files(t)("more.ndjson", '{"pesel":"80010112340","from":"PLN","to":"EUR","toBuy":1.25}\n');
    await runFx(["batch", path, "--url", server.url, "--yes"]);
    const { page } = await visit(t, server.url);
    await open(page, "Batch");
    await drop(page, path);
    await page.getByText("This was a dry run").waitFor();
    assert.equal(await figure(page, "Done before").innerText(), "1");
    assert.equal(await page.getByRole("button", { name: "Carry out" }).count(), 0);
  });

  for (const [encoding, s] of [
    ["iso-8859-2", "\xb6"],
    ["windows-1250", "\x9c"],
  ] as const) {
    test(`The view of batches shows how the names of a file in ${encoding} read in each encoding`, async (t) => {
      const text = `name;surname;pesel;pln\r\nAnna;Nowak;80010112340;1\r\nEwa;Wi${s}niewska;44051401359;1\r\n`;
      const path = files(t)("accounts.csv", Buffer.from(text, "latin1"));
      const { page } = await visit(t, server.url);
      await open(page, "Batch");
      await drop(page, path);
      await page.getByRole("alert").getByText("accounts.csv, line 3").waitFor();
      assert.equal(await page.getByRole("button", { name: /^Read it as/ }).count(), 2);
      const offer = page.locator("main p", {
        has: page.getByRole("button", { name: `Read it as ${encoding}` }),
      });
      assert.match(await offer.innerText(), /Wiśniewska/);
      await page.getByRole("button", { name: `Read it as ${encoding}` }).click();
      await page.getByText("This was a dry run").waitFor();
    });
  }

  test("The view of batches says what is wrong with a file, and begins nothing", async (t) => {
    const file = files(t);
    const { page, changes } = await visit(t, server.url);
    await open(page, "Batch");
    for (const [name, content, fault] of [
      ["workbook.xlsx", "PK\x03\x04", /Excel workbook/],
      ["other.csv", "a,b\n1,2\n", /neither a JSON object nor a CSV header/],
      ["empty.csv", "", /no lines/],
    ] as const) {
      await drop(page, file(name, content));
      await page.getByRole("alert").getByText(fault).waitFor();
    }
    assert.equal(changes().length, 0);
  });

  test("The view of batches goes on after a connection that broke, and does no line twice", async (t) => {
    const path = files(t)(
      "broken.csv",
      "pesel,from,to,toBuy\n75061598768,PLN,GBP,1\n75061598768,PLN,GBP,1\n",
    );
    const { page } = await visit(t, server.url);
    await open(page, "Batch");
    await drop(page, path);
    const carryOut = page.getByRole("button", { name: "Carry out" });
    await carryOut.waitFor();
    let cut = 0;
    await page.route("**/api/bulk", async (route) => {
      cut += 1;
      // The server does the lines; their answers are lost.
      await route.fetch();
      if (cut === 1) await route.abort();
      else await route.continue();
    });
    await carryOut.click();
    await page.getByText("The batch is done.").waitFor();
    assert.equal(await figure(page, "Done").innerText(), "2");
    const answer = await fetch(new URL("api/user/75061598768", server.url));
    const { currencies } = (await answer.json()) as { currencies: { symbol: string; amount: number }[] };
    assert.equal(currencies.find(({ symbol }) => symbol === "GBP")?.amount, 2);
  });
});
