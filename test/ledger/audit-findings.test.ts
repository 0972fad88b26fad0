import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { parseHouseCash } from "../../src/core/change.ts";
import type { AnswerCode } from "../../src/core/errors.ts";
import { type Exchange, priceExchange } from "../../src/core/exchange.ts";
import type { Entry, EntryKind } from "../../src/core/journal.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { AccountHead, AuditFinding } from "../../src/core/service.ts";
import { newEntryId } from "../../src/ledger/ids.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import {
  checkpointEnd,
  checkpointHeads,
  checkpointStart,
  readCheckpoint,
} from "../../src/wire/checkpoint.ts";
import { type Adapter, adapters } from "../support/adapters.ts";
import { testCases } from "../support/cases.ts";
import { appending, emptyAccount, groszEntry, money, nextEntry, openingEntry } from "../support/entries.ts";
import { adult, decimal, fixedRates, now, opening, putInForce, table, terms } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

const later = tableOf("109/C/NBP/2026", "2026-06-08", { USD: [3.6268, 3.7], EUR: [4.1967, 4.2815] });
const facts = ({ entry, problem, recorded, recomputed }: AuditFinding) => [
  entry ?? "-",
  problem,
  recorded,
  recomputed,
];
const tooLate =
  "not later than now: a clock was ahead then, or is behind here. The finding goes when that time has come";
const after = (ms: number) => new Date(now.getTime() + ms);
const serviceOn = (store: Store) => new LedgerService(store, fixedRates(), () => now);

/** Appends entries unchecked, with valid hashes. `reverses` is an index among them (from 1) or an id. */
async function append(store: Store, pesel: Pesel, entries: readonly Entry[]): Promise<void> {
  await store.transact([{ pesel, key: undefined }], ({ account }) => {
    const before = account(pesel) ?? emptyAccount(pesel);
    const ids = entries.map(() => newEntryId());
    return appending(
      entries.map((entry, index) => ({
        ...entry,
        id: ids[index] as string,
        reverses: ids[Number(entry.reverses) - 1] ?? entry.reverses,
      })),
      before,
    );
  });
}

/** Entry `sequence`; `minor` is the PLN balance after it. */
function nth(sequence: number, kind: EntryKind, minor: bigint, fields: Partial<Entry> = {}): Entry {
  const balances = [money(minor)];
  return nextEntry(emptyAccount(adult(), { sequence: sequence - 1 }), kind, { balances, ...fields });
}

/** Entry 2: the exchange of `words`, with `fields` overridden. */
function exchanged(words: string, fields: Partial<Entry & Exchange>, pesel = adult()): Entry {
  const account = emptyAccount(pesel, { sequence: 1 });
  return groszEntry(account, { ...priceExchange(terms(words), table), ...fields });
}

const opened = openingEntry(adult());
const usdBought = [money(63_000n), money(10_000n, "USD")];
const buy = (fields: Partial<Entry & Exchange>) =>
  exchanged("buy 100 USD for PLN", { balances: usdBought, ...fields });

const deposit = nth(2, "deposit", 101_000n, { credited: money(1000n) });
const block = nth(2, "block", 100_000n, { note: "freeze", blocked: true });
/** A reversal of that deposit. */
function reversal(sequence: number, fields: Partial<Entry> = {}): Entry {
  const facts = { reverses: "2", note: "a slip", debited: money(1000n) };
  return nth(sequence, "reversal", 100_000n, { ...facts, ...fields });
}
const refused = "entry that fx refuses";
const nowhere = "01a1fc0e-8c6f-70af-a44a-e5ac3576edce";

