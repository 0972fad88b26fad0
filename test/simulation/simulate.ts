import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Opening } from "../../src/core/account.ts";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { warsawDate } from "../../src/core/date.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { type ExchangeOrder, parseTerms } from "../../src/core/exchange.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { LedgerRates } from "../../src/rates/ledger-rates.ts";
import { adult, decimal, now, opening } from "../support/fixture.ts";
import { valueAtBid } from "../support/fractions.ts";
import { Bank } from "./bank.ts";
import { type Fault, FaultyStore } from "./faulty-store.ts";
import { type Expected, Model } from "./model.ts";

const dayMs = 86_400_000;
const accounts = 6;
const steps = 25;
const commandsPerStep = 8;
const currencies = ["PLN", "USD", "EUR", "JPY", "HUF", "XDR", "THB"];

type Command =
  | { readonly kind: "open"; readonly request: Opening }
  | { readonly kind: "exchange"; readonly request: ExchangeOrder };

/**
 * Plays one seed against a ledger that several processes work on: clients that send, repeat and misuse keys; banks that
 * publish, correct and predate tables; processes that look at their bank now and then, or trade at another one; and
 * commits that fail, whose answers are lost, or in which the process dies. Every answer and, after every step, every
 * account is compared with the model. No order may leave anybody richer than the table in force allows, and at the end
 * the audit must be clean. The same seed plays the same game.
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

/** One process: what it has open, and the bank that it asks. */
interface Process {
  readonly bank: Bank;
  readonly store: FaultyStore;
  readonly rates: LedgerRates;
  readonly service: LedgerService;
}

class Game {
  readonly #chance: () => number;
  readonly #open: () => Promise<Store>;
  readonly #model = new Model();
  readonly #sent: Command[] = [];
  readonly #banks: readonly Bank[];
  readonly #processes: Process[] = [];
  #clock = now.getTime();

  constructor(seed: number, open: () => Promise<Store>) {
    this.#chance = chanceFrom(seed);
    this.#open = open;
    const below = (limit: number) => this.#below(limit);
    this.#banks = ["bank", "other bank"].map((name) => new Bank(name, below));
  }

  async play(): Promise<void> {
    for (const bank of [0, 0, 1]) {
      const store = new FaultyStore(await this.#open());
      this.#processes.push(await this.#look(this.#banks[bank] as Bank, store));
    }
    for (let step = 0; step < steps; step += 1) await this.#step();
    const { service } = this.#processes[0] as Process;
    const report = await service.audit();
    assert.deepEqual(report.findings, []);
    const entries = [...this.#model.accounts.values()].reduce((sum, account) => sum + account.entries, 0);
    assert.equal(report.entries, entries, "entries in the journal");
    await this.#compareTables();
    for (const process of this.#processes) await process.service.close();
  }

  async #step(): Promise<void> {
    this.#clock += this.#below(12 * 3_600_000);
    const today = warsawDate(new Date(this.#clock));
    for (const bank of this.#banks) if (this.#below(3) === 0) bank.publish(today);
    const place = this.#below(this.#processes.length);
    const known = this.#processes[place] as Process;
    if (this.#below(3) === 0) {
      await known.rates.close();
      this.#processes[place] = await this.#look(known.bank, known.store);
    }
    const { service, store, rates, bank } = this.#processes[place] as Process;
    const inForce = await store.inForce();
    const isOurs = inForce === undefined || inForce.table.source === bank.name;
    this.#model.table = isOurs ? (inForce ?? { table: rates.status().table }).table : undefined;
    store.fault = this.#pick<Fault>([
      "none",
      "none",
      "none",
      "fails",
      "answer lost",
      "dies before",
      "dies after",
    ]);
    const { fault } = store;
    const before = this.#worth();
    await this.#turn(service, store, 1 + this.#below(commandsPerStep));
    store.fault = "none";
    if (fault.startsWith("dies")) {
      await rates.close();
      await store.close();
      this.#processes[place] = await this.#look(bank, new FaultyStore(await this.#open()));
    }
    await this.#compare((this.#processes[place] as Process).service);
    for (const [pesel, worth] of this.#worth()) {
      assert.ok(
        worth <= (before.get(pesel) ?? worth),
        "an order left its account richer than the table in force allows",
      );
    }
  }

  /** A process that opens its rates, or looks at its bank again: both look at the ledger, and judge alike. */
  async #look(bank: Bank, store: FaultyStore): Promise<Process> {
    const { id, number } = this.#pick(bank.published);
    const vouched = this.#below(3) === 0 ? this.#pick([id, number]) : undefined;
    const rates = new LedgerRates({
      source: bank,
      ledger: store,
      trades: true,
      serves: true,
      changeSource: this.#below(8) === 0 ? this.#pick(this.#banks).name : undefined,
      now: () => new Date(this.#clock),
      rules: { maxAgeDays: 36_500, acceptTable: vouched },
      onEvent: () => {},
      refreshMs: dayMs,
      retryMs: dayMs,
      followMs: dayMs,
      historyTables: 67,
    });
    bank.mood = this.#pick(["answers", "answers", "answers", "lags", "fails"]);
    await rates.start();
    return { bank, store, rates, service: new LedgerService(store, rates, () => new Date(this.#clock)) };
  }

  /** What each account is worth at the bids of the table in force. */
  #worth(): Map<string, bigint> {
    const { table, accounts } = this.#model;
    if (table === undefined) return new Map();
    return new Map(
      [...accounts].map(([pesel, { balances }]) => [
        pesel,
        [...balances].reduce(
          (sum, [currency, minor]) => sum + valueAtBid({ currency: currency as CurrencyCode, minor }, table),
          0n,
        ),
      ]),
    );
  }

  /** The tables that were in force took effect one after the other, and none came back, but for changes of source. */
  async #compareTables(): Promise<void> {
    const accepted = await (this.#processes[0] as Process).store.acceptedTables();
    assert.deepEqual(
      accepted.map(({ epoch }) => epoch),
      accepted.map((_, index) => index + 1),
    );
    for (const [index, { id, source }] of accepted.entries()) {
      const change = accepted.slice(0, index).findLastIndex((earlier) => earlier.source !== source);
      const ofSource = accepted.slice(change + 1, index);
      assert.ok(!ofSource.some((earlier) => earlier.id === id), "a table came back");
    }
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
        assert.deepEqual(answer, { refused: "storage-unavailable", replayed: false });
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
    const { id, number } = this.#model.table ?? this.#pick(this.#pick(this.#banks).published);
    const pinned = this.#below(5) === 0 ? this.#pick([id, number, "1/C/NBP/2020"]) : undefined;
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

type Answer = ({ balances?: Map<string, bigint> } | { refused: string }) & { replayed: boolean };

function answerOf(promise: Promise<{ balances?: Map<string, bigint>; replayed: boolean }>): Promise<Answer> {
  return promise.catch((error: unknown) => {
    if (error instanceof FxError) return { refused: error.code, replayed: error.replayed };
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
