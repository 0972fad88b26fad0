import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Balances, type Event, type Happening, History, type Order, readHistory } from "./history.ts";
import {
  balancesAfter,
  type Fault,
  type Final,
  faultKinds,
  type JournalEntry,
  judge,
  type Reader,
} from "./judge.ts";
import { playCorrectly } from "./model.ts";
import { repeatedIn } from "./wire.ts";

const pesel = "80010112340";

/** A ledger of one account, and the history of its clients. */
class Story {
  readonly events: Event[] = [];
  readonly journal: JournalEntry[] = [];
  /** Attempts that the proxy repeated. */
  readonly repeated = new Set<number>();
  #attempts = 0;

  constructor() {
    this.#happens({ event: "sent", attempt: 0, asked: deposit("open", 1000, "opening") });
    this.write(deposit("open", 1000, "opening"));
    this.answer(0, this.journal[0]);
  }

  #happens(happening: Happening): void {
    this.events.push({ at: 10 * this.events.length, ...happening });
  }

  say(happening: Happening): this {
    this.#happens(happening);
    return this;
  }

  send(asked: Order): number {
    this.#attempts += 1;
    this.#happens({ event: "sent", attempt: this.#attempts, asked });
    return this.#attempts;
  }

  /** Appends an order to the journal without an answer. */
  write(order: Order): JournalEntry {
    assert.ok(order.kind !== "exchange");
    const { key, kind, currency, minor } = order;
    const moved = { currency, minor };
    const [debited, credited] = kind === "withdrawal" ? [moved, null] : [null, moved];
    const balances = balancesAfter(this.journal.at(-1)?.balances ?? {}, { debited, credited });
    const sequence = this.journal.length + 1;
    const entry = { pesel, sequence, id: `r${sequence}`, key, kind, side: null, debited, credited, balances };
    this.journal.push(entry);
    return entry;
  }

  answer(attempt: number, entry: JournalEntry | undefined, replayed = false): void {
    assert.ok(entry !== undefined);
    const { id: receipt, balances } = entry;
    this.#happens({ event: "done", attempt, receipt, replayed, balances });
  }

  /** Sends an order, appends it to the journal and answers it. */
  order(order: Order): JournalEntry {
    const attempt = this.send(order);
    const entry = this.write(order);
    this.answer(attempt, entry);
    return entry;
  }

  read(shown: JournalEntry | Balances | null, how: "account" | "newest" = "account"): void {
    const attempt = this.ask(how);
    this.shows(attempt, shown);
  }

  ask(kind: "account" | "newest" = "account"): number {
    this.#attempts += 1;
    this.#happens({ event: "sent", attempt: this.#attempts, asked: { kind, pesel } });
    return this.#attempts;
  }

  shows(attempt: number, shown: JournalEntry | Balances | null): void {
    if (shown === null || !("id" in shown)) {
      this.#happens({ event: "read", attempt, balances: shown as Balances | null });
      return;
    }
    const { id, sequence, balances } = shown as JournalEntry;
    this.#happens({ event: "read", attempt, balances, entry: { id, sequence } });
  }

  final(readers: readonly Reader[] = []): Final {
    return { journal: this.journal, readers, repeated: this.repeated };
  }

  /** The findings of the verdict as "kind: text". */
  sentences(readers?: readonly Reader[]): string[] {
    return judge(this.events, this.final(readers)).faults.map(({ kind, text }) => `${kind}: ${text}`);
  }
}

function deposit(
  key: string | null,
  minor: number,
  kind: "deposit" | "opening" | "withdrawal" = "deposit",
): Order {
  return { kind, pesel, key, currency: "PLN", minor };
}

function story(): Story {
  return new Story();
}

