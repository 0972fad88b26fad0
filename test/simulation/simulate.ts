import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Opening } from "../../src/core/account.ts";
import { FxError } from "../../src/core/errors.ts";
import { type ExchangeOrder, parseTerms } from "../../src/core/exchange.ts";
import { formatDecimal } from "../../src/core/money.ts";
import type { RateTable } from "../../src/core/rates.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adult, decimal, fixedRates, now, opening, table } from "../support/fixture.ts";
import { type Fault, FaultyStore } from "./faulty-store.ts";
import { type Expected, Model } from "./model.ts";

const accounts = 6;
const steps = 25;
const commandsPerStep = 8;
const currencies = ["PLN", "USD", "EUR", "JPY", "HUF", "XDR", "THB"];

/** Another day's table: every rate moved by a few per cent, EUR not quoted. */
const tomorrow: RateTable = {
  ...table,
  number: "109/C/NBP/2026",
  effectiveDate: "2026-06-09",
  rates: new Map(
    [...table.rates]
      .filter(([code]) => code !== "EUR")
      .map(([code, rate]) => [
        code,
        {
          ...rate,
          bid: { ...rate.bid, coefficient: (rate.bid.coefficient * 103n) / 100n },
          ask: { ...rate.ask, coefficient: (rate.ask.coefficient * 103n) / 100n },
        },
      ]),
  ),
};

type Command =
  | { readonly kind: "open"; readonly request: Opening }
  | { readonly kind: "exchange"; readonly request: ExchangeOrder };

/**
 * Plays one seed against a store: clients that send, repeat and misuse keys, tables that change and vanish, and
 * commits that fail, whose answers are lost, or in which the process dies. Every answer and, after every step, every
 * account is compared with the model; at the end the audit must be clean. The same seed plays the same game.
 */
