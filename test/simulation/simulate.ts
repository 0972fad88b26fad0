import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Account } from "../../src/core/account.ts";
import type { Request } from "../../src/core/change.ts";
import { type CurrencyCode, compareCurrencies, minorUnitDigits, pln } from "../../src/core/currency.ts";
import { addDays, warsawDate } from "../../src/core/date.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { parseTerms } from "../../src/core/exchange.ts";
import { houseNumber, housePlaceOf, housePlaces } from "../../src/core/house.ts";
import type { Receipt } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { CurrentRates, RateTable } from "../../src/core/rates.ts";
import type { PageRequest, Recorded, Settlement } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openRates } from "../../src/rates/open.ts";
import { Chance } from "../support/chance.ts";
import { adult, decimal, now } from "../support/fixture.ts";
import { valueAtBid } from "../support/fractions.ts";
import { everyPage, send } from "../support/service.ts";
import { Bank } from "./bank.ts";
import { type Fault, FaultyStore } from "./faulty-store.ts";
import { aheadAtMostMs, type Expected, flows, Model, type ModelEntry, type Side } from "./model.ts";

const dayMs = 86_400_000;
const accounts = 6;
const steps = 25;
const requestsPerStep = 8;
const faults: readonly Fault[] = [
  ...(["none", "none", "none", "fails"] as const),
  ...(["answer lost", "dies before", "dies after"] as const),
];
const actors = [undefined, "counter 1", "counter 2"];
const initials = "0 0.01 1000 1000 250000.50 0.001 -1 9999999999999.99 1e13".split(" ");
const currencies = ["PLN", "USD", "EUR", "JPY", "HUF", "XDR", "THB"];

/**
 * Plays one seed against a ledger shared by several processes, with
 * - clients that send every kind of request, and repeat and misuse keys, also those of other tokens;
 * - banks that publish, correct and predate tables;
 * - processes that poll their bank now and then, or trade at another one;
 * - clocks that jump back, also to before the table in force;
 * - commits that fail, whose answers are lost, or in which the process dies.
 *
 * Every answer is compared with the model, and after every step every account and entry. After every step, customers
 * and house together have the deposits less the withdrawals, an account's times never go back, and no exchange ends in
 * a profit at the table in force. At the end the audit must be clean, the tills of all days must add up to the position,
 * and reads of the past are compared with the model. A seed is reproducible.
 */
