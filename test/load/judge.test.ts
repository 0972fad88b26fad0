import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Asked } from "../support/asked.ts";
import { testCases } from "../support/cases.ts";
import { newFolder } from "../support/folder.ts";
import { type Event, type Happening, History, readHistory } from "./history.ts";
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
const cases = new URL("judge.txt", import.meta.url);

function order(kind: "deposit" | "opening" | "withdrawal", key: string, minor: number): Asked {
  const [amount, keyed] = [amountText(minor, "PLN"), key === "-" ? {} : { key }];
  if (kind === "opening") return { kind, pesel, ...keyed, name: "Jan", surname: "Kowalski", pln: amount };
  return { kind, pesel, ...keyed, currency: "PLN", amount };
}

/**
 * The history of clients, and the ledger of one account, which was opened with 10.00 PLN under the key "open". An order is
 * a deposit, or a withdrawal after `withdraw`, with its key and its grosze; without a key it has a hyphen.
 *
 * - `done`, `unanswered` and `refused` are a whole order; `sent`, `written` and `answered` are its parts. An answer has the
 *   number of its attempt, its receipt, and `again` if it repeats an earlier one, or other balances;
 * - `read` is a read, with what it showed; `entry` changes an entry; `repeated` is an attempt that the proxy repeated.
 */
function played(steps: string): { readonly events: Event[]; readonly final: Final } {
  const events: Event[] = [];
  const journal: JournalEntry[] = [];
  const repeated = new Set<number>();
  let attempts = -1;
  const happens = (happening: Happening) => void events.push({ at: 10 * events.length, ...happening });
  const send = (asked: (Happening & { event: "sent" })["asked"]) => {
    attempts += 1;
    happens({ event: "sent", attempt: attempts, asked });
    return attempts;
  };
  const write = (asked: Asked): JournalEntry => {
    const { key = null, kind } = asked;
    const moved = { currency: "PLN", minor: minorOf("pln" in asked ? asked.pln : amountOf(asked), "PLN") };
    const [debited, credited] = kind === "withdrawal" ? [moved, null] : [null, moved];
    const balances = balancesAfter(journal.at(-1)?.balances ?? {}, { debited, credited });
    const sequence = journal.length + 1;
    const facts = { pesel, sequence, id: `r${sequence}`, key, kind, what: askedText(asked) };
    const entry = { ...facts, debited, credited, balances };
    journal.push(entry);
    return entry;
  };
  const answer = (attempt: number, entry: JournalEntry | undefined, again = false, left?: string) => {
    assert.ok(entry !== undefined);
    const balances = left === undefined ? entry.balances : { PLN: Number(left) };
    happens({ event: "done", attempt, receipt: entry.id, replayed: again, balances });
  };
  const done = (asked: Asked) => answer(send(asked), write(asked));
  done(order("opening", "open", 1000));

  for (const line of steps.split("\n")) {
    const [, verb, kind, rest = ""] = /^(\w+) (withdraw )?(.*)$/.exec(line) ?? [];
    const [first = "", second = "", , as] = rest.split(/[ ,:]+/);
    const asked = () => order(kind ? "withdrawal" : "deposit", first, Number(second));
    const optional = (name: string) => new RegExp(`\\b${name} (\\w+)`).exec(rest)?.[1];
    const entry = (id: string) => journal.find((one) => one.id === id);
    if (verb === "done") done(asked());
    else if (verb === "sent") send(asked());
    else if (verb === "written") write(asked());
    else if (verb === "unanswered" || verb === "refused") {
      const attempt = send(asked());
      if (verb === "refused") happens({ event: "refused", attempt, code: rest.replace(/^.*: /, "") });
      else {
        write(asked());
        happens({ event: "unknown", attempt, why: "ECONNRESET" });
      }
    } else if (verb === "answered") {
      answer(Number(first), entry(second), rest.endsWith(", again"), optional("left"));
    } else if (verb === "repeated") repeated.add(Number(first));
    else if (verb === "unwatched" || verb === "watched") happens({ event: verb, host: first });
    else if (verb === "entry") {
      const [id, sequence, left] = ["id", "sequence", "left"].map(optional);
      const old = journal[Number(first) - 1] as JournalEntry;
      const balances = left === undefined ? old.balances : { PLN: Number(left) };
      const other = { ...old, id: id ?? old.id, sequence: Number(sequence ?? old.sequence), balances };
      journal[Number(first) - 1] = other;
    } else if (verb === "read") {
      const shown = entry(second);
      const attempt = send({ kind: shown ? "newest" : "account", pesel });
      if (shown === undefined) {
        happens({ event: "read", attempt, balances: first === "nothing" ? null : { PLN: Number(first) } });
      } else {
        const { id, sequence, balances } = shown;
        happens({ event: "read", attempt, balances, entry: { id: as ?? id, sequence } });
      }
    }
  }
  return { events, final: { journal, readers: [], repeated } };
}

