import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Asked } from "../support/asked.ts";
import { newFolder } from "../support/folder.ts";
import { type Balances, type Event, type Happening, History, readHistory } from "./history.ts";
import {
  askedText,
  balancesAfter,
  type Final,
  faultKinds,
  type JournalEntry,
  judge,
  type Reader,
} from "./judge.ts";
import { amountText, minorOf } from "./wire.ts";

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

  say(happening: Happening): void {
    this.#happens(happening);
  }

  send(asked: Asked): number {
    this.#attempts += 1;
    this.#happens({ event: "sent", attempt: this.#attempts, asked });
    return this.#attempts;
  }

  refuse(asked: Asked, code: string): void {
    this.#happens({ event: "refused", attempt: this.send(asked), code });
  }

  /** Sends an order and appends it to the journal; its client gets no answer. */
  unanswered(asked: Asked): void {
    const attempt = this.send(asked);
    this.write(asked);
    this.#happens({ event: "unknown", attempt, why: "ECONNRESET" });
  }

  /** Appends an order to the journal without an answer. */
  write(order: Asked): JournalEntry {
    const { key = null, kind } = order;
    const text = "pln" in order ? order.pln : "amount" in order ? order.amount : "0";
    const moved = { currency: "PLN", minor: minorOf(text, "PLN") };
    const [debited, credited] = kind === "withdrawal" ? [moved, null] : [null, moved];
    const balances = balancesAfter(this.journal.at(-1)?.balances ?? {}, { debited, credited });
    const sequence = this.journal.length + 1;
    const what = askedText(order);
    const entry = { pesel, sequence, id: `r${sequence}`, key, kind, what, debited, credited, balances };
    this.journal.push(entry);
    return entry;
  }

  answer(attempt: number, entry: JournalEntry | undefined, replayed = false): void {
    assert.ok(entry !== undefined);
    const { id: receipt, balances } = entry;
    this.#happens({ event: "done", attempt, receipt, replayed, balances });
  }

  /** Sends an order, appends it to the journal and answers it. */
  order(order: Asked): JournalEntry {
    const attempt = this.send(order);
    const entry = this.write(order);
    this.answer(attempt, entry);
    return entry;
  }

  read(shown: JournalEntry | Balances | null, kind: "account" | "newest" = "account"): void {
    this.#attempts += 1;
    const attempt = this.#attempts;
    this.#happens({ event: "sent", attempt, asked: { kind, pesel } });
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
): Asked {
  const [amount, keyed] = [amountText(minor, "PLN"), key === null ? {} : { key }];
  if (kind === "opening") return { kind, pesel, ...keyed, name: "Jan", surname: "Kowalski", pln: amount };
  return { kind, pesel, ...keyed, currency: "PLN", amount };
}

