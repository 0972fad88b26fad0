import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openHttpService } from "../src/client/http-service.ts";
import type { CurrencyCode } from "../src/core/currency.ts";
import { FxError } from "../src/core/errors.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { ExchangeService, Settlement } from "../src/core/service.ts";
import { adapters } from "./support/adapters.ts";
import { adult, decimal } from "./support/fixture.ts";
import { startServer, type TestServer } from "./support/server.ts";
import { everyPage, refuses } from "./support/service.ts";

/** An entry as this test made it, with the account as it was after it. */
interface Event {
  readonly id: string;
  readonly pesel: Pesel;
  readonly timeMs: number;
  readonly name: string;
  readonly closed: boolean;
  readonly balances: ReadonlyMap<string, bigint>;
  /** The house's gain, in minor units by currency. */
  readonly house: ReadonlyMap<string, bigint>;
}

const people = [1, 2, 3, 4, 5].map(adult).sort();
const names = ["Jan Nowak", "Anna Nowak-Lis", "Jan Maria Lis", "Ewa Jankowska"];
const soughtNames = ["jan", "n", "nowak", "lis jan", "ewa", "jankowska e", "zoe"];
const currencies = ["PLN", "USD", "JPY"];
const steps = [0, 1, 60_000, 37 * 60_000, 5 * 3_600_000, 24 * 3_600_000];
/** The clocks in Poland go back in the night to 25 October. */
const start = Date.parse("2026-10-23T19:00:00Z");
const day = new Intl.DateTimeFormat("sv-SE", { timeZone: "Europe/Warsaw" });

const action = fc.record({
  person: fc.nat({ max: people.length - 1 }),
  kind: fc.constantFrom("open", "deposit", "withdraw", "exchange", "reverse", "rename", "empty"),
  step: fc.constantFrom(...steps),
  name: fc.constantFrom(...names),
  amount: fc.integer({ min: 1, max: 500 }),
  from: fc.nat({ max: 2 }),
  to: fc.constantFrom(1, 2),
});
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

const look = fc.record({
  person: fc.nat({ max: people.length - 1 }),
  /** The time of an event, and how far from it. */
  event: fc.nat({ max: 200 }),
  offsetMs: fc.constantFrom(-1, 0, 1, 1800_000, -86_400_000 * 30),
  from: fc.option(fc.integer({ min: -1, max: 12 })),
  to: fc.option(fc.integer({ min: -1, max: 12 })),
  limit: fc.constantFrom(1, 2, 3, 7, 200),
  cursor: fc.option(fc.nat({ max: 200 })),
  sought: fc.option(fc.constantFrom(...soughtNames)),
  isRemote: fc.boolean(),
});
type Look = typeof look extends fc.Arbitrary<infer T> ? T : never;

const digits = (currency: string) => (currency === "JPY" ? 0 : 2);
const money = (balances: readonly { currency: string; minor: bigint }[]) =>
  new Map(balances.map(({ currency, minor }) => [currency as string, minor]));
const holderOf = (name: string) => ({
  name: name.split(" ").slice(0, -1).join(" "),
  surname: name.split(" ").at(-1) ?? "",
});