export async function simulate(seed: number, database: { open(): Promise<Store> }): Promise<void> {
  const game = new Game(seed, () => database.open());
  try {
    await game.play();
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** A store in memory, as a database that outlives the process that has it open. */
export function surviving(store: Store): { open(): Promise<Store> } {
  store.close = async () => {};
  return { open: async () => store };
}

class Game {
  readonly #chance: () => number;
  readonly #open: () => Promise<Store>;
  readonly #model = new Model();
  readonly #rates = fixedRates();
  readonly #sent: Command[] = [];
  #clock = now.getTime();

  constructor(seed: number, open: () => Promise<Store>) {
    this.#chance = chanceFrom(seed);
    this.#open = open;
  }

  async play(): Promise<void> {
    let store = new FaultyStore(await this.#open());
    let service = this.#serve(store);
    for (let step = 0; step < steps; step += 1) {
      this.#clock += this.#below(3_600_000);
      this.#model.table = this.#pick([table, table, table, tomorrow, undefined]);
      this.#rates.use(this.#model.table);
      const fault = this.#pick<Fault>([
        "none",
        "none",
        "none",
        "fails",
        "answer lost",
        "dies before",
        "dies after",
      ]);
      store.fault = fault;
      await this.#turn(service, store, 1 + this.#below(commandsPerStep));
      store.fault = "none";
      if (fault.startsWith("dies")) {
        await store.close();
        store = new FaultyStore(await this.#open());
        service = this.#serve(store);
      }
      await this.#compare(service);
    }
    const report = await service.audit();
    assert.deepEqual(report.findings, []);
    const entries = [...this.#model.accounts.values()].reduce((sum, account) => sum + account.entries, 0);
    assert.equal(report.entries, entries, "entries in the journal");
    await service.close();
  }

  #serve(store: Store): LedgerService {
    return new LedgerService(store, this.#rates, () => new Date(this.#clock));
  }

  /** Sends commands together, so that they share a commit, and checks what each is answered. */
  async #turn(service: LedgerService, store: FaultyStore, count: number): Promise<void> {
    const { fault } = store;
    const commands = Array.from({ length: count }, () => this.#command());
    const answers = commands.map((command) =>
      answerOf(
        command.kind === "open"
          ? service.createAccount(command.request)
          : service.exchange(command.request).then(({ account, replayed }) => ({
              balances: new Map(account.balances.map(({ currency, minor }) => [currency, minor])),
              replayed,
            })),
      ),
    );
    if (FaultyStore.written(fault)) {
      const expected = commands.map((command) => this.#expect(command));
      if (fault === "none") {
        for (const [index, answer] of (await Promise.all(answers)).entries()) {
          compareAnswer(answer, expected[index] as Expected, commands[index] as Command);
        }
      }
    }
    if (fault === "fails" || fault === "answer lost") {
      for (const answer of await Promise.all(answers)) {
        assert.deepEqual(answer, { refused: "storage-unavailable" });
      }
    }
    if (fault.startsWith("dies")) {
      while (!store.died) await nextTurn();
      await nextTurn();
      const answered = await Promise.race([...answers, undefined]);
      assert.equal(answered, undefined, "answered by a process that had died");
    }
  }

  #expect(command: Command): Expected {
    return command.kind === "open"
      ? this.#model.open(command.request)
      : this.#model.exchange(command.request);
  }

  async #compare(service: LedgerService): Promise<void> {
    for (let index = 0; index < accounts; index += 1) {
      const held = await service.account(adult(index)).catch((error) => error);
      const expected = this.#model.accounts.get(adult(index));
      if (expected === undefined) {
        assert.ok(held instanceof FxError && held.code === "account-not-found", "an account out of nothing");
        continue;
      }
      const balances = Object.fromEntries(
        held.balances.map(({ currency, minor }: never) => [currency, minor]),
      );
      assert.deepEqual(balances, Object.fromEntries(expected.balances), `balances of account ${index}`);
      const { items } = await service.statement(adult(index), { limit: 1 });
      assert.equal(items[0]?.sequence, expected.entries, `entries of account ${index}`);
    }
  }

  /** A new request, an earlier one sent again, or an earlier key with another body. */
  #command(): Command {
    const command = this.#nextCommand();
    if (command.request.key !== undefined) this.#sent.push(command);
    return command;
  }

  #nextCommand(): Command {
    const earlier = this.#sent.length > 0 && this.#below(4) === 0 ? this.#pick(this.#sent) : undefined;
    if (earlier !== undefined && this.#below(4) > 0) return earlier;
    const key = earlier?.request.key ?? (this.#below(3) > 0 ? `key-${this.#below(1e9)}` : undefined);
    const index = this.#below(accounts);
    if (this.#below(4) === 0) {
      const pln = this.#pick(["0", "0.01", "1000", "250000.50", "0.001", "-1", "9999999999999.99", "1e13"]);
      return { kind: "open", request: opening({ index, pln, ...(key === undefined ? {} : { key }) }) };
    }
    const from = this.#pick(currencies);
    const to = this.#pick(currencies.filter((code) => code !== from));
    const amount = decimal(this.#pick(["0.01", "1", "0.5", "0", "100", this.#amount(), this.#amount()]));
    const terms = parseTerms({
      from,
      to,
      ...(this.#below(2) === 0 ? { toBuy: amount } : { toSell: amount }),
    });
    const pinned = this.#below(5) === 0 ? table.number : undefined;
    return { kind: "exchange", request: { ...terms, pesel: adult(index), key, table: pinned } };
  }

  #amount(): string {
    return formatDecimal({
      coefficient: BigInt(1 + this.#below(10 ** (1 + this.#below(9)))),
      scale: this.#below(3),
    });
  }

  #below(limit: number): number {
    return Math.floor(this.#chance() * limit);
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#below(choices.length)] as T;
  }
}

type Answer = { balances?: Map<string, bigint>; replayed: boolean } | { refused: string };

function answerOf(promise: Promise<{ balances?: Map<string, bigint>; replayed: boolean }>): Promise<Answer> {
  return promise.catch((error: unknown) => {
    if (error instanceof FxError) return { refused: error.code };
    throw error;
  });
}

function compareAnswer(answer: Answer, expected: Expected, command: Command): void {
  const about = JSON.stringify(command, (_, value) => (typeof value === "bigint" ? String(value) : value));
  if ("refused" in expected || "refused" in answer) {
    assert.deepEqual(answer, expected, about);
    return;
  }
  assert.equal(answer.replayed, expected.replayed, about);
  if (command.kind === "exchange") {
    assert.deepEqual(Object.fromEntries(answer.balances ?? []), Object.fromEntries(expected.balances), about);
  }
}

/** mulberry32: the same numbers from the same seed, everywhere. */
function chanceFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