/** Stories of clients and the ledger, each with the sentences of its verdict: none where all is well. */
const stories: readonly [what: string, play: (s: Story) => void, found: readonly RegExp[]][] = [
  [
    "an answered order that was lost and repeated under another receipt",
    (s) => {
      s.journal[1] = { ...s.order(deposit("a", 7)), id: "new" };
    },
    [/^lost: .* is not in the journal. The journal has new under its key.$/],
  ],
  ["no fault in an order without a key and without an answer", (s) => s.unanswered(deposit(null, 7)), []],
  [
    "two entries of an unanswered order without a key",
    (s) => {
      s.unanswered(deposit(null, 7));
      s.write(deposit(null, 7));
    },
    [/^doubled: The deposit of PLN 0.07 by 80010112340 without a key is .* 2 times, as entries 2 and 3.$/],
  ],
  [
    "an entry that nobody asked for",
    (s) => s.write(deposit("b", 7)),
    [/^uncalled: Nobody asked for entry 2 of 80010112340 \(deposit of PLN 0.07 with the key b\).$/],
  ],
  [
    "an order that was carried out with another amount",
    (s) => {
      s.send(deposit("a", 7));
      s.write(deposit("a", 8));
    },
    [/^altered: The deposit of PLN 0.07 .* was carried out as entry 2 .* PLN 0.08/],
  ],
  [
    "entries in another order than their answers",
    (s) => {
      const second = s.send(deposit("b", 7));
      s.write(deposit("c", 8));
      s.answer(second, s.write(deposit("b", 7)));
      s.answer(s.send(deposit("c", 8)), s.journal[1]);
    },
    [/^disorder: Entry 2 .* was sent at 0.04 s, after the answer at 0.03 s had shown entry 3.$/],
  ],
  [
    "a read that shows an order before it was sent",
    (s) => {
      s.read({ PLN: 1007 });
      s.order(deposit("a", 7));
    },
    [/^disorder: Entry 2 .* was sent at 0.04 s, after a read answered at 0.03 s had shown entry 2.$/],
  ],
  [
    "a stale read of an account",
    (s) => {
      s.order(deposit("a", 7));
      s.read({ PLN: 1000 });
    },
    [
      /^stale: .* asked for at 0.04 s and .* was as after entry 1, and the answer at 0.03 s had shown entry 2.$/,
    ],
  ],
  [
    "a stale read of the newest entry",
    (s) => {
      const [before] = s.journal;
      s.order(deposit("a", 7));
      s.read(before as JournalEntry, "newest");
    },
    [/^stale: .* was as after entry 1, and the answer at 0.03 s had shown entry 2.$/],
  ],
  [
    "a read that is older than an earlier read",
    (s) => {
      s.send(deposit("a", 7));
      s.write(deposit("a", 7));
      s.read({ PLN: 1007 });
      s.read({ PLN: 1000 });
    },
    [/^stale: .* and a read answered at 0.04 s had shown entry 2.$/],
  ],
  [
    "a read that lacks an account whose opening was answered",
    (s) => s.read(null),
    [/^stale: .* was as after entry 0/],
  ],
  [
    "a read of balances that never existed, and of an unknown entry",
    (s) => {
      s.read({ PLN: 1001 });
      s.read({ ...(s.journal[0] as JournalEntry), id: "gone" }, "newest");
    },
    [/^phantom: .* was PLN 1001, as no entry left it.$/, /^phantom: .* was PLN 1000, as no entry left it.$/],
  ],
  [
    "an answer with wrong balances, and one with the receipt of another order",
    (s) => {
      const attempt = s.send(deposit("a", 7));
      s.answer(attempt, { ...s.write(deposit("a", 7)), balances: { PLN: 7 } });
      s.answer(s.send(deposit("b", 8)), s.journal[1]);
    },
    [/^answer: .* with PLN 7, is an entry that left PLN 1007.$/, /^answer: .* r2, has that of entry 2 /],
  ],
  [
    "no fault in a replayed answer if the proxy repeated the request",
    (s) => {
      const attempt = s.send(deposit("a", 7));
      s.answer(attempt, s.write(deposit("a", 7)), true);
      s.repeated.add(attempt);
    },
    [],
  ],
  [
    "an order that was done twice because the proxy repeated it",
    (s) => {
      const attempt = s.send(deposit("a", 7));
      s.write(deposit("a", 7));
      s.answer(attempt, s.write(deposit("a", 7)), true);
      s.repeated.add(attempt);
    },
    [/^doubled: .* with the key a is in the journal 2 times, as entries 2 and 3.$/],
  ],
  [
    "a replayed answer to an order sent once, and two answers as new to one order",
    (s) => {
      s.answer(s.send(deposit("a", 7)), s.write(deposit("a", 7)), true);
      s.answer(s.send(deposit("a", 7)), s.journal[1]);
    },
    [/^answer: .* as a repetition, was sent once.$/, /^answer: .* as new, had been answered before.$/],
  ],
  [
    "two receipts for one order",
    (s) => {
      s.order(deposit("a", 7));
      s.answer(s.send(deposit("a", 7)), s.write(deposit("a", 7)), true);
    },
    [/^answer: .*, got receipt r3, and before that r2.$/, /^doubled: /],
  ],
  [
    "no fault in two answers to an order that is sent to two servers at once",
    (s) => {
      const [first, second] = [s.send(deposit("a", 7)), s.send(deposit("a", 7))];
      s.answer(second, s.write(deposit("a", 7)), true);
      s.answer(first, s.journal[1]);
    },
    [],
  ],
  [
    "two answers as new to an order that is sent to two servers at once",
    (s) => {
      const [first, second] = [s.send(deposit("a", 7)), s.send(deposit("a", 7))];
      s.answer(second, s.write(deposit("a", 7)));
      s.answer(first, s.journal[1]);
    },
    [/^answer: .* as new, had been answered before.$/],
  ],
  [
    "an order that was refused once and is done under the same key later",
    (s) => {
      s.refuse(deposit("w", 1001, "withdrawal"), "insufficient-funds");
      s.order(deposit("a", 5));
      s.order(deposit("w", 1001, "withdrawal"));
    },
    [/^answer: .* as done, had been refused with insufficient-funds.$/],
  ],
  [
    "no fault in a refused order",
    (s) => s.refuse(deposit("w", 1001, "withdrawal"), "insufficient-funds"),
    [],
  ],
  [
    "a refusal for want of money by an account that had enough",
    (s) => {
      s.refuse(deposit("w", 1000, "withdrawal"), "insufficient-funds");
      s.refuse(deposit("d", 5), "insufficient-funds");
    },
    [
      /^answer: The withdrawal .* insufficient-funds, and had enough.$/,
      /^answer: The deposit .* had enough.$/,
    ],
  ],
  [
    "a refused order that is in the journal",
    (s) => {
      s.refuse(deposit("w", 1001, "withdrawal"), "insufficient-funds");
      s.order(deposit("a", 5));
      s.write(deposit("w", 1001, "withdrawal"));
    },
    [/^refused: .* was refused with insufficient-funds, and is entry 3.$/],
  ],
  [
    "an order in the journal although every answer said that it was not begun",
    (s) => {
      s.refuse(deposit("a", 7), "overloaded");
      s.write(deposit("a", 7));
    },
    [/^refused: .* was refused each time, and is entry 2.$/],
  ],
  [
    "no fault in an order that was not begun once, and then had no answer",
    (s) => {
      s.refuse(deposit("a", 7), "overloaded");
      s.unanswered(deposit("a", 7));
    },
    [],
  ],
  [
    "a refusal that cannot happen to these clients",
    (s) => s.refuse(deposit("a", 7), "idempotency-key-reused"),
    [/^answer: .* was refused with idempotency-key-reused.$/],
  ],
  [
    "a gap in the journal, and balances that do not follow from the entry before",
    (s) => {
      s.journal[1] = { ...s.order(deposit("a", 7)), sequence: 3, balances: { PLN: 1008 } };
    },
    [
      /^journal: Entry 1 of 80010112340 is followed by entry 3.$/,
      /^journal: .* leaves PLN 1008, .* make PLN 1007.$/,
      /^answer: /,
    ],
  ],
  [
    "two entries with one id",
    (s) => {
      s.unanswered(deposit("a", 7));
      s.journal[1] = { ...(s.journal[1] as JournalEntry), id: "r1" };
    },
    [/^journal: Two entries have the id r1.$/, /^answer: .* r1, has that of entry 2 /, /^disorder: /],
  ],
  [
    "no fault in a stale read while the primary's Patroni is stopped",
    (s) => {
      s.say({ event: "unwatched", host: "db1" });
      s.order(deposit("a", 7));
      s.read({ PLN: 1000 });
    },
    [],
  ],
  [
    "a stale read once Patroni watches that primary again",
    (s) => {
      s.say({ event: "unwatched", host: "db1" });
      s.order(deposit("a", 7));
      s.say({ event: "watched", host: "db1" });
      s.read({ PLN: 1000 });
    },
    [/^stale: /],
  ],
  [
    "a stale read that lacks an order answered before Patroni was stopped",
    (s) => {
      s.say({ event: "unwatched", host: "db1" });
      s.order(deposit("a", 7));
      s.read(null);
    },
    [/^stale: /],
  ],
];

