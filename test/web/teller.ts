import { setTimeout as pause } from "node:timers/promises";
import type { Locator, Page } from "playwright-core";

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

/** What the page names in English, by the names that are promised: a part of another's name would be found, too. */
export const parts = (page: Page) => ({
  rates: page.getByRole("table", { name: "Rates" }),
  search: page.getByRole("searchbox", { name: "Search" }),
  newAccount: page.getByRole("button", { name: "New account" }),
  openAccount: page.getByRole("button", { name: "Open account" }),
  pesel: page.getByRole("textbox", { name: "PESEL" }),
  first: page.getByRole("textbox", { name: "First name" }),
  surname: page.getByRole("textbox", { name: "Surname" }),
  initial: page.getByRole("textbox", { name: "Initial balance" }),
  from: page.getByRole("combobox", { name: "From" }),
  to: page.getByRole("combobox", { name: "To" }),
  buy: page.getByRole("radio", { name: "Buy" }),
  sell: page.getByRole("radio", { name: "Sell" }),
  amount: page.getByRole("textbox", { name: "Amount" }),
  exchange: page.getByRole("button", { name: "Exchange" }),
  confirm: page.getByRole("button", { name: "Confirm" }),
  receipt: page.getByRole("region", { name: "Receipt" }),
  balances: page.getByRole("table", { name: "Balances" }),
  statement: page.getByRole("table", { name: "Statement" }),
  since: page.getByLabel("Since"),
  until: page.getByLabel("Until"),
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

/** Fills the ticket and has it priced, up to what is to be confirmed. */
export async function ask(page: Page, order: Order): Promise<void> {
  const { exchange, confirm } = parts(page);
  await fillTicket(page, order);
  await exchange.click();
  await confirm.waitFor();
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

/** Waits until something on the page is as it should be. */
export async function eventually<T>(read: () => Promise<T>, is: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + 30_000;
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