describe("The judge of a history", () => {
  test("The judge finds an answered order that was lost and repeated under another receipt", () => {
    const s = story();
    const entry = s.order(deposit("a", 7));
    s.journal[1] = { ...entry, id: "new" };
    assert.match(
      s.sentences().join(),
      /^lost: .* is not in the journal. The journal has new under its key.$/,
    );
  });

  test("The judge finds two entries of an unanswered order without a key", () => {
    const s = story();
    const attempt = s.send(deposit(null, 7));
    s.write(deposit(null, 7));
    s.say({ event: "unknown", attempt, why: "ECONNRESET" });
    assert.deepEqual(s.sentences(), []);
    s.write(deposit(null, 7));
    assert.deepEqual(s.sentences(), [
      "doubled: The deposit of PLN 7 by 80010112340 without a key is in the journal 2 times, as entries 2 and 3.",
    ]);
  });

  test("The judge finds an entry that nobody asked for", () => {
    const s = story();
    s.write(deposit("b", 7));
    assert.deepEqual(s.sentences(), [
      "uncalled: Nobody asked for entry 2 of 80010112340 (deposit of PLN 7 with the key b).",
    ]);
  });

  test("The judge finds an order that was carried out with another amount", () => {
    const s = story();
    s.send(deposit("a", 7));
    s.write(deposit("a", 8));
    assert.match(
      s.sentences().join(),
      /^altered: The deposit of PLN 7 .* was carried out as entry 2 .* PLN 8/,
    );
  });

  test("The judge finds entries in another order than their answers", () => {
    const s = story();
    const second = s.send(deposit("b", 7));
    s.write(deposit("c", 8));
    s.answer(second, s.write(deposit("b", 7)));
    s.answer(s.send(deposit("c", 8)), s.journal[1]);
    assert.deepEqual(s.sentences(), [
      "disorder: Entry 2 of 80010112340 (deposit of PLN 8 with the key c) was sent at 0.04 s, after the answer at 0.03 s had shown entry 3.",
    ]);
  });

  test("The judge finds a read that shows an order before it was sent", () => {
    const s = story();
    s.read({ PLN: 1007 });
    s.order(deposit("a", 7));
    assert.deepEqual(s.sentences(), [
      "disorder: Entry 2 of 80010112340 (deposit of PLN 7 with the key a) was sent at 0.04 s, after a read answered at 0.03 s had shown entry 2.",
    ]);
  });

  for (const how of ["account", "newest"] as const) {
    test(`The judge finds a stale read of the ${how}`, () => {
      const s = story();
      const [before] = s.journal;
      s.order(deposit("a", 7));
      s.read(how === "newest" ? (before ?? null) : { PLN: 1000 }, how);
      assert.deepEqual(s.sentences(), [
        "stale: The account 80010112340, asked for at 0.04 s and answered at 0.05 s, was as after entry 1, and the answer at 0.03 s had shown entry 2.",
      ]);
    });
  }

  test("The judge finds a read that is older than an earlier read", () => {
    const s = story();
    s.send(deposit("a", 7));
    s.write(deposit("a", 7));
    s.read({ PLN: 1007 });
    s.read({ PLN: 1000 });
    assert.match(s.sentences().join(), /^stale: .* and a read answered at 0.04 s had shown entry 2.$/);
  });

  test("The judge finds a read that lacks an account whose opening was answered", () => {
    const s = story();
    s.read(null);
    assert.match(s.sentences().join(), /^stale: .* was as after entry 0/);
  });

  test("The judge finds a read of balances that never existed, and of an unknown entry", () => {
    const s = story();
    s.read({ PLN: 1001 });
    s.read({ ...(s.journal[0] as JournalEntry), id: "gone" }, "newest");
    const never = "was PLN 1001, as no entry left it.";
    assert.match(s.sentences()[0] ?? "", new RegExp(`^phantom: .* ${never}$`));
    assert.match(s.sentences()[1] ?? "", /^phantom: .* was PLN 1000, as no entry left it.$/);
  });

  test("The judge finds an answer with wrong balances, and one with the receipt of another order", () => {
    const s = story();
    const attempt = s.send(deposit("a", 7));
    s.answer(attempt, { ...s.write(deposit("a", 7)), balances: { PLN: 7 } });
    s.answer(s.send(deposit("b", 8)), s.journal[1]);
    const [first = "", second = ""] = s.sentences();
    assert.match(first, /^answer: .* with PLN 7, is an entry that left PLN 1007.$/);
    assert.match(second, /^answer: .* with receipt r2, has that of entry 2 /);
  });

  test("The judge finds no fault in a replayed answer if the proxy repeated the request", () => {
    const s = story();
    const attempt = s.send(deposit("a", 7));
    s.answer(attempt, s.write(deposit("a", 7)), true);
    s.repeated.add(attempt);
    assert.deepEqual(s.sentences(), []);
    assert.equal(judge(s.events, s.final()).figures.repeatedByProxy, 1);
  });

  test("The judge finds an order that was done twice because the proxy repeated it", () => {
    const s = story();
    const attempt = s.send(deposit("a", 7));
    s.write(deposit("a", 7));
    s.answer(attempt, s.write(deposit("a", 7)), true);
    s.repeated.add(attempt);
    assert.deepEqual(s.sentences(), [
      "doubled: The deposit of PLN 7 by 80010112340 with the key a is in the journal 2 times, as entries 2 and 3.",
    ]);
  });

  test("The judge finds a replayed answer to an order sent once, and two answers as new to one order", () => {
    const s = story();
    s.answer(s.send(deposit("a", 7)), s.write(deposit("a", 7)), true);
    s.answer(s.send(deposit("a", 7)), s.journal[1]);
    const [first = "", second = ""] = s.sentences();
    assert.match(first, /^answer: .* as a repetition, was sent once.$/);
    assert.match(second, /^answer: .* as new, had been answered before.$/);
  });

  test("The judge finds two receipts for one order", () => {
    const s = story();
    s.order(deposit("a", 7));
    s.answer(s.send(deposit("a", 7)), s.write(deposit("a", 7)), true);
    assert.match(s.sentences()[0] ?? "", /^answer: .*, got receipt r3, and before that r2.$/);
  });

  test("The judge finds a refused order that is in the journal", () => {
    const s = story();
    const order = deposit("w", 7, "withdrawal");
    s.say({ event: "refused", attempt: s.send(order), code: "insufficient-funds" });
    assert.deepEqual(s.sentences(), []);
    s.write(order);
    assert.match(s.sentences().join(), /^refused: .* was refused with insufficient-funds, and is entry 2.$/);
  });

  test("The judge finds an order in the journal although every answer said that it was not begun", () => {
    const s = story();
    s.say({ event: "refused", attempt: s.send(deposit("a", 7)), code: "overloaded" });
    s.write(deposit("a", 7));
    assert.match(s.sentences().join(), /^refused: .* was refused each time, and is entry 2.$/);
    s.say({ event: "unknown", attempt: s.send(deposit("a", 7)), why: "ECONNRESET" });
    assert.deepEqual(s.sentences(), []);
  });

  test("The judge finds a refusal that cannot happen to these clients", () => {
    const s = story();
    s.say({ event: "refused", attempt: s.send(deposit("a", 7)), code: "idempotency-key-reused" });
    assert.match(s.sentences().join(), /^answer: .* was refused with idempotency-key-reused.$/);
  });

  test("The judge finds a gap in the journal, and balances that do not follow from the entry before", () => {
    const s = story();
    const entry = s.order(deposit("a", 7));
    s.journal[1] = { ...entry, sequence: 3, balances: { PLN: 1008 } };
    const kinds = s.sentences();
    assert.match(kinds[0] ?? "", /^journal: Entry 1 of 80010112340 is followed by entry 3.$/);
    assert.match(kinds[1] ?? "", /^journal: .* leaves PLN 1008, .* make PLN 1007.$/);
  });

  test("The judge finds two entries with one id", () => {
    const s = story();
    s.journal[1] = { ...s.order(deposit("a", 7)), id: "r1" };
    assert.equal(s.sentences()[0], "journal: Two entries have the id r1.");
  });

  test("The judge finds readers whose accounts, chains, findings or sums differ from the journal", () => {
    const s = story();
    const audit = { findings: 0, entries: 1, digest: "d" };
    const accounts = new Map([[pesel, { PLN: 1000 }]]);
    const position = new Map([["PLN", { customers: 1000, house: 0 }]]);
    const right = { name: "fx1", accounts, audit, position };
    assert.deepEqual(s.sentences([right, { ...right, name: "db2" }]), []);
    const wrong: Reader[] = [
      { name: "fx2", accounts: new Map([[pesel, { PLN: 1 }]]) },
      { name: "fx3", accounts: new Map<string, Balances>([...accounts, ["other", {}]]) },
      { name: "db1", audit: { ...audit, findings: 2, entries: 5, digest: "e" } },
      { name: "db3", failure: "ECONNREFUSED" },
      { name: "proxy", position: new Map([["PLN", { customers: 999, house: 0 }]]) },
    ];
    assert.deepEqual(s.sentences([right, ...wrong]), [
      "readers: fx2 has PLN 1 for 80010112340, and its last entry left PLN 1000.",
      "readers: fx3 has 2 accounts, and the journal 1.",
      "readers: The audit by db1 has findings: 2.",
      "readers: The audit by db1 read 5 entries, and the journal has 1.",
      "readers: db3 could not be read: ECONNREFUSED",
      "readers: proxy has 999 and 0 of PLN with customers and the house, and the journal comes to 1000 and 0.",
      "readers: The chains are not the same everywhere: fx1, db1 audited different ones.",
    ]);
  });
});