/** The last entry is one that fx refuses with this code. What is refused is tested where it is decided. */
const refusals: readonly [code: AnswerCode, ...entries: readonly Entry[]][] = [
  ["account-exists", opened, openingEntry(adult(), { sequence: 2, balances: [money(200_000n)] })],
  [
    "insufficient-funds",
    opened,
    exchanged("sell 1000.01 PLN for USD", { balances: [money(-1n), money(27_027n, "USD")] }),
  ],
  ["insufficient-funds", opened, nth(2, "withdrawal", -1n, { debited: money(100_001n) })],
  ["not-reversible", opened, reversal(2, { reverses: "1", balances: [money(0n)] })],
  ["not-found", opened, reversal(2, { reverses: nowhere, balances: [money(99_000n)] })],
  ["not-found", opened, reversal(2, { reverses: "2", balances: [money(99_000n)] })],
  ["account-not-empty", opened, nth(2, "closing", 100_000n)],
  [
    "account-closed",
    openingEntry(adult(), { minor: 0n }),
    nth(2, "closing", 0n),
    nth(3, "deposit", 1n, { credited: money(1n) }),
  ],
  ["account-blocked", opened, block, buy({ sequence: 3, blocked: true })],
  [
    "account-blocked",
    ...[opened, deposit, nth(3, "block", 101_000n, { note: "freeze", blocked: true })],
    reversal(4, { blocked: true }),
  ],
  ["account-not-blocked", opened, nth(2, "unblock", 100_000n, { note: "lifted" })],
];

/** The last entry has a member that is not what its request comes to, and the balances that go with it. */
const members: readonly [
  what: string,
  entries: readonly Entry[],
  member: string,
  recorded: string,
  right: string,
][] = [
  ...["Ewa", "Ewa 500 PLN", "500 PLN Ewa"].map((name): (typeof members)[number] => [
    `the name ${name}`,
    [opened, buy({ holder: { name, surname: "Kowalski" } })],
    ...(["name", name, "Jan"] as const),
  ]),
  [
    "more bought than was paid for",
    [opened, buy({ bought: money(10_001n, "USD"), side: "toSell" })],
    ...(["credited", "100.01 USD", "100.00 USD"] as const),
  ],
  [
    "less sold than what was bought costs",
    [opened, buy({ sold: money(36_999n) })],
    ...(["debited", "369.99 PLN", "370.00 PLN"] as const),
  ],
  ["no ask where one applied", [opened, buy({ ask: undefined })], "ask", "null", "3.7"],
  ["a bid where none applied", [opened, buy({ bid: decimal("3.6") })], "bid", "3.6", "null"],
  [
    "another effective date",
    [opened, buy({ effectiveDate: "2026-06-07" })],
    ...(["effectiveDate", "2026-06-07", "2026-06-08"] as const),
  ],
  [
    "another table's number",
    [opened, buy({ table: "1/C/NBP/2026" })],
    ...(["table", "1/C/NBP/2026", "108/C/NBP/2026"] as const),
  ],
  [
    "a reversal that takes less than came",
    [opened, deposit, reversal(3, { debited: money(999n) })],
    ...(["debited", "9.99 PLN", "10.00 PLN"] as const),
  ],
  [
    "a reversal that gives what was not taken",
    [opened, deposit, reversal(3, { credited: money(1n) })],
    ...(["credited", "0.01 PLN", "none"] as const),
  ],
  [
    "a deposit that hides a block",
    [opened, block, nth(3, "deposit", 101_000n, { credited: money(1000n) })],
    ...(["blocked", "none", "true"] as const),
  ],
  [
    "other balances than the entries come to",
    [opened, buy({ balances: [money(63_001n), money(9_999n, "USD")] })],
    ...(["balances", '{"PLN":63001,"USD":9999}', '{"PLN":63000,"USD":10000}'] as const),
  ],
];