/** Carries out the actions and keeps what came of them. Those that are refused leave nothing. */
async function make(server: TestServer, actions: readonly Action[]): Promise<Event[]> {
  const { service, clock } = server;
  const events: Event[] = [];
  const last = (pesel: Pesel) => events.findLast((event) => event.pesel === pesel);
  let timeMs = start;

  function keep(pesel: Pesel, id: string, change: Partial<Event>, moved: Record<string, bigint> = {}): void {
    const before = last(pesel);
    const balances = new Map(before?.balances ?? []);
    for (const [currency, minor] of Object.entries(moved)) {
      balances.set(currency, (balances.get(currency) ?? 0n) + minor);
    }
    const { name = "", closed = false } = { ...before, closed: false, ...change };
    events.push({ id, pesel, timeMs, name, closed, balances, house: change.house ?? new Map() });
  }

  async function act({ person, kind, name, amount, from, to }: Action): Promise<void> {
    const pesel = people[person] as Pesel;
    const currency = currencies[from] as CurrencyCode;
    const other = currencies[(from + to) % 3] as CurrencyCode;
    const minor = BigInt(amount) * 10n ** BigInt(digits(currency));
    const cash = { pesel, currency, amount: decimal(String(amount)), note: undefined };
    switch (kind) {
      case "open": {
        const initial = decimal(String(amount));
        const { receiptId } = await service.createAccount({ pesel, ...holderOf(name), initial });
        return keep(pesel, receiptId, { name }, { PLN: BigInt(amount) * 100n });
      }
      case "deposit": {
        const { receiptId } = await service.change({ kind: "deposit", ...cash });
        return keep(pesel, receiptId, {}, { [currency]: minor });
      }
      case "withdraw": {
        const { receiptId } = await service.change({ kind: "withdrawal", ...cash });
        return keep(pesel, receiptId, {}, { [currency]: -minor });
      }
      case "exchange": {
        const terms = { from: currency, to: other, side: "toSell" as const, amount: cash.amount };
        const { receiptId, sold, bought } = (await service.exchange({
          pesel,
          ...terms,
        })) as Required<Settlement>;
        const gained = { [currency]: sold?.minor ?? 0n, [other]: -(bought?.minor ?? 0n) };
        const moved = { [currency]: -(sold?.minor ?? 0n), [other]: bought?.minor ?? 0n };
        return keep(pesel, receiptId, { house: new Map(Object.entries(gained)) }, moved);
      }
      case "reverse": {
        const undone = events.findLast((event) => event.pesel === pesel);
        if (undone === undefined) return;
        const before = events.filter((event) => event.pesel === pesel).at(-2);
        const { receiptId } = await service.change({
          kind: "reversal",
          pesel,
          reverses: undone.id,
          reason: "x",
        });
        const moved = [...undone.balances].map(([code, now]) => [
          code,
          (before?.balances.get(code) ?? 0n) - now,
        ]);
        const house = new Map([...undone.house].map(([code, gained]) => [code, -gained]));
        return keep(pesel, receiptId, { house }, Object.fromEntries(moved));
      }
      case "rename": {
        const { receiptId } = await service.change({ kind: "renaming", pesel, ...holderOf(name) });
        return keep(pesel, receiptId, { name });
      }
      case "empty": {
        for (const [code, held] of last(pesel)?.balances ?? []) {
          if (held === 0n) continue;
          const all = { currency: code as CurrencyCode, amount: { coefficient: held, scale: digits(code) } };
          const { receiptId } = await service.change({ kind: "withdrawal", pesel, ...all, note: undefined });
          keep(pesel, receiptId, {}, { [code]: -held });
        }
        const { receiptId } = await service.change({ kind: "closing", pesel });
        return keep(pesel, receiptId, { closed: true });
      }
    }
  }

  for (const each of actions) {
    timeMs += each.step;
    clock.now = new Date(timeMs);
    await act(each).catch((error: unknown) => assert.ok(error instanceof FxError, String(error)));
  }
  clock.now = new Date(timeMs + 40 * 86_400_000);
  return events;
}

/** Compares what is read with what the events say. */
async function compare(service: ExchangeService, events: readonly Event[], asked: Look): Promise<void> {
  const pesel = people[asked.person] as Pesel;
  const at = new Date((events[asked.event % events.length]?.timeMs ?? start) + asked.offsetMs);
  const then = (of: Pesel) => events.findLast((event) => event.pesel === of && event.timeMs <= at.getTime());
  const own = events.filter((event) => event.pesel === pesel);
  const told = (event: Event) => {
    const { name, surname } = holderOf(event.name);
    const { balances, closed } = event;
    return { pesel: event.pesel, name, surname, balances, closed };
  };

  const was = then(pesel);
  if (was === undefined) await refuses(service.account(pesel, at), "account-not-found");
  else {
    const { name, surname, balances, closed } = await service.account(pesel, at);
    assert.deepEqual({ pesel, name, surname, balances: money(balances), closed }, told(was));
  }

  const { limit } = asked;
  const words = asked.sought?.split(" ");
  const isSought = ({ name }: Event) =>
    words === undefined ||
    words.every((word) =>
      name
        .toLowerCase()
        .split(/[ -]/)
        .some((part) => part.startsWith(word)),
    );
  const listed = await everyPage((page) => service.accounts({ ...page, at, name: words }), limit);
  assert.deepEqual(
    listed.map(({ pesel, name, surname, balances, closed }) => {
      return { pesel, name, surname, balances: money(balances), closed };
    }),
    people
      .flatMap((each) => then(each) ?? [])
      .filter(isSought)
      .map(told),
    `accounts called ${asked.sought} at ${at.toISOString()}`,
  );

  const position = await service.position(at);
  const customers = new Map<string, bigint>();
  const house = new Map<string, bigint>();
  const add = (sums: Map<string, bigint>, [code, minor]: [string, bigint]) =>
    sums.set(code, (sums.get(code) ?? 0n) + minor);
  for (const each of people) for (const held of then(each)?.balances ?? []) add(customers, held);
  for (const event of events) {
    if (event.timeMs <= at.getTime()) for (const gained of event.house) add(house, gained);
  }
  for (const code of currencies) {
    const found = position.currencies.find(({ currency }) => currency === code);
    assert.deepEqual(
      [found?.customers ?? 0n, found?.house ?? 0n],
      [customers.get(code) ?? 0n, house.get(code) ?? 0n],
      `position in ${code} at ${at.toISOString()}`,
    );
  }
  if (own.length > 0) await compareStatement(service, own, asked);
}

const endless = { first: "0001-01-01", last: "9999-12-31" };

