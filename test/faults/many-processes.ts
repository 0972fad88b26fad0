import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { createDatabase, type Database } from "../support/postgres.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { assertSettledOnce, type Order, sendOrder, summary } from "./orders.ts";

const processes = 4;
const clients = 32;
/** What a client may be told, other than that it was done. Anything else fails the run. */
const expected = /^400 (insufficient-funds|amount-too-small)$|^409 account-exists$/;

export interface LoadReport {
  readonly accounts: number;
  readonly seconds: number;
  readonly requests: number;
  /** Orders that have an effect, each under a key of its own. */
  readonly settled: number;
  /** Answers to an order that had been settled before, mostly by another process. */
  readonly replayed: number;
  readonly opened: number;
  readonly refusals: Readonly<Record<string, number>>;
  readonly orderMs: { readonly median: number; readonly max: number };
  /** That the database had to end, and fx to run again. */
  readonly deadlocks: number;
}

/**
 * Four `fx serve` processes on one database, and clients that send orders, reads and openings to any of them, and
 * much of it a second time to another one, at once or later. Whatever was answered must then be in the journal once.
 */
export async function manyProcesses(seconds: number): Promise<LoadReport[]> {
  const reports: LoadReport[] = [];
  for (const accounts of [10, 10_000]) {
    const database = await createDatabase();
    const servers: Served[] = [];
    try {
      const { url } = database;
      const store = await openPostgres(url);
      try {
        await openAccounts(store, accounts);
        const start = () =>
          startFx(["--rates", "demo", "--log-level", "error"], { env: { FX_DB: `${url}?pool_size=5` } });
        servers.push(...(await Promise.all(Array.from({ length: processes }, start))));
        reports.push(await load({ servers, store, database, accounts, seconds: seconds / 2 }));
        for (const server of servers) assert.equal(server.output().stderr, "", "nothing to log");
      } finally {
        await store.close();
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      await database.drop();
    }
  }
  return reports;
}

async function openAccounts(store: Store, accounts: number): Promise<void> {
  const service = new LedgerService(store, fixedRates());
  // So little that many an order is refused, and others race for the last złoty.
  const pln = accounts > 100 ? "20" : "2000";
  const openings = Array.from({ length: accounts }, (_, index) => opening({ index, pln }));
  await Promise.all(openings.map((each) => service.createAccount(each)));
}

async function load(run: {
  readonly servers: readonly Served[];
  readonly store: Store;
  readonly database: Database;
  readonly accounts: number;
  readonly seconds: number;
}): Promise<LoadReport> {
  const { servers, store, database, accounts, seconds } = run;
  const receiptByKey = new Map<string, string>();
  const refusals: Record<string, number> = {};
  const orderMs: number[] = [];
  const earlier: Order[] = [];
  let requests = 0;
  let replayed = 0;
  let opened = accounts;

  /** Counts an answer; whether it says that it was done. */
  const isDone = ({ status, json, text }: { status: number; json: unknown; text: string }): boolean => {
    requests += 1;
    if (status < 300) return true;
    const refusal = `${status} ${(json as { code?: string } | undefined)?.code}`;
    assert.match(refusal, expected, text);
    refusals[refusal] = (refusals[refusal] ?? 0) + 1;
    return false;
  };
  const order = async (url: string, terms: Order) => {
    const started = performance.now();
    const answer = await sendOrder(url, terms);
    orderMs.push(performance.now() - started);
    if (!isDone(answer)) return;
    assert.equal(receiptByKey.get(terms.key) ?? answer.receipt, answer.receipt, "one receipt for each key");
    receiptByKey.set(terms.key, answer.receipt);
    if (answer.replayed) replayed += 1;
  };
  const open = async (url: string, index: number) => {
    const body = { name: "Jan", surname: "Kowalski", pesel: adult(index), pln: 5 };
    const headers = { "content-type": "application/json", "idempotency-key": `opening-${index}` };
    assert.ok(isDone(await send(url, "POST", "/api/user", { headers, body })), "an opening has its key");
  };
  const read = async (url: string, pesel: string) => {
    const answer = await send(url, "GET", `/api/user/${pesel}`);
    assert.ok(isDone(answer));
    const { currencies } = answer.json as { currencies: { symbol: string; amount: number }[] };
    assert.ok(
      currencies.every(({ amount }) => amount >= 0 && amount < 5000),
      answer.text,
    );
  };

  const end = performance.now() + seconds * 1000;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const first = Math.floor(Math.random() * processes);
      const [here, there] = [
        first,
        (first + 1 + Math.floor(Math.random() * (processes - 1))) % processes,
      ].map((index) => servers[index]?.url ?? "") as [string, string];
      const pesel = adult(Math.floor(Math.random() * accounts));
      const dice = Math.random();
      if (dice < 0.1) await read(here, pesel);
      else if (dice < 0.15) {
        opened += 1;
        const index = opened;
        await Promise.all([open(here, index), open(there, index)]);
      } else if (dice < 0.2) {
        const body = { name: "Ewa", surname: "Nowak", pesel, pln: 1 };
        assert.equal(isDone(await send(here, "POST", "/api/user", { body })), false, "it has an account");
      } else {
        const terms = { pesel, key: randomUUID(), ...randomTerms() };
        if (dice < 0.4) await Promise.all([order(here, terms), order(there, terms)]);
        else await order(here, terms);
        earlier[Math.floor(Math.random() * 1000)] = terms;
        const again = dice > 0.8 ? earlier[Math.floor(Math.random() * 1000)] : undefined;
        if (again !== undefined) await order(there, again);
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, client));

  // Of orders refused for want of money, none may have had an effect: only those answered 200 are looked for.
  await assertSettledOnce(store, receiptByKey);
  const [{ negative, holders, deadlocks } = {}] = await database.run(
    "select (select count(*)::int from journal where (entry::json ->> 'balances') like '%-%') as negative, " +
      "(select count(*)::int from account) as holders, deadlocks::int from pg_stat_database " +
      "where datname = current_database()",
  );
  assert.equal(negative, 0);
  assert.equal(holders, opened);
  return {
    accounts,
    seconds,
    requests,
    settled: receiptByKey.size,
    replayed,
    opened: opened - accounts,
    refusals,
    orderMs: summary(orderMs),
    deadlocks: Number(deadlocks),
  };
}

function randomTerms(): Omit<Order, "pesel" | "key"> {
  const amount = Math.ceil(Math.random() * 1000) / 100;
  const [from, to] = Math.random() < 0.5 ? ["PLN", "USD"] : ["USD", "PLN"];
  return Math.random() < 0.5 ? { from, to, toBuy: amount } : { from, to, toSell: amount };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = { seconds: { type: "string", default: "60" } } as const;
  const { seconds } = parseArgs({ options }).values;
  const report = await manyProcesses(Number(seconds));
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
}