const forgeries: readonly [what: string, entries: readonly Entry[], findings: readonly unknown[][]][] = [
  ...refusals.map(([code, ...entries]): (typeof forgeries)[number] => {
    const { kind, sequence } = entries.at(-1) as Entry;
    return [
      `an entry of kind ${kind} that is refused as ${code}`,
      entries,
      [[sequence, refused, kind, code]],
    ];
  }),
  ...members.map(([what, entries, member, ...figures]): (typeof forgeries)[number] => [
    what,
    entries,
    [[entries.length, `${member} in the entry`, ...figures]],
  ]),
  [
    "an opening in another currency",
    [openingEntry(adult(), { credited: money(1000n, "EUR"), balances: [money(1000n, "EUR")] })],
    [
      [1, "credited in the entry", "10.00 EUR", "10.00 PLN"],
      [1, "balances in the entry", '{"EUR":1000}', '{"PLN":1000}'],
    ],
  ],
  [
    "an exchange before the opening",
    [buy({ sequence: 1, balances: [money(-37_000n), money(10_000n, "USD")] })],
    [
      [1, refused, "exchange", "account-not-found"],
      ["-", "words of the names", "", "jan kowalski"],
    ],
  ],
  [
    "a reversal of an entry that comes after it",
    [
      opened,
      reversal(2, { reverses: "3", balances: [money(99_000n)] }),
      nth(3, "deposit", 100_000n, { credited: money(1000n) }),
    ],
    [[2, refused, "reversal", "not-found"]],
  ],
  [
    "an entry that is older than the one before it",
    [opened, { ...deposit, time: after(-1) }],
    [[2, "time of the entry", "2026-06-08T11:59:59.999Z", "not before 2026-06-08T12:00:00.000Z"]],
  ],
  [
    "an entry that is more than five minutes newer than now",
    [opened, { ...deposit, time: after(300_001) }],
    [[2, "time of the entry", "2026-06-08T12:05:00.001Z", tooLate]],
  ],
  ["an entry left out", [opened, buy({ sequence: 3 })], [[3, "gap in the sequence", "3", "2"]]],
  [
    "a table that nobody has",
    [opened, buy({ tableId: "0".repeat(32) })],
    [[2, "rate table", "0".repeat(32), "no such table in the store"]],
  ],
  [
    "a sale of foreign currency at a table that nobody has",
    [
      opened,
      buy({}),
      exchanged("sell 100 USD for PLN", {
        ...{ sequence: 3, tableId: "0".repeat(32), balances: [money(99_268n), money(0n, "USD")] },
      }),
    ],
    [[3, "rate table", "0".repeat(32), "no such table in the store"]],
  ],
  [
    "money that was made in an exchange at a table that nobody has",
    [opened, buy({ tableId: "0".repeat(32), balances: [money(63_001n), money(10_000n, "USD")] })],
    [
      [2, "rate table", "0".repeat(32), "no such table in the store"],
      [2, "balances in the entry", '{"PLN":63001,"USD":10000}', '{"PLN":63000,"USD":10000}'],
    ],
  ],
  [
    "an exchange of a blocked account at a table that nobody has",
    [opened, block, buy({ sequence: 3, blocked: true, tableId: "0".repeat(32) })],
    [
      [3, "rate table", "0".repeat(32), "no such table in the store"],
      [3, refused, "exchange", "account-blocked"],
    ],
  ],
];

const sound: readonly [what: string, ...entries: readonly Entry[]][] = [
  [
    "two exchanges at one rate table",
    opened,
    buy({}),
    buy({ sequence: 3, balances: [money(26_000n), money(20_000n, "USD")] }),
  ],
  ["an entry that is five minutes newer than now", opened, { ...deposit, time: after(300_000) }],
  [
    "an account that sold all it had",
    opened,
    exchanged("sell 1000 PLN for USD", { balances: [money(0n), money(27_027n, "USD")] }),
  ],
];

async function audited(t: TestContext, entries: readonly Entry[]) {
  const store = await (adapters[0] as Adapter).open(t);
  await putInForce(store, table);
  await append(store, adult(), entries);
  return { store, findings: (await serviceOn(store).audit()).findings };
}

