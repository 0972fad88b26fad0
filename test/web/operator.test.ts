import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { noBrowser, visit } from "../support/browser.ts";
import { runFx, type Served, startFx } from "../support/run-fx.ts";

const orders = [
  "pesel;from;to;toBuy;toSell;uwagi",
  "80010112340;PLN;EUR;10,50;;pierwsze",
  "75061598768;PLN;USD;;100;",
  '80010112340;PLN;USD;99999999;;"a;b"',
  "80010112341;PLN;USD;1;;",
].join("\r\n");

describe("the page for operators", { skip: noBrowser }, () => {
  let server: Served;
  before(async () => {
    server = await startFx(["--demo"]);
  });
  after(() => server?.stop());

  function files(t: TestContext) {
    const folder = mkdtempSync(join(tmpdir(), "fx-page-"));
    t.after(() => rmSync(folder, { recursive: true }));
    return (name: string, content: string | Buffer) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
  }

  const open = (page: Page, view: string) => page.getByRole("button", { name: view, exact: true }).click();
  const drop = (page: Page, path: string) => page.getByLabel("Batch file").setInputFiles(path);
  const saved = async (page: Page, name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name }).click(),
    ]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
  };
  const figure = (page: Page, label: string) =>
    page.locator("dl.tiles div", { has: page.getByText(label, { exact: true }) }).locator("dd");

  test("tries a batch first, carries it out, and gives what fx batch gives and can go on with", async (t) => {
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

  test("finishes a batch that fx batch began", async (t) => {
    const path = files(t)("more.ndjson", '{"pesel":"80010112340","from":"PLN","to":"EUR","toBuy":1.25}\n');
    await runFx(["batch", path, "--url", server.url, "--yes"]);
    const { page } = await visit(t, server.url);
    await open(page, "Batch");
    await drop(page, path);
    await page.getByText("This was a dry run").waitFor();
    assert.equal(await figure(page, "Done before").innerText(), "1");
    assert.equal(await page.getByRole("button", { name: "Carry out" }).count(), 0);
  });

  test("reads a file as Excel in Poland saves it, once it is told the encoding", async (t) => {
    const latin = Buffer.from("name;surname;pesel;pln\r\nZo\xbfia;Kowal;44051401359;1 000,50\r\n", "latin1");
    const path = files(t)("accounts.csv", latin);
    const { page } = await visit(t, server.url);
    await open(page, "Batch");
    await drop(page, path);
    await page.getByRole("button", { name: "Read it as windows-1250" }).click();
    await page.getByRole("button", { name: "Carry out the lines: 1" }).click();
    await page.getByText("The batch is done.").waitFor();
    const answer = await fetch(new URL("api/user/44051401359", server.url));
    const { name } = (await answer.json()) as { name: string };
    assert.equal(name, "Zożia");
  });

  for (const [encoding, s] of [
    ["iso-8859-2", "\xb6"],
    ["windows-1250", "\x9c"],
  ] as const) {
    test(`shows how the names of a file in ${encoding} read in each encoding, and again before they are carried out`, async (t) => {
      const text = `name;surname;pesel;pln\r\nAnna;Nowak;80010112340;1\r\nEwa;Wi${s}niewska;44051401359;1\r\n`;
      const path = files(t)("accounts.csv", Buffer.from(text, "latin1"));
      const { page } = await visit(t, server.url);
      await open(page, "Batch");
      await drop(page, path);
      await page.getByRole("alert").getByText("Line 3").waitFor();
      assert.equal(await page.getByRole("button", { name: /^Read it as/ }).count(), 2);
      const offer = page.locator("main p", {
        has: page.getByRole("button", { name: `Read it as ${encoding}` }),
      });
      assert.match(await offer.innerText(), /Wiśniewska/);
      await page.getByRole("button", { name: `Read it as ${encoding}` }).click();
      await page.getByText("This was a dry run").waitFor();
      await page.getByText("letters beyond A to Z: Ewa Wiśniewska").waitFor();
    });
  }

  test("says what is wrong with a file, and begins nothing", async (t) => {
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

  test("goes on after a connection that broke, and does no line twice", async (t) => {
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

  test("audits the ledger, and shows the position", async (t) => {
    const { page, requests } = await visit(t, server.url);
    await open(page, "Audit");
    await page.getByRole("button", { name: "Run the audit" }).click();
    await page.getByText("The books agree.").waitFor();
    assert.equal(await figure(page, "Disagreements").innerText(), "0");
    assert.ok(requests.some((request) => request.url().endsWith("/api/audit/checkpoint")));
    await open(page, "Position");
    const table = page.getByRole("table", { name: "Position" });
    await table.getByRole("rowheader", { name: "EUR" }).waitFor();
  });
});