export async function simulate(seed: number, database: { open(): Promise<Store> }): Promise<void> {
  const game = new Game(seed, () => database.open());
  try {
    await game.play();
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** A store in memory that outlives the process that closes it, as a database does. */
export function surviving(store: Store): { open(): Promise<Store> } {
  store.close = async () => {};
  return { open: async () => store };
}

/** A process with its open store, and its bank. */
interface Process {
  readonly bank: Bank;
  readonly store: FaultyStore;
  readonly rates: CurrentRates;
  readonly service: LedgerService;
}

class Game {
  readonly #chance: Chance;
  readonly #open: () => Promise<Store>;
  readonly #model = new Model();
  readonly #sent: Request[] = [];
  readonly #banks: readonly Bank[];
  readonly #processes: Process[] = [];
  #clock = now.getTime();
  /** The highest value of the clock so far. */
  #newest = this.#clock;

  constructor(seed: number, open: () => Promise<Store>) {
    this.#chance = new Chance(seed);
    this.#open = open;
    this.#banks = ["http://bank", "http://other-bank"].map((name) => new Bank(name, this.#chance));
  }

  async play(): Promise<void> {
    for (const bank of [0, 0, 1]) {
      const store = new FaultyStore(await this.#open());
      this.#processes.push(await this.#look(this.#banks[bank] as Bank, store));
    }
    for (let step = 0; step < steps; step += 1) await this.#step();
    this.#clock = this.#newest;
    const { service } = this.#processes[0] as Process;
    const report = await service.audit();
    assert.deepEqual(report.findings, []);
    const entries = [...this.#model.accounts.values()].flatMap((account) => account.entries);
    assert.equal(report.entries, entries.length, "entries in the journal");
    await this.#compareTables();
    await this.#compareTills(service);
    await this.#comparePast(service);
    for (const process of this.#processes) await process.service.close();
  }

  async #step(): Promise<void> {
    this.#turnClock();
    if (this.#clock < this.#newest - aheadAtMostMs) return this.#stepWithWrongClock();
    const today = warsawDate(new Date(this.#clock));
    for (const bank of this.#banks) if (this.#chance.below(3) === 0) bank.publish(today);
    const place = this.#chance.below(this.#processes.length);
    const known = this.#processes[place] as Process;
    if (this.#chance.below(3) === 0) {
      await known.rates.close();
      this.#processes[place] = await this.#look(known.bank, known.store);
    }
    const { service, store, rates, bank } = this.#processes[place] as Process;
    await this.#tellTable(this.#processes[place] as Process);
    if (this.#chance.below(5) === 0) await this.#changeTrading();
    store.fault = this.#chance.pick(faults);
    const { fault } = store;
    const before = new Set(this.#entries());
    await this.#turn(service, store, 1 + this.#chance.below(requestsPerStep));
    store.fault = "none";
    if (fault.startsWith("dies")) {
      await rates.close();
      await store.close();
      this.#processes[place] = await this.#look(bank, new FaultyStore(await this.#open()));
    }
    await this.#compare((this.#processes[place] as Process).service);
    const added = this.#entries().filter((entry) => !before.has(entry));
    this.#requireNoGain(added.filter(({ kind }) => kind === "exchange"));
  }

  /** Any process suspends or resumes trading, for all of them. */
  async #changeTrading(): Promise<void> {
    const { service } = this.#chance.pick(this.#processes);
    const reason =
      this.#chance.below(3) === 0 ? this.#chance.pick(["a check", "the bank's error"]) : undefined;
    const answer = service.changeTrading({ reason, by: this.#chance.pick([undefined, "anna"]) });
    const { refused } = (await answer.then(
      ({ suspension }) => assert.equal(suspension?.reason, reason),
      ({ code }) => ({ refused: code }),
    )) ?? { refused: undefined };
    if (refused === undefined) this.#model.isSuspended = reason !== undefined;
    else assert.deepEqual([refused, this.#model.table], ["rates-unavailable", undefined]);
  }

  /** Tells the model the table at which a process settles. */
  async #tellTable({ store, bank }: Process): Promise<void> {
    const inForce = await store.inForce();
    const today = warsawDate(new Date(this.#clock));
    const isTraded = inForce?.table.source === bank.name && inForce.table.effectiveDate <= today;
    this.#model.table = isTraded ? inForce.table : undefined;
  }

  /** Sets the clock ahead of its highest value or back from it, by up to five minutes or up to two days. */
  #turnClock(): void {
    const isBack = this.#chance.below(8) === 0;
    const furthest = this.#chance.below(2) === 0 ? aheadAtMostMs : 2 * dayMs;
    this.#clock =
      this.#newest + (isBack ? -this.#chance.below(furthest + 1) : this.#chance.below(12 * 3_600_000));
    this.#newest = Math.max(this.#newest, this.#clock);
    this.#model.clock = this.#clock;
  }

  /** A step with a wrong clock, without banks and exchanges: an audit reports entries dated before their table. */
  async #stepWithWrongClock(): Promise<void> {
    const process = this.#chance.pick(this.#processes);
    const { service, store } = process;
    await this.#tellTable(process);
    store.fault = this.#chance.pick<Fault>(["none", "fails", "answer lost"]);
    await this.#turn(
      service,
      store,
      1 + this.#chance.below(requestsPerStep),
      (request) => request.kind !== "exchange",
    );
    store.fault = "none";
    await this.#compare(service);
  }

  /** Opens or refreshes the rates of a process: both read the ledger and judge alike. */
  async #look(bank: Bank, store: FaultyStore): Promise<Process> {
    const { id, number } = this.#chance.pick(bank.published);
    const override = this.#chance.below(3) === 0 ? this.#chance.pick([id, number]) : undefined;
    bank.mood = this.#chance.pick(["answers", "answers", "answers", "lags", "fails"]);
    const rates = await openRates({
      source: bank,
      ledger: store,
      role: "serve",
      changeSource: this.#chance.below(8) === 0 ? this.#chance.pick(this.#banks).name : undefined,
      operator: "anna@desk",
      now: () => new Date(this.#clock),
      maxAgeDays: 36_500,
      acceptTable: override,
      newerTableMs: dayMs,
      refreshMs: dayMs,
      retryMs: dayMs,
    });
    return { bank, store, rates, service: new LedgerService(store, rates, () => new Date(this.#clock)) };
  }

  #entries(): ModelEntry[] {
    return [...this.#model.accounts.values()].flatMap(({ entries }) => entries);
  }

  /** Requires that no exchange gives more value than it takes, at the bids of the table in force. */
  #requireNoGain(exchanges: readonly ModelEntry[]): void {
    const { table } = this.#model;
    for (const exchange of exchanges) {
      const worth = flows(exchange).map(
        ([[currency, minor], sign]) =>
          sign * valueAtBid({ currency: currency as CurrencyCode, minor }, table as RateTable),
      );
      const gain = worth.reduce((sum, one) => sum + one, 0n);
      assert.ok(gain <= 0n, "an exchange left its account richer than the table in force allows");
    }
  }

  /** Requires that epochs have no gap, and that no table comes into force again except after a change of source. */
  async #compareTables(): Promise<void> {
    const { store } = this.#processes[0] as Process;
    const accepted = await store.acceptedTables();
    assert.equal(accepted.length, (await store.inForce())?.epoch ?? 0);
    for (const [index, { id, source }] of accepted.entries()) {
      const change = accepted.slice(0, index).findLastIndex((earlier) => earlier.source !== source);
      const ofSource = accepted.slice(change + 1, index);
      // To suspend or resume trading begins an epoch of the same table.
      const replaced = ofSource.slice(0, ofSource.findLastIndex((earlier) => earlier.id !== id) + 1);
      assert.ok(!replaced.some((earlier) => earlier.id === id), "a table came back");
    }
  }

  /** Sends requests together, so that they share a commit, and checks each answer. */
  async #turn(
    service: LedgerService,
    store: FaultyStore,
    count: number,
    isWanted: (request: Request) => boolean = () => true,
  ): Promise<void> {
    const { fault } = store;
    const requests = Array.from({ length: count }, () => this.#nextRequest()).filter(isWanted);
    const answers = requests.map((request) => answerOf(send(service, request)));
    if (FaultyStore.written(fault)) {
      const expected = requests.map((request) => this.#model.answer(request));
      if (fault === "none") {
        for (const [index, answer] of (await Promise.all(answers)).entries()) {
          compareAnswer(answer, expected[index] as Expected, requests[index] as Request);
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
      assert.equal(held.closed, expected.closed, `whether account ${index} is closed`);
      assert.equal(held.blocked, expected.blocked, `whether account ${index} is blocked`);
      const { name, surname } = held;
      const holder = expected.entries.at(-1)?.holder;
      assert.deepEqual({ name, surname }, holder, `holder of account ${index}`);
      const { items } = await service.statement(adult(index), { limit: 1000 });
      compareEntries(items.toReversed(), expected.entries, `account ${index}`);
    }
    for (const place of housePlaces) {
      const { pesel, balances } = await service.account(houseNumber(place));
      const expected = this.#model.accounts.get(pesel);
      const held = balances.map(({ currency, minor }) => [currency, minor]);
      assert.deepEqual(new Map(held as never), new Map(expected?.balances), "the house's balances");
      const { items } = await service.statement(pesel, { limit: 1000 });
      compareEntries(items.toReversed(), expected?.entries ?? [], "the house");
    }
    await this.#comparePosition(service);
  }

  /** Requires that accounts, statements and the position at times of the past are a replay of the entries until then. */
  async #comparePast(service: LedgerService): Promise<void> {
    this.#clock = this.#newest + 40 * dayMs;
    const customers = this.#customers().sort(([one], [other]) => (one < other ? -1 : 1));
    for (let looks = 0; looks < 4 && customers.length > 0; looks += 1) {
      const offset = this.#chance.pick([-1, 0, 1, 30 * 60_000, -30 * dayMs]);
      const at = new Date(this.#chance.pick(this.#entries()).timeMs + offset);
      await this.#comparePosition(service, at);
      const limit = this.#chance.pick([1, 2, 3, 7, 200]);
      const sought = this.#chance.pick(["", "jan", "kow", "nowak"]);
      const isSought = ({ name = "", surname = "" } = {}) =>
        [name, ...surname.split("-")].some((word) => word.toLowerCase().startsWith(sought));
      const open = customers
        .filter(([, { entries }]) => isSought(entries.at(-1)?.holder))
        .flatMap(([pesel, { entries }]) => accountAt(pesel, entries, at) ?? []);
      const name = sought === "" ? undefined : [sought];
      const listed = await everyPage((page) => service.accounts({ ...page, at, name }), limit);
      assert.deepEqual(listed.map(told), open, `accounts at ${at.toISOString()}`);
      const [pesel, { entries }] = this.#chance.pick(customers);
      const then = await service.account(pesel as Pesel, at).then(told, ({ code }) => code);
      assert.deepEqual(then, accountAt(pesel, entries, at) ?? "account-not-found");
      await this.#compareStatement(service, pesel as Pesel, limit);
    }
  }

  /** The statement of a period in Warsaw, page by page, from its beginning or from an entry of the account. */
  async #compareStatement(service: LedgerService, pesel: Pesel, limit: number): Promise<void> {
    const { entries = [] } = this.#model.accounts.get(pesel) ?? {};
    const dateOf = ({ timeMs }: ModelEntry) => warsawDate(new Date(timeMs));
    const days = [this.#chance.pick(entries), this.#chance.pick(entries)].map(dateOf).sort();
    const [from, to] = days.map((day) => (this.#chance.below(4) === 0 ? undefined : day));
    const isIn = (entry: ModelEntry) =>
      (from ?? "") <= dateOf(entry) && dateOf(entry) <= (to ?? "9999-12-31");
    const idsOf = (some: readonly ModelEntry[]) =>
      some
        .filter(isIn)
        .map(({ id }) => id)
        .reverse();
    const about = `statement from ${from} to ${to}`;
    const { opening, closing } = await service.statement(pesel, { limit, from, to });
    const before = entries.filter((entry) => from !== undefined && dateOf(entry) < from);
    const through = entries.filter((entry) => dateOf(entry) <= (to ?? "9999-12-31"));
    assert.deepEqual(
      [opening, closing].map((balances) => sumsOf(balances ?? [])),
      [before, through].map((some) => heldAfter(some)),
      about,
    );
    const at = this.#chance.below(entries.length);
    for (const [cursor, expected] of [
      [undefined, entries],
      [entries[at]?.id, entries.slice(0, at)],
    ] as const) {
      const load = (page: PageRequest) =>
        service.statement(pesel, { from, to, ...page, cursor: page.cursor ?? cursor });
      const items = await everyPage(load, limit);
      assert.deepEqual(
        items.map(({ id }) => id),
        idsOf(expected),
        about,
      );
    }
  }

  #customers() {
    return [...this.#model.accounts].filter(([pesel]) => housePlaceOf(pesel) === undefined);
  }

  /** Requires that customers and house together have the deposits less the withdrawals, beside the house's own money. */
  async #comparePosition(service: LedgerService, at?: Date): Promise<void> {
    const until = (entries: readonly ModelEntry[] = []) =>
      entries.filter(({ timeMs }) => at === undefined || timeMs <= at.getTime());
    const entries = this.#customers().flatMap(([, account]) => until(account.entries));
    const held = heldAfter(entries);
    const deposited = heldAfter(entries.filter((entry) => (entry.reverses ?? entry).kind !== "exchange"));
    const [cash, bank] = housePlaces.map((place) =>
      heldAfter(until(this.#model.accounts.get(houseNumber(place))?.entries)),
    );
    const { currencies } = await service.position(at);
    const all = new Set([pln, ...[held, cash, bank].flatMap((sums) => Object.keys(sums ?? {}))]);
    const expected = [...all].sort(compareCurrencies as never).map((currency) => {
      const customers = held[currency] ?? 0n;
      const brought = deposited[currency] ?? 0n;
      return {
        ...{ currency, customers, house: brought - customers },
        ...{ cash: brought + (cash?.[currency] ?? 0n), bank: bank?.[currency] ?? 0n },
      };
    });
    assert.deepEqual(currencies, expected, `the position at ${at?.toISOString() ?? "the end"}`);
  }

  /** Requires that the tills of all days and actors have the cash of the position. */
  async #compareTills(service: LedgerService): Promise<void> {
    const cash = new Map<string, bigint>();
    const last = addDays(warsawDate(new Date(this.#newest)), 1);
    for (let date = addDays(warsawDate(now), -3); date <= last; date = addDays(date, 1)) {
      for (const by of actors) {
        const { currencies } = await service.till({ date, by });
        for (const flow of currencies) {
          cash.set(flow.currency, (cash.get(flow.currency) ?? 0n) + flow.in - flow.out);
        }
      }
    }
    for (const { currency, cash: expected } of (await service.position()).currencies) {
      assert.equal(cash.get(currency) ?? 0n, expected, `the tills' ${currency}`);
    }
  }

  /** A new request, a repeated one, or a new one under a used key. */
  #nextRequest(): Request {
    const earlier =
      this.#sent.length > 0 && this.#chance.below(4) === 0 ? this.#chance.pick(this.#sent) : undefined;
    const by = this.#chance.pick(actors);
    if (earlier !== undefined && this.#chance.below(4) > 0)
      return this.#chance.below(4) > 0 ? earlier : { ...earlier, by };
    const key = earlier?.key ?? (this.#chance.below(3) > 0 ? `key-${this.#chance.below(1e9)}` : undefined);
    const asked =
      this.#chance.below(10) === 0
        ? this.#ofHouse(key)
        : this.#request(adult(this.#chance.below(accounts)), key);
    const request = { ...asked, by };
    if (key !== undefined) this.#sent.push(request);
    return request;
  }

  #ofHouse(key: string | undefined): Request {
    const pesel = houseNumber(this.#chance.pick(housePlaces));
    if (this.#chance.below(5) === 0) {
      return { kind: "reversal", pesel, reverses: this.#receipt(pesel), reason: "a slip", key };
    }
    return { kind: this.#chance.pick(["deposit", "withdrawal"] as const), pesel, ...this.#cash(), key };
  }

  #request(pesel: Pesel, key: string | undefined): Request {
    const holder = {
      name: this.#chance.pick(["Jan", "Łucja"]),
      surname: this.#chance.pick(["Kowalski", "Żółć-Nowak"]),
    };
    const isOpen = this.#model.accounts.get(pesel)?.closed === false;
    switch (isOpen || this.#chance.below(3) === 0 ? this.#chance.below(13) : 0) {
      case 0: {
        const initial = this.#chance.pick(initials);
        return { kind: "opening", pesel, ...holder, initial: decimal(initial), key };
      }
      case 1:
      case 2:
        return { kind: "deposit", pesel, ...this.#cash(), key };
      case 3:
        return { kind: "withdrawal", pesel, ...this.#cash(), key };
      case 4:
      case 5:
        return { kind: "reversal", pesel, reverses: this.#receipt(pesel), reason: "a slip", key };
      case 6:
        return { kind: "renaming", pesel, ...holder, key };
      case 7:
        return this.#emptying(pesel, key);
      case 8:
        return this.#block(pesel, key);
      default:
        return this.#exchange(pesel, key);
    }
  }

  #cash() {
    return {
      amount: decimal(
        this.#chance.pick(["0.01", "1", "0.001", "0", "9999999999999.99", this.#amount(), this.#amount()]),
      ),
      currency: this.#chance.pick(currencies) as CurrencyCode,
      note: this.#chance.pick([undefined, "counter 2"]),
    };
  }

  /** Usually the id of an entry that can be reversed. */
  #receipt(pesel: Pesel): string {
    const own = this.#model.accounts.get(pesel)?.entries ?? [];
    const moves = own.filter(({ kind }) => kind !== "opening" && kind !== "renaming");
    const from =
      moves.length > 0 && this.#chance.below(4) > 0 ? moves : this.#chance.pick([own, this.#entries()]);
    return (
      (from.length > 0 ? this.#chance.pick(from).id : undefined) ?? "01a1fc0e-8c6f-70af-a44a-e5ac3576edce"
    );
  }

  #held(pesel: Pesel): Side[] {
    return [...(this.#model.accounts.get(pesel)?.balances ?? [])].filter(([, minor]) => minor > 0n);
  }

  /** Usually lifts a block where there is one, so that accounts do not stay blocked. */
  #block(pesel: Pesel, key: string | undefined): Request {
    const isBlocked = this.#model.accounts.get(pesel)?.blocked === true;
    const kind = isBlocked === this.#chance.below(5) > 0 ? "unblock" : "block";
    return { kind, pesel, reason: "freeze 12/2026", key };
  }

  /** Withdraws all of one currency, or closes the account if it is empty. */
  #emptying(pesel: Pesel, key: string | undefined): Request {
    const held = this.#held(pesel);
    if (held.length === 0 || this.#chance.below(4) === 0) return { kind: "closing", pesel, key };
    const [currency, minor] = this.#chance.pick(held);
    const amount = { coefficient: minor, scale: minorUnitDigits(currency as CurrencyCode) ?? 0 };
    return { kind: "withdrawal", pesel, amount, currency: currency as CurrencyCode, note: undefined, key };
  }

  #exchange(pesel: Pesel, key: string | undefined): Request {
    const held = this.#held(pesel).map(([currency]) => currency);
    const from = this.#chance.pick(held.length > 0 && this.#chance.below(3) > 0 ? held : currencies);
    const to = this.#chance.pick(currencies.filter((code) => code !== from));
    const amount = decimal(
      this.#chance.pick(["0.01", "1", "0.5", "0", "100", this.#amount(), this.#amount()]),
    );
    const terms = parseTerms({
      from,
      to,
      ...(this.#chance.below(2) === 0 ? { toBuy: amount } : { toSell: amount }),
    });
    const { id, number } = this.#model.table ?? this.#chance.pick(this.#chance.pick(this.#banks).published);
    const pinned = this.#chance.below(5) === 0 ? this.#chance.pick([id, number, "1/C/NBP/2020"]) : undefined;
    return { kind: "exchange", ...terms, pesel, key, table: pinned };
  }

  #amount(): string {
    return formatDecimal({
      coefficient: BigInt(1 + this.#chance.below(10 ** (1 + this.#chance.below(9)))),
      scale: this.#chance.below(3),
    });
  }
}

type Sums = Readonly<Record<string, bigint>>;

/** The balances that these entries leave, by currency. */
function heldAfter(entries: readonly ModelEntry[]): Sums {
  const sums: Record<string, bigint> = {};
  for (const entry of entries) {
    for (const [[currency, minor], sign] of flows(entry)) {
      sums[currency] = (sums[currency] ?? 0n) + sign * minor;
    }
  }
  return sums;
}

function sumsOf(balances: readonly Money[]): Sums {
  return Object.fromEntries(balances.map(({ currency, minor }) => [currency, minor]));
}

function told({ pesel, name, surname, closed, blocked, balances }: Account) {
  return { pesel, name, surname, closed, blocked, balances: sumsOf(balances) };
}

/** The account as its entries until then left it; undefined before the first. */
function accountAt(pesel: string, entries: readonly ModelEntry[], at: Date) {
  const own = entries.filter(({ timeMs }) => timeMs <= at.getTime());
  const last = own.at(-1);
  if (last === undefined) return undefined;
  const locks = own.filter(({ kind }) => kind === "block" || kind === "unblock");
  const [closed, blocked] = [last.kind === "closing", locks.at(-1)?.kind === "block"];
  return { pesel, ...last.holder, closed, blocked, balances: heldAfter(own) };
}

type Answer = ({ balances?: Map<string, bigint> } | { refused: string }) & { replayed: boolean };

function answerOf(sent: Promise<Recorded | Settlement>): Promise<Answer> {
  return sent.then(
    (done) => ({
      replayed: done.replayed,
      ...("account" in done && {
        balances: new Map(done.account.balances.map(({ currency, minor }) => [currency, minor])),
      }),
    }),
    (error: unknown) => {
      if (error instanceof FxError) return { refused: error.code, replayed: error.replayed };
      throw error;
    },
  );
}

function compareAnswer(answer: Answer, expected: Expected, request: Request): void {
  const about = JSON.stringify(request, (_, value) => (typeof value === "bigint" ? String(value) : value));
  if ("refused" in expected || "refused" in answer) {
    assert.deepEqual(answer, expected, about);
    return;
  }
  assert.equal(answer.replayed, expected.replayed, about);
  if (request.kind !== "opening") {
    assert.deepEqual(Object.fromEntries(answer.balances ?? []), Object.fromEntries(expected.balances), about);
  }
}

/** Compares an account's entries, oldest first, and tells the model their ids. */
function compareEntries(entries: readonly Receipt[], expected: readonly ModelEntry[], about: string): void {
  assert.deepEqual(
    entries.map(({ kind, sequence }) => [kind, sequence]),
    expected.map(({ kind }, index) => [kind, index + 1]),
    `entries of ${about}`,
  );
  for (const [index, entry] of entries.entries()) (expected[index] as ModelEntry).id = entry.id;
  const side = (one: Receipt["debited"]): Side | undefined => one && [one.currency, one.minor];
  for (const [index, entry] of entries.entries()) {
    const { by, debited, credited, holder, note, reverses, reversedBy } = expected[index] as ModelEntry;
    assert.deepEqual(
      [
        ...[entry.by, side(entry.debited), side(entry.credited)],
        ...[entry.holder, entry.note, entry.reverses, entry.reversedBy],
      ],
      [by, debited, credited, holder, note, reverses?.id, reversedBy?.id],
      `entry ${index + 1} of ${about}`,
    );
    const before = entries[index - 1];
    assert.ok(before === undefined || before.time <= entry.time, `times of ${about} go back`);
  }
}
