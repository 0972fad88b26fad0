import assert from "node:assert/strict";
import { afterEach, describe, type TestContext, test } from "node:test";
import { addDays, warsawDate } from "../../src/core/date.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import type { CurrentRates, RateTable, TableLedger } from "../../src/core/rates.ts";
import { openRates } from "../../src/rates/open.ts";
import { type Adapter, adapters } from "../support/adapters.ts";
import { Chance } from "../support/chance.ts";
import { identified } from "../support/fixture.ts";
import { closeAll, standIn } from "../support/live-rates.ts";
import type { NbpStandIn } from "../support/nbp-stand-in.ts";
import { publishedOf } from "../support/rates.ts";

afterEach(closeAll);

const seeds = 12;
const steps = 30;
const hourMs = 3_600_000;
const maxAgeDays = 7;
const codes = ["USD", "EUR", "CHF", "GBP", "HUF"];

type Published = ReturnType<typeof publishedOf>;
interface Process {
  readonly rates: CurrentRates;
  /** How far its clock is ahead. */
  offMs: number;
}

/** A bank, a ledger that fails now and then, and processes with clocks of their own, all by one seed. */
class Game {
  readonly #chance: Chance;
  readonly #bank: NbpStandIn;
  readonly #ledger: TableLedger;
  #published: Published[];
  #time = Date.parse("2026-06-08T10:00:00Z");
  #number = 108;
  #breaks = false;
  readonly #processes: Process[] = [];