describe("an audit of entries whose hashes are right", () => {
  for (const [what, entries, findings] of forgeries) {
    test(`An audit finds ${what}`, async (t) => {
      assert.deepEqual((await audited(t, entries)).findings.map(facts), findings);
    });
  }

  for (const [what, ...entries] of sound) {
    test(`An audit finds nothing in ${what}`, async (t) => {
      assert.deepEqual((await audited(t, entries)).findings, []);
    });
  }

  test("An audit names the account, the entry and the token of an entry at fault", async (t) => {
    const { store, findings } = await audited(t, [opened, buy({ by: "anna", ask: undefined })]);
    const [newest] = await store.statement(adult(), { limit: 1 });
    const [found] = findings;
    assert.deepEqual([found?.id, found?.account, found?.by], [newest?.entry.id, adult(), "anna"]);
  });
});

/** The findings after a round trip through a checkpoint: one that cannot be encoded would hide all. */
async function overTheWire(service: LedgerService): Promise<readonly AuditFinding[]> {
  const lines = [checkpointStart({ time: now.toISOString(), fx: "", schemaVersion: 1, entries: 0 })];
  const onHeads = async (heads: readonly AccountHead[]) => void lines.push(checkpointHeads(heads));
  lines.push(checkpointEnd(await service.audit({ onHeads })));
  const reading = readCheckpoint(Readable.from(lines.map((line) => Buffer.from(line))));
  for (;;) {
    const { value, done } = await reading.next();
    if (done) return value.findings;
  }
}

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  const openDatabase = database;
  describe(`an audit over ${name}, of rows that were edited,`, () => {
    /** A ledger of the house and two accounts with two exchanges each, at two rate tables. */
    async function filled(t: TestContext) {
      const { open, run } = await openDatabase(t);
      const store = await open();
      await putInForce(store, table);
      const service = serviceOn(store);
      const deposit = { kind: "deposit", account: "cash", amount: decimal("5"), currency: "PLN" } as const;
      await service.change(parseHouseCash({ ...deposit, note: undefined, key: undefined }));
      for (const index of [0, 1]) await service.createAccount(opening({ index }));
      for (const index of [0, 1])
        await service.exchange({ ...terms("buy 100 USD for PLN"), pesel: adult(index) });
      await putInForce(store, later);
      for (const index of [0, 1])
        await service.exchange({ ...terms("sell 50 USD for EUR"), pesel: adult(index) });
      return { store, run, service };
    }

    const mayWrite = name === "sqlite:";
    testCases(new URL("findings.txt", import.meta.url), (recorded, t) => played(t, recorded), mayWrite);

    /** The case, with the edit done and all that an audit finds then. */
    async function played(t: TestContext, recorded: string): Promise<string> {
      const [title, edit = ""] = recorded.split("\n");
      const { run, service } = await filled(t);
      assert.deepEqual(await overTheWire(service), []);
      await run(edit.replaceAll("<A>", adult()));
      const found = (await overTheWire(service)).map(
        ({ account, entry, problem, recorded, recomputed }) =>
          `${account} ${entry ?? "-"} ${problem}: ${recorded}, expected ${recomputed || "nothing"}\n`,
      );
      const masked = found
        .join("")
        .replaceAll(/\b[\da-f]{64}\b/g, "<hash>")
        .replaceAll(/\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b/g, "<id>")
        .replaceAll(adult(), "<A>")
        .replaceAll(adult(1), "<B>");
      return `${title}\n${edit}\n${masked}\n`;
    }

    for (const column of ["id", "pesel", "sequence", "idempotency_key", "reverses"]) {
      test(`${name} refuses to change the generated column ${column}`, async (t) => {
        const { run } = await filled(t);
        await assert.rejects(run(`update journal set ${column} = null where pesel = ${adult()}`), {
          message: /generated column|can only be updated to DEFAULT/,
        });
      });
    }

    test(`${name} refuses a second reversal of an entry`, async (t) => {
      const { open } = await openDatabase(t);
      const again = [opened, deposit, reversal(3), reversal(4, { balances: [money(99_000n)] })];
      await assert.rejects(append(await open(), adult(), again), { code: "storage-unavailable" });
    });
  });
}