describe("Stale reads while the primary's Patroni is stopped", () => {
  function stale(during: (s: Story) => void): Story {
    const s = story();
    s.say({ event: "unwatched", host: "db1" });
    s.order(deposit("a", 7));
    during(s);
    return s;
  }

  test("A stale read while Patroni is stopped is counted, but is no fault", () => {
    const s = stale((s) => s.read({ PLN: 1000 }));
    const { isClean, figures } = judge(s.events, s.final());
    assert.equal(isClean, true);
    assert.equal(figures.staleReadsExcused, 1);
  });

  test("A stale read is a fault once Patroni watches that primary again", () => {
    const s = stale((s) => s.say({ event: "watched", host: "db1" }).read({ PLN: 1000 }));
    assert.match(s.sentences().join(), /^stale:/);
  });

  test("A stale read is a fault if it lacks an order answered before Patroni was stopped", () => {
    const s = stale((s) => s.read(null));
    assert.match(s.sentences().join(), /^stale:/);
  });
});

test("The judge's figures count each order once, by its outcome", () => {
  const s = story();
  s.order(deposit("a", 7));
  const lost = s.send(deposit("b", 8));
  s.say({ event: "unknown", attempt: lost, why: "ECONNRESET" });
  s.answer(s.send(deposit("b", 8)), s.write(deposit("b", 8)), true);
  s.say({ event: "refused", attempt: s.send(deposit("c", 9)), code: "insufficient-funds" });
  s.say({ event: "unknown", attempt: s.send(deposit(null, 3)), why: "no answer in time" });
  s.write(deposit(null, 3));
  s.read({ PLN: 1018 });
  assert.deepEqual(judge(s.events, s.final()), {
    isClean: true,
    faults: [],
    counts: {},
    figures: {
      orders: 5,
      answered: 3,
      refused: 1,
      unknown: 1,
      unknownDone: 1,
      attemptsUnknown: { ECONNRESET: 1, "no answer in time": 1 },
      reads: 1,
      staleReadsExcused: 0,
      repeatedByProxy: 0,
      entries: 4,
      longestGapMs: 40,
    },
  });
});

