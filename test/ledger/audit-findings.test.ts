import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { AnswerCode } from "../../src/core/errors.ts";
import { type Exchange, priceExchange } from "../../src/core/exchange.ts";
import type { Entry, EntryKind } from "../../src/core/journal.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { AuditFinding } from "../../src/core/service.ts";
import { newEntryId } from "../../src/ledger/ids.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { type Adapter, adapters } from "../support/adapters.ts";
import { appending, emptyAccount, groszEntry, money, nextEntry, openingEntry } from "../support/entries.ts";
import { adult, decimal, fixedRates, now, opening, putInForce, table, terms } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";
import { counted } from "../support/service.ts";

const ids = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g;
const facts = ({ entry, problem, recorded, recomputed }: AuditFinding) => [
  entry ?? "-",
  problem,
  recorded.replaceAll(ids, "an id"),
  recomputed.replaceAll(ids, "an id"),
];
const serviceOn = (store: Store) => new LedgerService(store, fixedRates(), () => now);

/**
 * Appends entries to an account, whatever they say. Their hashes are right. One that undoes another names it by its
 * number among these, or by its id.
 */
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

/** An entry of any kind with this number, after which the account has these balances. */
function nth(sequence: number, kind: EntryKind, minor: bigint, fields: Partial<Entry> = {}): Entry {
  const balances = [money(minor)];
  return nextEntry(emptyAccount(adult(), { sequence: sequence - 1 }), kind, { balances, ...fields });
}