for (const [what, play, found] of stories) {
  test(`The judge finds ${what}`, () => {
    const s = new Story();
    play(s);
    const sentences = s.sentences();
    assert.equal(sentences.length, found.length, sentences.join("\n"));
    for (const [nth, pattern] of found.entries()) assert.match(sentences[nth] ?? "", pattern);
  });
}

test("The judge finds readers whose chains, entries or findings differ from the journal", () => {
  const s = new Story();
  const audit = { findings: 0, entries: 1, digest: "d" };
  const right = { name: "fx1", audit };
  assert.deepEqual(s.sentences([right, { ...right, name: "db2" }]), []);
  const wrong: Reader[] = [
    { name: "db1", audit: { findings: 2, entries: 5, digest: "e" } },
    { name: "db3", failure: "ECONNREFUSED" },
  ];
  assert.deepEqual(s.sentences([right, ...wrong]), [
    "readers: The audit by db1 has findings: 2.",
    "readers: The audit by db1 read 5 entries, and the journal has 1.",
    "readers: db3 could not be read: ECONNREFUSED",
    "readers: The chains are not the same everywhere: fx1, db1 audited different ones.",
  ]);
});

test("Every kind of fault is found in some story", () => {
  const met = stories.flatMap(([, , found]) => found.map(({ source }) => source));
  const missing = Object.keys(faultKinds).filter((kind) => !met.some((one) => one.startsWith(`^${kind}: `)));
  assert.deepEqual(missing, ["readers"]);
});

test("The judge's figures count each order once, by its outcome", () => {
  const s = new Story();
  s.order(deposit("a", 7));
  const lost = s.send(deposit("b", 8));
  s.say({ event: "unknown", attempt: lost, why: "ECONNRESET" });
  s.answer(s.send(deposit("b", 8)), s.write(deposit("b", 8)), true);
  s.say({ event: "refused", attempt: s.send(deposit("c", 2000, "withdrawal")), code: "insufficient-funds" });
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
      answeredByKind: { opening: 1, deposit: 2 },
      refused: 1,
      unknown: 1,
      unknownDone: 1,
      attemptsOpen: { ECONNRESET: 1, "no answer in time": 1 },
      replays: 1,
      foundDone: 1,
      waitMs: { median: 10, max: 30 },
      reads: 1,
      staleReadsExcused: 0,
      repeatedByProxy: 0,
      entries: 4,
      longestGapMs: 40,
    },
  });
});

test("A history survives writing and reading its file", async (t) => {
  const history = new History(join(newFolder(t), "history.ndjson"));
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
});
