import assert from "node:assert/strict";
import type { components, paths } from "./schema.d.ts";

// A client with types generated from the document; clients.ts generates, compiles and runs it.
const [, , url = ""] = process.argv;

type Opening = components["schemas"]["Opening"];
type Order = components["schemas"]["Order"];
type Cash = components["schemas"]["Cash"];
type Renaming = components["schemas"]["Renaming"];
type Reversal = components["schemas"]["Reversal"];
type BulkLine = components["schemas"]["BulkLine"];
type Json<Responses> = Responses extends { 200: { content: { "application/json": infer Body } } }
  ? Body
  : never;
type Readable = { [Path in keyof paths]: paths[Path] extends { get: object } ? Path : never }[keyof paths];

async function get<Path extends Readable>(path: Path, parameters: Record<string, string> = {}) {
  const used = new Set<string>();
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    used.add(name);
    return parameters[name] ?? "";
  });
  const query = new URLSearchParams(Object.entries(parameters).filter(([name]) => !used.has(name)));
  const response = await fetch(`${url}${filled}?${query}`);
  assert.equal(response.status, 200, filled);
  return (await response.json()) as Json<paths[Path]["get"]["responses"]>;
}

type Body = Opening | Order | Cash | Renaming | Reversal;

async function post(path: string, body: Body | undefined, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { ...(body && { "content-type": "application/json" }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, `${path} ${response.status} ${response.ok ? "" : await response.text()}`);
  return response;
}

async function changed(path: string, body: Body | undefined, headers: Record<string, string> = {}) {
  const response = await post(path, body, headers);
  const account: Json<paths["/api/exchange/{pesel}"]["post"]["responses"]> = await response.json();
  const id = response.headers.get("fx-receipt")?.split("/").at(-1) ?? "";
  return { account, id, receipt: await get("/api/receipts/{id}", { id }) };
}

function exchange(order: Order, headers: Record<string, string> = {}) {
  return changed(`/api/exchange/${order.pesel}`, order, headers);
}

async function balances(pesel: string): Promise<Record<string, number>> {
  const { currencies } = await get("/api/user/{pesel}", { pesel });
  return Object.fromEntries(currencies.map(({ symbol, amount }) => [symbol, amount]));
}

const [maria, adam, ewa] = ["44051401359", "90090515836", "85030212344"] as const;
const openings: readonly Opening[] = [
  { name: "Maria", surname: "Zielińska", pesel: maria, pln: 1234567.89 },
  { name: "Adam", surname: "Lis", pesel: adam, initial: 131072.13 },
  { name: "Ewa", surname: "Żak", pesel: ewa, pln: 999999.99, initial: 999999.99 },
];
for (const opening of openings)
  await post("/api/user", opening, { "idempotency-key": `open-${opening.pesel}` });
assert.deepEqual(await Promise.all([maria, adam, ewa].map(balances)), [
  { PLN: 1234567.89 },
  { PLN: 131072.13 },
  { PLN: 999999.99 },
]);

const quote = await get("/api/quote", { from: "PLN", to: "USD", toBuy: "131072.13" });
const bought = await exchange(
  { pesel: maria, from: "PLN", to: "USD", toBuy: 131072.13 },
  { "fx-table": quote.tableId, "idempotency-key": "buy" },
);
assert.ok(bought.receipt.kind === "exchange");
assert.deepEqual(
  [bought.receipt.bought, bought.receipt.sold, bought.receipt.ask],
  [quote.bought, quote.sold, quote.ask],
);
assert.deepEqual(quote.bought, { symbol: "USD", amount: 131072.13 });
assert.deepEqual(bought.account, await get("/api/user/{pesel}", { pesel: maria }));

await exchange({ pesel: ewa, from: "PLN", to: "EUR", toSell: 999999.99 });
const { entries, next } = await get("/api/user/{pesel}/history", { pesel: ewa, limit: "10" });
assert.deepEqual(
  entries.map((entry) =>
    entry.kind === "opening" ? entry.initial : entry.kind === "exchange" && entry.sold,
  ),
  [
    { symbol: "PLN", amount: 999999.99 },
    { symbol: "PLN", amount: 999999.99 },
  ],
);
assert.equal(next, null);

const cash: Cash = { amount: 0.07, currency: "PLN", note: "Counter 2" };
const deposit = await changed(`/api/user/${adam}/deposits`, cash, { "idempotency-key": "deposit" });
assert.ok(deposit.receipt.kind === "deposit");
assert.deepEqual([deposit.receipt.credited.amount, deposit.receipt.note], [0.07, "Counter 2"]);
assert.deepEqual(await balances(adam), { PLN: 131072.2 });
const undone = await changed(`/api/receipts/${deposit.id}/reversal`, { reason: "Wrong account" });
assert.ok(undone.receipt.kind === "reversal" && undone.receipt.debited !== null);
assert.deepEqual([undone.receipt.debited.amount, undone.receipt.reverses], [0.07, deposit.id]);
const withdrawal = await changed(`/api/user/${adam}/withdrawals`, { amount: 131072.13, currency: "PLN" });
assert.ok(withdrawal.receipt.kind === "withdrawal");
const renamed = await changed(`/api/user/${adam}/name`, { name: "Adam", surname: "Wilk" });
assert.equal(renamed.account.surname, "Wilk");
const closing = await changed(`/api/user/${adam}/closing`, undefined);
assert.equal(closing.receipt.kind, "closing");

const lines: readonly BulkLine[] = [
  { kind: "deposit", pesel: ewa, amount: 1, currency: "USD", note: "Counter 2", key: "1" },
  { pesel: ewa, from: "USD", to: "PLN", toSell: 1 },
];
const bulk = await fetch(`${url}/api/bulk`, {
  method: "POST",
  headers: { "content-type": "application/x-ndjson" },
  body: lines.map((line) => JSON.stringify(line)).join("\n"),
});
type Answer = components["schemas"]["BulkAnswer"];
const answers = (await bulk.text())
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Answer);
assert.deepEqual(
  answers.map((answer) => ("account" in answer ? (answer.sold ?? null) : answer.status)),
  [null, { symbol: "USD", amount: 1 }],
);

/** Requests that the generated types must refuse. */
export const wrong = [
  // @ts-expect-error: neither toBuy nor toSell
  { pesel: maria, from: "PLN", to: "USD" } satisfies Order,
  // @ts-expect-error: an amount is a number
  { pesel: maria, from: "PLN", to: "USD", toBuy: "1" } satisfies Order,
  // @ts-expect-error: an unknown field
  { pesel: maria, from: "PLN", to: "USD", toBuy: 1, tosell: 1 } satisfies Order,
  // @ts-expect-error: no initial balance
  { name: "Jan", surname: "Lis", pesel: maria } satisfies Opening,
  // @ts-expect-error: no currency
  { amount: 1 } satisfies Cash,
  // @ts-expect-error: not a kind of line
  { kind: "closing", pesel: maria, amount: 1, currency: "PLN" } satisfies BulkLine,
];