/** The entry after the opening, for this order at the bank's table, and with what is to be wrong in it. */
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
  ["another name", [opened, buy({ holder: { name: "Ewa", surname: "Kowalski" } })], "name", "Ewa", "Jan"],
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
  ["an entry left out", [opened, buy({ sequence: 3 })], [[3, "gap in the sequence", "3", "2"]]],
  [
    "a table that nobody has",
    [opened, buy({ tableId: "0".repeat(32) })],
    [[2, "rate table", "0".repeat(32), "no such table in the store"]],
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

describe("an audit of entries whose hashes are right", () => {
  for (const [what, entries, findings] of forgeries) {
    test(`An audit finds ${what}`, async (t) => {
      const store = await (adapters[0] as Adapter).open(t);
      await putInForce(store, table);
      await append(store, adult(), entries);
      assert.deepEqual((await serviceOn(store).audit()).findings.map(facts), findings);
    });
  }
});

for (const { name, open, database } of adapters) {
  describe(`an audit over ${name}, of entries whose hashes are right,`, () => {
    async function start(t: TestContext) {
      const store = await open(t);
      await putInForce(store, table);
      return store;
    }

    test("An audit finds nothing where hashes and contents are right", async (t) => {
      const store = await start(t);
      await append(store, adult(), [opened, buy({})]);
      assert.deepEqual((await serviceOn(store).audit()).findings, []);
    });

    test("An audit names the token that the entry at fault has", async (t) => {
      const store = await start(t);
      await append(store, adult(), [
        openingEntry(adult(), { by: "jan" }),
        buy({ by: "anna", ask: decimal("3.6") }),
      ]);
      const { findings } = await serviceOn(store).audit();
      assert.deepEqual(
        findings.map(({ problem, by }) => [problem, by]),
        [["ask in the entry", "anna"]],
      );
    });

    test("An audit finds nothing in an account that sold all it had", async (t) => {
      const store = await start(t);
      const balances = [money(0n), money(27_027n, "USD")];
      await append(store, adult(), [opened, exchanged("sell 1000 PLN for USD", { balances })]);
      assert.deepEqual((await serviceOn(store).audit()).findings, []);
    });

    test("An audit names the entry by its id, and the account by its PESEL", async (t) => {
      const store = await start(t);
      await append(store, adult(), [opened, buy({ ask: undefined })]);
      const [newest] = await store.statement(adult(), { limit: 1 });
      const [finding] = (await serviceOn(store).audit()).findings;
      assert.deepEqual([finding?.id, finding?.account], [newest?.entry.id, adult()]);
    });
  });

  describe(`an audit over ${name}`, () => {
    /** Runs `meanwhile` once, after the `nth` page of accounts was asked for and before it is given. */
    function during(store: Store, nth: number, meanwhile: () => Promise<unknown>, isRead: boolean) {
      const rows = store.rows.bind(store);
      let asked = 0;
      store.rows = async (name, page) => {
        if (name === "account") asked += 1;
        const isNth = name === "account" && asked === nth;
        if (isNth && !isRead) await meanwhile();
        const found = await rows(name, page);
        if (isNth && isRead) await meanwhile();
        return found;
      };
    }

    test("An audit reports no entry and no account that came while it read", async (t) => {
      const store = await open(t);
      await putInForce(store, table);
      const service = serviceOn(store);
      await service.createAccount(opening());
      const meanwhile = async () => {
        await service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult() });
        await service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult() });
        await service.createAccount(opening({ index: 1 }));
      };
      during(store, 1, meanwhile, true);
      assert.deepEqual(counted(await service.audit()), {
        accounts: 1,
        entries: 1,
        findings: [],
        findingsTotal: 0,
      });
    });

    test("An audit knows a table that came into force after it began", async (t) => {
      const store = await open(t);
      await putInForce(store, table);
      const service = serviceOn(store);
      await Promise.all(Array.from({ length: 501 }, (_, index) => service.createAccount(opening({ index }))));
      const pesels = Array.from({ length: 501 }, (_, index) => adult(index)).sort();
      const order = (pesel: Pesel | undefined) => ({ ...terms("buy 1 USD for PLN"), pesel: pesel as Pesel });
      await service.exchange(order(pesels[0]));
      const meanwhile = async () => {
        await putInForce(store, tableOf("109/C/NBP/2026", "2026-06-09"));
        await service.exchange(order(pesels[500]));
      };
      during(store, 2, meanwhile, false);
      assert.deepEqual(counted(await service.audit()), {
        accounts: 501,
        entries: 503,
        findings: [],
        findingsTotal: 0,
      });
    });

    test("An audit finds nothing in a ledger without accounts", async (t) => {
      const report = await serviceOn(await open(t)).audit();
      assert.deepEqual(counted(report), { accounts: 0, entries: 0, findings: [], findingsTotal: 0 });
    });

    test("An audit tells how many of how many entries it has read", async (t) => {
      const store = await open(t);
      const service = serviceOn(store);
      await service.createAccount(opening());
      store.journalEnd = async () => ({ position: 7, misplaced: false, entries: 7 });
      const told: unknown[] = [];
      await service.audit({ onProgress: (done) => told.push(done) });
      assert.deepEqual(told, [{ accounts: 1, entries: 1, totalEntries: 7 }]);
    });
  });

  if (database === undefined) continue;
  const openDatabase = database;
  describe(`an audit over ${name}, of rows that were edited,`, () => {
    /** Findings about two accounts with two exchanges each, after an edit of the first one's rows. */
    async function findingsAfter(t: TestContext, ...edits: string[]) {
      const { open, run } = await openDatabase(t);
      const store = await open();
      await putInForce(store, table);
      const service = serviceOn(store);
      for (const index of [0, 1]) {
        await service.createAccount(opening({ index }));
        await service.exchange({ ...terms("buy 100 USD for PLN"), pesel: adult(index) });
        await service.exchange({ ...terms("sell 50 USD for EUR"), pesel: adult(index) });
      }
      for (const edit of edits) await run(edit.replace("?", `'${adult()}'`));
      return (await service.audit()).findings.map(facts);
    }

    test("An audit gives both the holder's names that it found and the right ones", async (t) => {
      const edit = "update account set name = 'Ewa', surname = 'Nowak' where pesel = ?";
      assert.deepEqual(await findingsAfter(t, edit), [
        ["-", "name", "Ewa", "Jan"],
        ["-", "surname", "Nowak", "Kowalski"],
        ["-", "words of the names", "jan kowalski", "ewa nowak"],
      ]);
    });

    for (const [what, edit, words] of [
      ["not found by its surname", "delete from name_word where word = 'kowalski' and pesel = ?", "jan"],
      [
        "found by a name that it has not",
        "update name_word set word = 'nowak' where word = 'kowalski' and pesel = ?",
        "jan nowak",
      ],
    ] as const) {
      test(`An audit reports an account that is ${what}`, async (t) => {
        assert.deepEqual(await findingsAfter(t, edit), [["-", "words of the names", words, "jan kowalski"]]);
      });
    }

    test("An audit quotes an entry that cannot be read, and blames no hash after it", async (t) => {
      const edit = `update journal set entry = replace(entry, '"exchange"', '"44051401359"') where pesel = ? and sequence = 2`;
      const [unreadable, ...others] = await findingsAfter(t, edit);
      assert.deepEqual(
        [unreadable?.[0], unreadable?.[1], unreadable?.[3]],
        [2, "unreadable entry", "a whole entry"],
      );
      assert.match(String(unreadable?.[2]), /an entry is one of/);
      assert.deepEqual(
        others.map(([entry, problem]) => [entry, problem]),
        [[3, "entry that fx refuses"]],
      );
    });

    test("An audit names the first of the entries whose account is gone, and that alone", async (t) => {
      assert.deepEqual(await findingsAfter(t, "delete from account where pesel = ?"), [
        ["-", "words of the names", "some", "no account"],
        [1, "entry without an account", "sequence 1", "last sequence none"],
      ]);
    });

    for (const pesel of ["00000000000", "-5", "9223372036854775807"]) {
      test(`An audit finds an entry that was given to ${pesel}, which is no PESEL, beside every other finding`, async (t) => {
        const found = await findingsAfter(
          t,
          `update journal set entry = replace(entry, '"pesel":"${adult()}"', '"pesel":"${pesel}"') where pesel = ? and sequence = 3`,
        );
        assert.deepEqual(found.map(([entry, problem]) => [entry, problem]).sort(), [
          ["-", "number of entries"],
          [3, "entry without an account"],
        ]);
      });
    }

    test("An audit says of an account whose entries are gone that it has none", async (t) => {
      const [finding] = await findingsAfter(t, "delete from journal where pesel = ?");
      assert.deepEqual(finding, ["-", "account without entries", "an account", "no entries"]);
    });

    for (const column of ["id", "pesel", "sequence", "idempotency_key", "reverses"]) {
      test(`An audit never sees another ${column} than the entry has: the database computes it`, async (t) => {
        const edit = `update journal set ${column} = null where pesel = ?`;
        await assert.rejects(findingsAfter(t, edit), {
          message: /generated column|can only be updated to DEFAULT/,
        });
      });
    }

    test("An audit finds that the newest entry of an account is gone", async (t) => {
      assert.deepEqual(await findingsAfter(t, "delete from journal where pesel = ? and sequence = 3"), [
        ["-", "number of entries", "3", "2"],
      ]);
    });

    test("An audit never sees an entry that is undone twice: the database refuses the second", async (t) => {
      const { open } = await openDatabase(t);
      const store = await open();
      const again = [opened, deposit, reversal(3), reversal(4, { balances: [money(99_000n)] })];
      await assert.rejects(append(store, adult(), again), { code: "storage-unavailable" });
    });
  });
}