async function compareStatement(service: ExchangeService, own: readonly Event[], asked: Look): Promise<void> {
  const pesel = people[asked.person] as Pesel;
  const dayOf = (days: number, none: string) =>
    days < 0 ? none : day.format(new Date(start + days * 86_400_000));
  const from = asked.from === null ? undefined : dayOf(asked.from, endless.first);
  const to = asked.to === null ? undefined : dayOf(asked.to, endless.last);
  const request = { from, to, limit: asked.limit };
  if (from !== undefined && to !== undefined && from > to) return;
  const dateOf = ({ timeMs }: Event) => day.format(new Date(timeMs));
  const isIn = (event: Event) => (from ?? "") <= dateOf(event) && dateOf(event) <= (to ?? "9999-12-31");
  const expected = own.filter(isIn).reverse();

  const first = await service.statement(pesel, request);
  const before = own.filter((event) => from !== undefined && dateOf(event) < from).at(-1);
  const through = own.filter((event) => dateOf(event) <= (to ?? "9999-12-31")).at(-1);
  assert.deepEqual(
    [first.opening, first.closing].map((balances) => money(balances ?? [])),
    [before, through].map((event) => event?.balances ?? new Map()),
  );
  const items = await everyPage((page) => service.statement(pesel, { ...request, ...page }), asked.limit);
  assert.deepEqual(
    items.map(({ id }) => id),
    expected.map(({ id }) => id),
    `${from} to ${to}`,
  );
  assert.deepEqual(
    items.map(({ balances }) => money(balances)),
    expected.map(({ balances }) => balances),
  );

  if (asked.cursor === null) return;
  const index = asked.cursor % own.length;
  const rest: string[] = [];
  let cursor: string | undefined = own[index]?.id;
  while (cursor !== undefined) {
    const page = await service.statement(pesel, { ...request, cursor });
    rest.push(...page.items.map(({ id }) => id));
    cursor = page.next;
  }
  const older = own.slice(0, index).filter(isIn).reverse();
  assert.deepEqual(
    rest,
    older.map(({ id }) => id),
    `${from} to ${to} from entry ${index + 1} of ${own.length} back`,
  );
}

for (const adapter of adapters) {
  test(`Reads of the past and of parts equal a replay of what was done, over ${adapter.name}`, async (t) => {
    const made = fc.array(action, { minLength: 30, maxLength: 90 });
    const looks = fc.array(look, { minLength: 25, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(made, looks, async (actions, asked) => {
        const server = await startServer({}, "", { store: await adapter.open(t) });
        const remote = openHttpService(server.url);
        try {
          const events = await make(server, actions);
          for (const each of asked) await compare(each.isRemote ? remote : server.service, events, each);
        } finally {
          await remote.close();
          await server.close();
        }
      }),
      { numRuns: adapter.name === "memory:" ? 25 : 6, endOnFailure: true, includeErrorInReport: true },
    );
  });
}

test("A statement by key takes no period and no cursor, at a store and at a server", async () => {
  const server = await startServer();
  const remote = openHttpService(server.url);
  const pesel = adult(1);
  await server.service.createAccount({ pesel, ...holderOf("Jan Lis"), initial: decimal("1"), key: "k" });
  const [{ id } = { id: "" }] = (await server.service.statement(pesel, { limit: 1 })).items;
  for (const service of [server.service, remote]) {
    assert.equal((await service.statement(pesel, { limit: 1, key: "k" })).items[0]?.id, id);
    for (const part of [{ from: "2026-01-01" }, { to: "2026-01-01" }, { cursor: id }]) {
      const error = await refuses(
        service.statement(pesel, { limit: 1, key: "k", ...part }),
        "invalid-request",
      );
      assert.equal(error.fields?.[0]?.pointer, "/key");
    }
  }
  await remote.close();
  await server.close();
});

test("An account is found by the name that it had at a time, among many and page by page", async () => {
  const server = await startServer();
  const many = Array.from({ length: 1100 }, (_, index) => adult(index)).sort();
  const openings = many.map((pesel, nth) => {
    return server.service.createAccount({
      pesel,
      ...holderOf(nth % 550 === 549 ? "Zoe Lis" : "Jan Nowak"),
      initial: decimal("1"),
    });
  });
  await Promise.all(openings);
  const at = server.clock.now;
  server.clock.now = new Date(at.getTime() + 60_000);
  const pesel = many[549] as Pesel;
  await server.service.change({ kind: "renaming", pesel, ...holderOf("Ewa Wilk") });
  const found = await everyPage((page) => server.service.accounts({ ...page, at, name: ["zoe"] }), 1);
  assert.deepEqual(
    found.map((account) => account.pesel),
    [many[549], many[1099]],
  );
  assert.deepEqual(await everyPage((page) => server.service.accounts({ ...page, at, name: ["ewa"] }), 1), []);
  await server.close();
});