function amountOf(asked: Asked): string {
  return "amount" in asked ? asked.amount : "0";
}

/** The findings of the verdict as "kind: text". */
function sentences({ events, final }: ReturnType<typeof played>, readers: readonly Reader[] = []): string[] {
  return judge(events, { ...final, readers }).faults.map(({ kind, text }) => `${kind}: ${text}`);
}

testCases(cases, async (recorded) => {
  const [title = "", ...lines] = recorded.trimEnd().split("\n");
  const steps = lines.filter((line) => !/^\w+: /.test(line)).join("\n");
  return [title, steps, ...sentences(played(steps)), "", ""].join("\n");
});

test("The judge finds readers whose chains, entries or findings differ from the journal", () => {
  const opened = played("");
  const right = { name: "fx1", audit: { findings: 0, entries: 1, digest: "d" } };
  assert.deepEqual(sentences(opened, [right, { ...right, name: "db2" }]), []);
  const wrong: Reader[] = [
    { name: "db1", audit: { findings: 2, entries: 5, digest: "e" } },
    { name: "db3", failure: "ECONNREFUSED" },
  ];
  assert.deepEqual(sentences(opened, [right, ...wrong]), [
    "readers: The audit by db1 has findings: 2.",
    "readers: The audit by db1 read 5 entries, and the journal has 1.",
    "readers: db3 could not be read: ECONNREFUSED",
    "readers: The chains are not the same everywhere: fx1, db1 audited different ones.",
  ]);
});

test("Every kind of fault is found in some case of the judge", () => {
  const met = new Set([...readFileSync(cases, "utf8").matchAll(/^(\w+): /gm)].map(([, kind]) => kind));
  assert.deepEqual(met, new Set(Object.keys(faultKinds).filter((kind) => kind !== "readers")));
});

test("The judge's figures count each order once, by its outcome", () => {
  const { events, final } = played(
    "done a 7\nunanswered b 8\nsent b 8\nanswered 3 r3, again\n" +
      "refused withdraw c 2000: insufficient-funds\nunanswered - 3\nread 1018",
  );
  assert.deepEqual(judge(events, final), {
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
      attemptsOpen: { ECONNRESET: 2 },
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
  const asked = { kind: "renaming", pesel, key: "zażółć", name: "Łucja", surname: "Lis" } as const;
  const attempt = history.sent(asked);
  history.add({ event: "unknown", attempt, why: "x".repeat(2_000_000) });
  history.add({ event: "fault", what: "kill -9" });
  await history.close();
  const read = [...readHistory(history.file)];
  assert.deepEqual(
    read.map(({ event }) => event),
    ["sent", "unknown", "fault"],
  );
  assert.deepEqual((read[0] as Event & { event: "sent" }).asked, asked);
  assert.deepEqual(history.counts, { sent: 1, unknown: 1, fault: 1 });
});