test("A history survives writing and reading its file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fx-history-"));
  try {
    const history = new History(join(folder, "history.ndjson"));
    const attempt = history.sent(deposit("zażółć", 7));
    history.add({ event: "unknown", attempt, why: "x".repeat(2_000_000) });
    history.add({ event: "fault", what: "kill -9" });
    await history.close();
    const read = [...readHistory(history.file)];
    assert.deepEqual(
      read.map(({ event }) => event),
      ["sent", "unknown", "fault"],
    );
    assert.deepEqual((read[0] as Event & { event: "sent" }).asked, deposit("zażółć", 7));
    assert.deepEqual(history.counts, { sent: 1, unknown: 1, fault: 1 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("Random concurrent histories", () => {
  const seeds = fc.integer({ min: 0, max: 2 ** 31 });

  test("A random concurrent history of a correct ledger is always accepted", () => {
    const met = { refused: 0, unknownDone: 0, staleReadsExcused: 0 };
    fc.assert(
      fc.property(seeds, (seed) => {
        const { events, final } = playCorrectly(seed);
        const { faults, figures } = judge(events, final);
        assert.deepEqual(faults, []);
        for (const what of ["refused", "unknownDone", "staleReadsExcused"] as const)
          met[what] += figures[what];
      }),
      { numRuns: 300 },
    );
    for (const [what, count] of Object.entries(met)) assert.ok(count > 5, `${what}: ${count}`);
  });

  /** Each introduces one fault into a correct history, or returns undefined where that is impossible. */
  const breaks: Partial<Record<Fault["kind"], (played: Played, pick: number) => Played | undefined>> = {
    lost: ({ events, final }, pick) => {
      const answered = new Set(events.flatMap((event) => (event.event === "done" ? [event.receipt] : [])));
      const chosen = choose(
        final.journal.filter(({ id }) => answered.has(id)),
        pick,
      );
      // A fail-over loses an entry together with all later ones.
      const stays = ({ pesel, sequence }: JournalEntry) =>
        pesel !== chosen?.pesel || sequence < (chosen?.sequence ?? 0);
      return chosen && { events, final: { ...final, journal: final.journal.filter(stays) } };
    },
    doubled: ({ events, final }, pick) => {
      const entry = choose(
        final.journal.filter(({ kind }) => kind === "deposit"),
        pick,
      );
      if (entry === undefined) return undefined;
      const last = final.journal.filter(({ pesel }) => pesel === entry.pesel).at(-1) as JournalEntry;
      const balances = balancesAfter(last.balances, entry);
      const again = { ...entry, id: "again", sequence: last.sequence + 1, balances };
      return { events, final: { ...final, journal: [...final.journal, again] } };
    },
    stale: ({ events, final }, pick) => {
      const seen = new Map<string, number>();
      const places = new Map(final.journal.map((entry) => [entry.id, entry]));
      const asked = new Map<number, { readonly pesel: string; readonly low: number }>();
      const candidates: { readonly index: number; readonly old: JournalEntry }[] = [];
      for (const [index, event] of events.entries()) {
        if (event.event === "sent") {
          asked.set(event.attempt, { pesel: event.asked.pesel, low: seen.get(event.asked.pesel) ?? 0 });
        }
        const entry = event.event === "done" ? places.get(event.receipt) : undefined;
        if (entry !== undefined) seen.set(entry.pesel, Math.max(entry.sequence, seen.get(entry.pesel) ?? 0));
        if (event.event !== "read" || event.entry === undefined) continue;
        const { pesel, low } = asked.get(event.attempt) as { pesel: string; low: number };
        const old = final.journal.find((entry) => entry.pesel === pesel && entry.sequence === low - 1);
        if (old !== undefined) candidates.push({ index, old });
      }
      const chosen = choose(candidates, pick);
      if (chosen === undefined) return undefined;
      const { id, sequence, balances } = chosen.old;
      const event = { ...events[chosen.index], balances, entry: { id, sequence } } as Event;
      // A stopped Patroni would excuse the stale read.
      const others = events.map((each, index) => (index === chosen.index ? event : each));
      return { events: others.filter((each) => each.event !== "unwatched"), final };
    },
  };

  for (const [kind, breakIt] of Object.entries(breaks) as [Fault["kind"], (typeof breaks)["lost"]][]) {
    test(`A random history is never accepted once ${faultKinds[kind]}`, () => {
      let broken = 0;
      fc.assert(
        fc.property(seeds, fc.nat(), (seed, pick) => {
          const played = breakIt?.(playCorrectly(seed, { unwatched: kind !== "stale" }), pick);
          if (played === undefined) return;
          broken += 1;
          const { counts } = judge(played.events, played.final);
          assert.ok((counts[kind] ?? 0) > 0, JSON.stringify(counts));
        }),
        { numRuns: 300 },
      );
      assert.ok(broken > 100, `${broken} histories were broken`);
    });
  }
});

interface Played {
  readonly events: readonly Event[];
  readonly final: Final;
}

function choose<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % Math.max(1, list.length)];
}

test("Repeated attempts are found in HAProxy's log, with the same fx or another", () => {
  const log = "attempt 17 retries 0\nattempt 18 retries 1\nattempt 19 retries +2\nattempt - retries 1\n";
  assert.deepEqual([...repeatedIn(log)], [18, 19]);
});
