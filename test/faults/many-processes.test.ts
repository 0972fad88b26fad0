import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { type HttpAnswer, send } from "../support/http.ts";
import { createDatabase } from "../support/postgres.ts";
import { startFx } from "../support/run-fx.ts";
import { assertSettledOnce, type Order, sendOrder } from "./orders.ts";

const processes = 4;
const clients = 32;
/** Few accounts contend for locks; on many, deadlocks are likelier. */
const sizes = [10, 2000];
/** Refusals that clients may get; any other fails the run. */
const expected = /^400 (insufficient-funds|amount-too-small)$|^409 account-exists$/;

/** How often each outcome that matters was met. */
class Seen {
  settled = 0;
  replayed = 0;
  opened = 0;
  insufficient = 0;

  isEnough(): boolean {
    return this.settled > 500 && this.replayed > 100 && this.opened > 20 && this.insufficient > 20;
  }

  /** Counts an answer, and returns whether the request was done. */
  isDone({ status, json, text }: HttpAnswer): boolean {
    if (status < 300) return true;
    const code = (json as { code?: string } | undefined)?.code;
    assert.match(`${status} ${code}`, expected, text);
    if (code === "insufficient-funds") this.insufficient += 1;
    return false;
  }
}

for (const accounts of sizes) {
  test(`Four processes on one database neither lose nor double an order of ${accounts} accounts, nor overdraw one`, async (t) => {
    const database = await createDatabase();
    t.after(() => database.drop());
    const store = await openPostgres(database.url);
    t.after(() => store.close());
    const service = new LedgerService(store, fixedRates());
    // Small balances: many orders are refused, and others race for the last złoty.
    const pln = accounts > 100 ? "20" : "2000";
    const openings = Array.from({ length: accounts }, (_, index) => opening({ index, pln }));
    await Promise.all(openings.map((each) => service.createAccount(each)));
    const env = { FX_DB: `${database.url}?pool_size=5` };
    const start = () => startFx(["--rates", "demo", "--log-level", "error"], { env });
    const servers = await Promise.all(Array.from({ length: processes }, start));
    t.after(() => Promise.all(servers.map((server) => server.stop())));

    const seen = new Seen();
    const receiptByKey = new Map<string, string>();
    const earlier: Order[] = [];
    const order = async (url: string, terms: Order) => {
      const answer = await sendOrder(url, terms);
      if (!seen.isDone(answer)) return;
      assert.equal(receiptByKey.get(terms.key) ?? answer.receipt, answer.receipt, "one receipt for each key");
      receiptByKey.set(terms.key, answer.receipt);
      seen.settled = receiptByKey.size;
      if (answer.replayed) seen.replayed += 1;
    };
    const open = async (url: string, index: number) => {
      const body = { name: "Jan", surname: "Kowalski", pesel: adult(index), pln: 5 };
      const headers = { "content-type": "application/json", "idempotency-key": `opening-${index}` };
      assert.ok(
        seen.isDone(await send(url, "POST", "/api/user", { headers, body })),
        "an opening has its key",
      );
    };
    const client = async (): Promise<void> => {
      while (!seen.isEnough()) {
        const first = random(processes);
        const [here = "", there = ""] = [first, (first + 1 + random(processes - 1)) % processes].map(
          (index) => servers[index]?.url,
        );
        const pesel = adult(random(accounts));
        const dice = Math.random();
        if (dice < 0.1) {
          seen.opened += 1;
          const index = accounts + seen.opened;
          await Promise.all([open(here, index), open(there, index)]);
        } else {
          const terms = { pesel, key: randomUUID(), ...randomTerms() };
          if (dice < 0.4) await Promise.all([order(here, terms), order(there, terms)]);
          else await order(here, terms);
          earlier[random(1000)] = terms;
          const again = earlier[random(1000)];
          if (dice > 0.8 && again !== undefined) await order(there, again);
        }
      }
    };
    await Promise.all(Array.from({ length: clients }, client));

    // A refused order has no effect, so only orders answered with 200 are expected.
    await assertSettledOnce(store, receiptByKey);
    const [{ negative, holders } = {}] = await database.run(
      "select (select count(*)::int from journal where (entry::json ->> 'balances') like '%-%') as negative, " +
        "(select count(*)::int from account) as holders",
    );
    assert.deepEqual([negative, holders], [0, accounts + seen.opened]);
    for (const server of servers) assert.equal(server.output().stderr, "", "nothing to log");
  });
}

function random(limit: number): number {
  return Math.floor(Math.random() * limit);
}

function randomTerms(): Omit<Order, "pesel" | "key"> {
  const amount = Math.ceil(Math.random() * 1000) / 100;
  const [from, to] = Math.random() < 0.5 ? ["PLN", "USD"] : ["USD", "PLN"];
  return Math.random() < 0.5 ? { from, to, toBuy: amount } : { from, to, toSell: amount };
}
