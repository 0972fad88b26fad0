import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Locator, Page, Request, Route } from "playwright-core";
import { type Served, startFx } from "../support/run-fx.ts";

export interface Customer {
  readonly pesel: string;
  readonly first: string;
  readonly surname: string;
  /** As it is typed. */
  readonly initial?: string;
}

export interface Order {
  readonly from: string;
  readonly to: string;
  readonly side: "Buy" | "Sell";
  /** As it is typed. */
  readonly amount: string;
}

/** A server for the tests of one suite. */
export function suiteServer(...args: readonly string[]): Pick<Served, "url" | "output"> {
  const server = {} as Served;
  before(async () => void Object.assign(server, await startFx(args)));
  after(() => server.stop?.());
  return server;
}

/** The file that a button saves. */
export async function savedBy(button: Locator): Promise<{ readonly name: string; readonly text: string }> {
  const [download] = await Promise.all([button.page().waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}

/** The parts of the page by their promised English names, exactly. */
export const parts = (page: Page) => ({
  rates: page.getByRole("table", { name: "Rates", exact: true }),
  search: page.getByRole("searchbox", { name: "Search", exact: true }),
  newAccount: page.getByRole("button", { name: "New account", exact: true }),
  openAccount: page.getByRole("button", { name: "Open account", exact: true }),
  pesel: page.getByRole("textbox", { name: "PESEL", exact: true }),
  first: page.getByRole("textbox", { name: "First name", exact: true }),
  surname: page.getByRole("textbox", { name: "Surname", exact: true }),
  initial: page.getByRole("textbox", { name: "Cash paid in (PLN)", exact: true }),
  from: page.getByRole("combobox", { name: "From", exact: true }),
  to: page.getByRole("combobox", { name: "To", exact: true }),
  buy: page.getByRole("radio", { name: "receives", exact: true }),
  sell: page.getByRole("radio", { name: "pays", exact: true }),
  amount: page.getByRole("textbox", { name: "Amount", exact: true }),
  exchange: page.getByRole("button", { name: "Exchange", exact: true }),
  confirm: page.getByRole("button", { name: "Confirm", exact: true }),
  doIt: page.getByRole("button", { name: "Yes, do it", exact: true }),
  receipt: page.getByRole("region", { name: "Receipt", exact: true }),
  balances: page.getByRole("table", { name: "Balances", exact: true }),
  statement: page.getByRole("table", { name: "Statement", exact: true }),
  since: page.getByLabel("Since", { exact: true }),
  until: page.getByLabel("Until", { exact: true }),
  alert: page.getByRole("alert"),
});

export type Parts = ReturnType<typeof parts>;

export async function openAccount(page: Page, customer: Customer): Promise<void> {
  const { newAccount, openAccount: open, ...box } = parts(page);
  await newAccount.click();
  await box.pesel.fill(customer.pesel);
  await box.first.fill(customer.first);
  await box.surname.fill(customer.surname);
  await box.initial.fill(customer.initial ?? "1000");
  await open.click();
  await box.doIt.click();
  await page.getByRole("heading", { name: `${customer.first} ${customer.surname}` }).waitFor();
}

export async function find(page: Page, sought: string, name: string): Promise<void> {
  const { search } = parts(page);
  await search.fill(sought);
  await search.press("Enter");
  await page.getByRole("heading", { name }).waitFor();
}

export async function fillTicket(page: Page, { from, to, side, amount }: Order): Promise<void> {
  const ticket = parts(page);
  await ticket.from.selectOption(from);
  await ticket.to.selectOption(to);
  await ticket[side === "Buy" ? "buy" : "sell"].check();
  await ticket.amount.fill(amount);
}

/** Fills the ticket and has it priced, up to a question that can be confirmed. */
export async function ask(page: Page, order: Order): Promise<void> {
  const { exchange, confirm } = parts(page);
  await fillTicket(page, order);
  await exchange.click();
  await confirm.click({ trial: true });
}

/** The balances on the page, such as `{ PLN: "1,000.00" }`. */
export async function balancesOn(page: Page): Promise<Record<string, string>> {
  const rows = await parts(page).balances.locator("tbody tr").all();
  const pairs = rows.map(async (row) => [
    await row.getByRole("rowheader").innerText(),
    await row.getByRole("cell").first().innerText(),
  ]);
  return Object.fromEntries(await Promise.all(pairs));
}

/** Waits until the page shows these balances, with or without others. */
export async function balancesAre(page: Page, expected: Readonly<Record<string, string>>): Promise<void> {
  await eventually(
    () => balancesOn(page),
    (shown) => Object.entries(expected).every(([symbol, amount]) => shown[symbol] === amount),
  );
}

/** Waits until something on the page is as it should be. */
export async function eventually<T>(read: () => Promise<T>, is: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const value = await read();
    if (is(value)) return value;
    if (Date.now() > deadline) throw new Error(`it stayed ${JSON.stringify(value)}, which is not ${is}`);
    await pause(30);
  }
}

/** How many entries the statement has, once it has as many. */
export async function entriesOn(page: Page, count: number): Promise<number> {
  const rows: Locator = parts(page).statement.locator("tbody tr");
  return eventually(
    () => rows.count(),
    (found) => found === count,
  );
}

/** Holds back the answers to the requests that match until it is called, which waits until they have been drawn. */
export async function holdBack(page: Page, matches: (url: URL) => boolean): Promise<() => Promise<void>> {
  const held: Route[] = [];
  let isHeld = true;
  await page.route(matches, (route) => (isHeld ? void held.push(route) : route.continue()));
  return async () => {
    await eventually(
      async () => held.length,
      (count) => count > 0,
    );
    isHeld = false;
    const ends = held.map((route) => ended(page, route.request()));
    // The page may have dropped the request.
    for (const route of held) await route.continue().catch(() => {});
    await Promise.all(ends);
    await drawn(page);
  };
}

/** Waits until a request has its whole answer, or none. */
async function ended(page: Page, request: Request): Promise<void> {
  if (request.failure() !== null) return;
  await new Promise<void>((resolve) => {
    const look = (each: Request) => each === request && resolve();
    page.on("requestfinished", look);
    page.on("requestfailed", look);
  });
}

/** Waits until the page has shown what it knows. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate("new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))");
}

/** Sets the page's clock forward, as if nobody had used the page meanwhile. */
export async function leaveAlone(page: Page, minutes: number): Promise<void> {
  await page.evaluate(`{
    const before = Date.now;
    Date.now = () => before() + ${minutes * 60_000};
    document.dispatchEvent(new Event("visibilitychange"));
  }`);
}

/** Changes something at the server, as another till would. */
export async function postTo(url: string, path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, await answer.text());
}