  constructor(seed: number, bank: NbpStandIn, first: Published, ledger: TableLedger) {
    this.#chance = new Chance(seed);
    this.#bank = bank;
    this.#published = [first];
    bank.clock = () => new Date(this.#time);
    this.#ledger = new Proxy(ledger, {
      get:
        (target, name) =>
        (...args: never[]) => {
          const fails = this.#breaks && this.#chance.percent(30);
          if (fails) return Promise.reject(new Error("The ledger fails on purpose."));
          return (Reflect.get(target, name) as (...args: never[]) => unknown).apply(target, args);
        },
    });
  }

  async start(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const process: { rates?: CurrentRates; offMs: number } = { offMs: 0 };
      process.rates = await openRates({
        source: this.#bank.url,
        ledger: this.#ledger,
        role: "serve",
        maxAgeDays,
        now: () => new Date(this.#time + process.offMs),
        elapsedMs: () => this.#time,
        refreshMs: 100 * hourMs,
        retryMs: 100 * hourMs,
      });
      this.#processes.push(process as Process);
    }
  }

  async close(): Promise<void> {
    for (const { rates } of this.#processes) await rates.close();
  }

  /** Something happens to the bank, the ledger or a clock, and some process looks. */
  async step(): Promise<void> {
    const what = this.#chance.weighted({
      publish: 4,
      correct: 1,
      withdraw: 1,
      time: 4,
      clock: 2,
      ledger: 2,
      bank: 1,
    });
    const process = this.#chance.pick(this.#processes);
    if (what === "publish") this.#publish();
    if (what === "correct") this.#correct();
    if (what === "withdraw" && this.#published.length > 1) this.#published.pop();
    if (what === "time") this.#time += this.#chance.below(60) * hourMs;
    if (what === "clock")
      process.offMs = this.#chance.pick([0, 30 * hourMs, -30 * hourMs, hourMs / 2, 60_000]);
    if (what === "ledger") this.#breaks = !this.#breaks;
    if (what === "bank") await this.#bank.mode(this.#chance.pick(["answers", "500", "html", "hangsUp"]));
    this.#bank.tables = this.#published.map((table) => JSON.stringify(table));
    await this.#look(process);
    for (const one of this.#processes) await this.#check(one);
  }

  #rates(move: number): Record<string, readonly [number, number]> {
    const kept = codes.filter(() => !this.#chance.percent(12));
    const last = this.#published.at(-1)?.rates ?? [];
    return Object.fromEntries(
      (kept.length === 0 ? ["USD"] : kept).map((code) => {
        const bid = Number(((last.find((rate) => rate.code === code)?.bid ?? 4) * move).toFixed(4));
        return [code, [bid, Number((bid * 1.02).toFixed(4))] as const];
      }),
    );
  }

  #move(): number {
    return this.#chance.pick([1, 1.01, 0.98, 1.1, 0.9, 1.29, 1.4, 0.6]);
  }

  #publish(): void {
    this.#number += 1;
    const today = warsawDate(new Date(this.#time));
    const date = addDays(today, this.#chance.pick([0, 0, 0, 1, 2, -1]));
    this.#published.push(publishedOf(`${this.#number}/C/NBP/2026`, date, this.#rates(this.#move())));
  }

  #correct(): void {
    const last = this.#published.pop() as Published;
    const date = addDays(last.effectiveDate, this.#chance.pick([0, 0, 1, -1]));
    this.#published.push(publishedOf(last.no, date, this.#rates(this.#move())));
  }

  async #look({ rates }: Process): Promise<void> {
    await rates.refresh({ maxAgeDays, acceptTable: undefined });
  }

  /** A process settles at the table in force that is effective and young enough by its clock, or at none. */
  async #check({ rates, offMs }: Process): Promise<boolean> {
    const breaks = this.#breaks;
    this.#breaks = false;
    const inForce = await this.#ledger.inForce();
    this.#breaks = breaks;
    const today = warsawDate(new Date(this.#time + offMs));
    const date = inForce?.table.effectiveDate ?? "9999";
    const isRight = date <= today && today <= addDays(date, maxAgeDays);
    if (isRight) assert.deepEqual(rates.forOrder(inForce), inForce?.table);
    else assert.throws(() => rates.forOrder(inForce), { code: "rates-unavailable" });
    return isRight;
  }

  /** After the faults: every process settles at the newest table that the rules allow after those in force before. */
  async finish(): Promise<void> {
    this.#breaks = false;
    await this.#bank.mode("answers");
    for (const process of this.#processes) process.offMs = 0;
    this.#bank.tables = this.#published.map((table) => JSON.stringify(table));
    const past = await this.#past();
    const today = warsawDate(new Date(this.#time));
    const effective = this.#published.slice(-67).filter((table) => table.effectiveDate <= today);
    const expected = newestAllowed(
      past,
      effective.map((table) => identified(table, this.#bank.url)),
    );
    for (const process of this.#processes) await this.#look(process);
    const inForce = await this.#ledger.inForce();
    assert.equal(inForce?.table.id, expected?.id);
    for (const process of this.#processes) {
      const settles = await this.#check(process);
      assert.equal(process.rates.status().notTraded === undefined, settles);
    }
  }

  async #past(): Promise<RateTable[]> {
    const tables = await this.#ledger.tables({ source: this.#bank.url, since: "0001-01-01" });
    const byId = new Map(tables.map((table) => [table.id, table]));
    return (await this.#ledger.acceptedTables()).map(({ id }) => byId.get(id) as RateTable);
  }
}

/** The rules, implemented a second time in another way: the newest first, until none takes the place of the last. */
function newestAllowed(past: readonly RateTable[], effective: readonly RateTable[]): RateTable | undefined {
  const order = (a: RateTable, b: RateTable) =>
    a.effectiveDate.localeCompare(b.effectiveDate) || a.number.localeCompare(b.number);
  const last = past.at(-1);
  const sorted = effective.toSorted(order).reverse();
  if (last === undefined) return sorted[0];
  const next = sorted.find(
    (table) => order(table, last) > 0 && table.number !== last.number && isPlausible(past, last, table),
  );
  return next === undefined ? last : newestAllowed([...past, next], effective);
}

function isPlausible(past: readonly RateTable[], last: RateTable, table: RateTable): boolean {
  const missing = [...last.rates.keys()].filter((code) => !table.rates.has(code)).length;
  const moves = [...table.rates.values()].flatMap((rate) => {
    const before = past.findLast(({ rates }) => rates.has(rate.currency))?.rates.get(rate.currency);
    if (before === undefined) return [];
    return (["bid", "ask"] as const).map(
      (side) => Number(formatDecimal(rate[side])) / Number(formatDecimal(before[side])),
    );
  });
  return missing / last.rates.size <= 0.25 && moves.every((move) => move > 0.7 && move < 1.3);
}

async function play(t: TestContext, adapter: Adapter, seed: number): Promise<void> {
  const first = publishedOf(
    "108/C/NBP/2026",
    "2026-06-08",
    Object.fromEntries(codes.map((code) => [code, [4, 4.08] as const])),
  );
  const bank = await standIn(first);
  const game = new Game(seed, bank, first, await adapter.open(t));
  await game.start(3);
  try {
    for (let step = 0; step < steps; step += 1) await game.step();
    await game.finish();
  } finally {
    await game.close();
  }
}

describe("whatever the bank publishes, and whatever fails meanwhile, the newest table that the rules allow is in force", () => {
  for (const adapter of adapters) {
    for (let seed = 1; seed <= seeds; seed += 1) {
      test(`The newest table that the rules allow is in force after random events over ${adapter.name}, seed ${seed}`, (t) =>
        play(t, adapter, seed));
    }
  }
});
