import assert from "node:assert/strict";
import { afterEach, before, describe, test } from "node:test";
import type { Change } from "../src/core/change.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { ExchangeService, PageRequest, StatementRequest } from "../src/core/service.ts";
import type { Subject } from "./service.contract.ts";
import { cash } from "./service-changes.contract.ts";
import { exported } from "./support/bookkeeping.ts";
import { adult, now, opening, terms } from "./support/fixture.ts";
import { everyPage, refuses, texts } from "./support/service.ts";

/** The part about what was: accounts and the position at a time, and the statement of a period. */
export function describePast(subjectNow: () => Subject): void {
  let subject: Subject;
  let service: ExchangeService;
  let people = 500;
  before(() => {
    subject = subjectNow();
    service = subject.service;
  });
  afterEach(() => {
    subject.clock.now = now;
  });

  /** Sets the clock, to "2026-06-08T13:00Z", say. */
  const setClock = (time: string) => {
    subject.clock.now = new Date(time);
  };
  const personAt = async (time: string): Promise<Pesel> => {
    setClock(time);
    people += 1;
    await service.createAccount(opening({ index: people }));
    return adult(people);
  };
  const depositAt = async (time: string, pesel: Pesel, words: string) => {
    setClock(time);
    await service.change(cash("deposit", pesel, words));
  };

  const statement = (page: Partial<StatementRequest>) => service.statement(adult(1), { limit: 10, ...page });

  describe("an account at a time", () => {
    const balancesAt = async (pesel: Pesel, time: string) =>
      texts((await service.account(pesel, new Date(time))).balances);

    test("An account at a past time has the balances that its last entry until then left", async () => {
      const pesel = await personAt("2026-06-08T12:00:00Z");
      await depositAt("2026-06-08T13:00:00Z", pesel, "5 PLN");
      await depositAt("2026-06-08T14:00:00Z", pesel, "7 USD");
      setClock("2026-06-08T15:00:00Z");
      assert.deepEqual(await balancesAt(pesel, "2026-06-08T12:59:59.999Z"), ["1000.00 PLN"]);
      assert.deepEqual(await balancesAt(pesel, "2026-06-08T13:00:00Z"), ["1005.00 PLN"]);
      assert.deepEqual(await balancesAt(pesel, "2026-06-08T14:30:00Z"), ["1005.00 PLN", "7.00 USD"]);
    });

    test("An account at a past time has the name of that time, and was blocked or closed if it was then, as in the list", async () => {
      const pesel = await personAt("2026-06-08T12:00:00Z");
      const changes: readonly [string, Change][] = [
        ["12:20", { kind: "renaming", pesel, name: "Ewa", surname: "Lis" }],
        ["12:40", { kind: "block", pesel, reason: "freeze" }],
        ["13:00", { kind: "unblock", pesel, reason: "lifted" }],
        ["13:10", cash("withdrawal", pesel, "1000 PLN")],
        ["13:20", { kind: "closing", pesel }],
      ];
      for (const [time, change] of changes) {
        setClock(`2026-06-08T${time}:00Z`);
        await service.change(change);
      }
      setClock("2026-06-08T13:40:00Z");
      await service.createAccount(opening({ index: people }));
      setClock("2026-06-08T15:00:00Z");
      for (const [time, surname, state] of [
        ["12:10", "Kowalski", "open"],
        ["12:20", "Lis", "open"],
        ["12:50", "Lis", "blocked"],
        ["13:05", "Lis", "open"],
        ["13:30", "Lis", "closed"],
        ["14:00", "Kowalski", "open"],
      ]) {
        const at = new Date(`2026-06-08T${time}:00Z`);
        const { items } = await service.accounts({ limit: 200, at });
        const listed = items.find((each) => each.pesel === pesel) ?? assert.fail(`not listed at ${time}`);
        for (const account of [await service.account(pesel, at), listed]) {
          const expected = [surname, state === "blocked", state === "closed"];
          assert.deepEqual([account.surname, account.blocked, account.closed], expected, time);
        }
      }
    });
  });

  for (const [what, ask] of [
    ["an account", (at: Date) => service.account(adult(1), at)],
    ["the accounts", (at: Date) => service.accounts({ limit: 1, at })],
    ["the position", (at: Date) => service.position(at)],
    ["an export", (at: Date) => exported(service, { format: "csv", at })],
  ] as const) {
    test(`${what} at a time of the last 10 seconds is refused`, async () => {
      setClock("2026-06-08T13:00:00Z");
      await ask(new Date("2026-06-08T12:59:50Z"));
      const { fields } = await refuses(
        ask(new Date("2026-06-08T12:59:50.001Z")),
        "invalid-request",
        "The request is not valid: at must be at least 10 seconds ago, because entries from before it may still be on their way.",
      );
      assert.deepEqual(fields, [{ pointer: "/at", detail: "must be at least 10 seconds ago" }]);
    });
  }

  for (const [what, name, verb, ask] of [
    ["a statement from a day", "from", "begun", () => statement({ from: "2026-06-09" })],
    ["a statement up to a day", "to", "ended", () => statement({ to: "2026-06-08" })],
    ["the till of a day", "date", "ended", () => service.till({ date: "2026-06-08", by: undefined })],
    ["an export up to a day", "to", "ended", () => exported(service, { format: "csv", to: "2026-06-08" })],
  ] as const) {
    test(`${what} that ${verb} in the last 10 seconds is refused`, async () => {
      setClock("2026-06-08T21:59:59Z");
      await ask();
      setClock("2026-06-08T22:00:09.999Z");
      const detail = `must have ${verb} at least 10 seconds ago`;
      const { fields } = await refuses(
        ask(),
        "invalid-request",
        `The request is not valid: ${name} ${detail}, because entries from before it may still be on their way.`,
      );
      assert.deepEqual(fields, [{ pointer: `/${name}`, detail }]);
      setClock("2026-06-08T22:00:10Z");
      await ask();
    });
  }

  test("the accounts at a time are those that were open, as they were, and the position is their sum", async () => {
    const first = await personAt("2026-06-09T12:00:00Z");
    await service.exchange({ pesel: first, ...terms("buy 10 USD for PLN") });
    const at = new Date("2026-06-09T12:30:00Z");
    const later = await personAt("2026-06-09T13:00:00Z");
    await service.exchange({ pesel: first, ...terms("buy 20 USD for PLN") });
    setClock("2026-06-09T14:00:00Z");
    const accounts = await everyPage((page) => service.accounts({ ...page, at }), 7);
    const pesels = accounts.map(({ pesel }) => pesel);
    assert.ok(pesels.includes(first) && !pesels.includes(later));
    const { currencies } = await service.position(at);
    for (const { currency, customers } of currencies) {
      const held = accounts.flatMap(({ balances }) => balances.filter((each) => each.currency === currency));
      assert.equal(
        held.reduce((sum, { minor }) => sum + minor, 0n),
        customers,
        currency,
      );
    }
    assert.notDeepEqual((await service.position()).currencies, currencies);
  });

  test("a page of accounts that were not open yet is empty, and not the last", async () => {
    await personAt("2026-06-08T12:00:00Z");
    await personAt("2026-06-08T12:00:00Z");
    setClock("2026-06-08T13:00:00Z");
    const { items, next } = await service.accounts({ limit: 1, at: new Date("2026-06-08T11:00:00Z") });
    assert.deepEqual(items, []);
    assert.ok(next !== undefined);
  });

  describe("the statement of a period", () => {
    /** Three days in Warsaw: opened on the 10th; a deposit in the first and in the last second of the 11th, and on the 12th. */
    const person = async () => {
      const pesel = await personAt("2026-06-10T12:00:00Z");
      await depositAt("2026-06-10T22:00:00.000Z", pesel, "1 PLN");
      await depositAt("2026-06-11T21:59:59.999Z", pesel, "2 USD");
      await depositAt("2026-06-11T22:00:00.000Z", pesel, "4 PLN");
      setClock("2026-06-13T12:00:00Z");
      return pesel;
    };
    const shown = async (pesel: Pesel, period: { from?: string; to?: string }, page?: PageRequest) => {
      const { items, opening, closing } = await service.statement(pesel, { limit: 10, ...page, ...period });
      return [items.map(({ sequence }) => sequence), opening && texts(opening), closing && texts(closing)];
    };

    test("The statement of a period has the entries of its days in Warsaw, both included, and the balances before and after", async () => {
      const pesel = await person();
      assert.deepEqual(await shown(pesel, { from: "2026-06-11", to: "2026-06-11" }), [
        [3, 2],
        ["1000.00 PLN"],
        ["1001.00 PLN", "2.00 USD"],
      ]);
    });

    test("The statement of a period without a first day begins with nothing, and without a last ends with the balances now", async () => {
      const pesel = await person();
      const now = ["1005.00 PLN", "2.00 USD"];
      assert.deepEqual(await shown(pesel, {}), [[4, 3, 2, 1], [], now]);
      assert.deepEqual(await shown(pesel, { from: "2026-06-12" }), [[4], ["1001.00 PLN", "2.00 USD"], now]);
      assert.deepEqual(await shown(pesel, { to: "2026-06-10" }), [[1], [], ["1000.00 PLN"]]);
    });

    test("The statement of a period without entries ends with the balances that it begins with", async () => {
      const pesel = await person();
      const now = ["1005.00 PLN", "2.00 USD"];
      assert.deepEqual(await shown(pesel, { from: "2026-06-13", to: "2026-06-20" }), [[], now, now]);
      assert.deepEqual(await shown(pesel, { to: "2026-06-09" }), [[], [], []]);
    });

    test("A statement by key takes no period and no cursor", async () => {
      const pesel = await person();
      const { receiptId } = await service.change(cash("deposit", pesel, "1 PLN", { key: "k" }));
      const byKey = { limit: 1, key: "k" };
      assert.equal((await service.statement(pesel, byKey)).items[0]?.id, receiptId);
      for (const part of [{ from: "2026-01-01" }, { to: "2026-01-01" }, { cursor: receiptId }]) {
        const error = await refuses(service.statement(pesel, { ...byKey, ...part }), "invalid-request");
        assert.equal(error.fields?.[0]?.pointer, "/key");
      }
    });

    test("The statement of a period comes page by page, its balances on the first", async () => {
      const pesel = await person();
      const period = { from: "2026-06-11", to: "2026-06-11" };
      const first = await service.statement(pesel, { limit: 1, ...period });
      assert.deepEqual(texts(first.opening ?? []), ["1000.00 PLN"]);
      assert.deepEqual(await shown(pesel, period, { limit: 1, cursor: first.next }), [
        [2],
        undefined,
        undefined,
      ]);
      const all = await everyPage((page) => service.statement(pesel, { ...page, ...period }), 1);
      assert.deepEqual(
        all.map(({ sequence }) => sequence),
        [3, 2],
      );
    });
  });
}
