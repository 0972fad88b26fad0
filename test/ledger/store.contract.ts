import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { balanceLimit } from "../../src/core/money.ts";
import { nameWords } from "../../src/core/names.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { RateTable } from "../../src/core/rates.ts";
import { identityKeyOf, idsFrom, newEntryId } from "../../src/ledger/ids.ts";
import { entryWithId, readRows } from "../../src/ledger/journal-reader.ts";
import type { Refusal, SealedEntry } from "../../src/ledger/rows.ts";
import type { Decision, LedgerView, Store, StoredAccount } from "../../src/ledger/store.ts";
import { type Adapter, openTwice } from "../support/adapters.ts";
import { appending, groszEntry, money, nextEntry, openingEntry } from "../support/entries.ts";
import { acceptance, adult, identified, now, table } from "../support/fixture.ts";
import { publishedOf, tableOf } from "../support/rates.ts";

const touch = (pesel: Pesel, key?: string) => ({ pesel, key });
/** A rate table of the fixture's source. */
const all = { source: "fixed", since: "" };
const nothing = { accounts: [], entries: [] };

async function create(store: Store, pesel: Pesel, fields: Parameters<typeof openingEntry>[1] = {}) {
  return store.transact([touch(pesel)], () => {
    const entry = openingEntry(pesel, { id: newEntryId(), ...fields });
    return { ...appending([entry]), answer: entry };
  });
}

function sellGrosz(store: Store, pesel: Pesel): Promise<StoredAccount> {
  return store.transact([touch(pesel)], (view) => {
    const account = view.account(pesel) as StoredAccount;
    return appending([groszEntry(account, { id: newEntryId() })], account);
  });
}

/** The entry that a request with the key led to. */
function entryOf(view: LedgerView, pesel: Pesel, key = "") {
  const found = view.answered(pesel, key);
  return found !== undefined && "entry" in found ? found.entry : undefined;
}

/** The contract of every store. */
export function storeContract(adapter: Adapter): void {
  const opened = (t: TestContext) => openTwice(adapter, t);

  describe(`a transaction on ${adapter.name}`, () => {
    test("A transaction writes what was decided, and answers what was decided with it", async (t) => {
      const store = await adapter.open(t);
      const decisions: Decision<StoredAccount>[] = [];
      const answer = await store.transact([touch(adult())], () => {
        const decision = appending([openingEntry(adult(), { id: newEntryId(), key: "open" })]);
        decisions.push(decision);
        return decision;
      });
      const decided = decisions.at(-1);
      assert.deepEqual(answer, decided?.answer);
      assert.deepEqual(await store.account(adult()), decided?.answer);
      assert.deepEqual(
        await store.statement(adult(), { limit: 10 }),
        decided?.writes.entries.map((sealed) => {
          return { ...sealed, reversedBy: undefined };
        }),
      );
    });

    test("A transaction sees what was committed before it", async (t) => {
      const store = await adapter.open(t);
      await create(store, adult());
      const seen = await store.transact([touch(adult()), touch(adult(1))], (view) => ({
        writes: nothing,
        answer: [view.account(adult())?.sequence, view.account(adult(1))],
      }));
      assert.deepEqual(seen, [1, undefined]);
    });

    test("A transaction appends several entries of several accounts, new ones among them", async (t) => {
      const store = await adapter.open(t);
      await create(store, adult(2));
      await store.transact(
        [0, 1, 2].map(adult).map((pesel) => touch(pesel)),
        (view) => {
          const held = view.account(adult(2)) as StoredAccount;
          const decisions = [
            appending([openingEntry(adult(1), { id: newEntryId() })]),
            appending(
              [1, 2].map((sequence) => groszEntry({ ...held, sequence }, { id: newEntryId() })),
              held,
            ),
            appending([openingEntry(adult(0), { id: newEntryId() })]),
          ];
          const accounts = decisions.flatMap(({ writes }) => writes.accounts);
          const entries = decisions.flatMap(({ writes }) => writes.entries);
          return { writes: { accounts, entries, tables: [] }, answer: undefined };
        },
      );
      const sequences = await Promise.all(
        [0, 1, 2].map(async (n) => (await store.account(adult(n)))?.sequence),
      );
      assert.deepEqual(sequences, [1, 1, 3]);
      assert.equal((await store.rows("journal", { limit: 10 })).length, 5);
    });

    test("A transaction writes nothing if its decision throws, and the next one goes through", async (t) => {
      const store = await adapter.open(t);
      await create(store, adult());
      const failing = store.transact([touch(adult())], () => {
        throw new TypeError("a bug");
      });
      await assert.rejects(failing, TypeError);
      assert.equal((await sellGrosz(store, adult())).sequence, 2);
    });

    test("A transaction writes nothing if one of its writes fails, and the next one goes through", async (t) => {
      const store = await adapter.open(t);
      await create(store, adult());
      const failing = store.transact([touch(adult())], (view) => {
        const account = view.account(adult()) as StoredAccount;
        const entry = groszEntry(account, { id: newEntryId(), sequence: 0 });
        return appending([entry], account);
      });
      await assert.rejects(failing, { code: "storage-unavailable" });
      assert.deepEqual((await store.account(adult()))?.balances, [money(100_000n)]);
      assert.equal((await sellGrosz(store, adult())).sequence, 2);
    });

    test("A transaction finds an entry by its key, in its own account alone", async (t) => {
      const store = await adapter.open(t);
      const keys = ['ke"y\\,{}', "null", "~"];
      for (const [index, key] of keys.entries()) await create(store, adult(index), { key });
      const found = await store.transact([touch(adult(), keys[0]), touch(adult(1), keys[1])], (view) => ({
        writes: nothing,
        answer: [entryOf(view, adult(), keys[0])?.key, entryOf(view, adult(1), "null")?.pesel],
      }));
      assert.deepEqual(found, [keys[0], adult(1)]);
      const elsewhere = await store.transact([touch(adult(1), "~"), touch(adult(2), "unused")], (view) => ({
        writes: nothing,
        answer: [view.answered(adult(1), "~"), view.answered(adult(2), "unused")],
      }));
      assert.deepEqual(elsewhere, [undefined, undefined]);
    });

    test("A transaction keeps the largest balance and amount, and an empty account, to the grosz", async (t) => {
      const store = await adapter.open(t);
      const entry = await create(store, adult(), { minor: balanceLimit });
      await create(store, adult(1), { minor: 0n });
      assert.deepEqual((await store.account(adult()))?.balances, [money(999_999_999_999_999n)]);
      assert.deepEqual((await entryWithId(store, entry.id))?.entry, entry);
      assert.deepEqual((await store.account(adult(1)))?.balances, [money(0n)]);
    });

    test("A transaction keeps names of any script, quotes, commas and braces as they are", async (t) => {
      const store = await adapter.open(t);
      const names = [
        "Zażółć gęślą",
        "王小明",
        "🙂👩‍👩‍👧",
        'O\'Brien "Jr", \\{x}',
        "null",
        "مريم",
        "a".repeat(100),
      ];
      for (const [index, name] of names.entries())
        await create(store, adult(index), { holder: { name, surname: name } });
      const kept = await Promise.all(
        names.map(async (_, index) => (await store.account(adult(index)))?.name),
      );
      assert.deepEqual(kept, names);
      assert.deepEqual(
        (await store.statement(adult(2), { limit: 1 })).map(({ entry }) => entry.holder.surname),
        [names[2]],
      );
    });

    test("A transaction keeps a PESEL that starts with zeros", async (t) => {
      const store = await adapter.open(t);
      const pesel = "00010112340" as Pesel;
      await create(store, pesel);
      assert.equal((await store.account(pesel))?.pesel, pesel);
      assert.equal((await store.accounts({ limit: 1 }))[0]?.pesel, pesel);
      assert.equal((await store.rows("journal", { limit: 1 }))[0]?.pesel, pesel);
    });
  });

  if (adapter.database !== undefined) {
    const { database } = adapter;
    describe(`two stores on one database, ${adapter.name}`, () => {
      test("Two stores on one database take turns at one account: no entry is lost, none doubled", async (t) => {
        const { open } = await database(t);
        const stores = [await open(), await open()];
        await create(stores[0] as Store, adult());
        await Promise.all(
          Array.from({ length: 40 }, (_, index) => sellGrosz(stores[index % 2] as Store, adult())),
        );
        const statement = await (stores[0] as Store).statement(adult(), { limit: 100 });
        assert.deepEqual(
          statement.map(({ entry }) => entry.sequence),
          Array.from({ length: 41 }, (_, index) => 41 - index),
        );
        assert.deepEqual((await (stores[1] as Store).account(adult()))?.balances[0], money(99_960n));
      });

      test("Two stores on one database read the journal up to a position, while both write: of each account its first entries", async (t) => {
        const { open } = await database(t);
        const stores = [await open(), await open()];
        const pesels = [0, 1, 2, 3].map(adult);
        for (const pesel of pesels) await create(stores[0] as Store, pesel);
        let isWriting = true;
        const writing = pesels.map(async (pesel, nth) => {
          for (let n = 0; n < 100; n += 1) await sellGrosz(stores[(nth + n) % 2] as Store, pesel);
        });
        const written = Promise.all(writing).finally(() => {
          isWriting = false;
        });
        do {
          const last = new Map<string, number>();
          for await (const rows of readRows(stores[1] as Store, "journal")) {
            for (const { pesel, sequence } of rows) {
              assert.equal(sequence, (last.get(pesel) ?? 0) + 1);
              last.set(pesel, sequence);
            }
          }
          assert.equal(last.size, 4);
        } while (isWriting);
        await written;
      });

      test("Two stores on one database see each other's openings: of all that open one PESEL at once, one does", async (t) => {
        const { open } = await database(t);
        const stores = await Promise.all([open(), open()]);
        const opened = await Promise.all(
          Array.from({ length: 10 }, (_, index) =>
            (stores[index % 2] as Store).transact([touch(adult())], (view) =>
              view.account(adult()) === undefined
                ? {
                    ...appending([
                      openingEntry(adult(), {
                        id: newEntryId(),
                        holder: { name: `Jan ${index}`, surname: "Kowalski" },
                      }),
                    ]),
                    answer: true,
                  }
                : { writes: nothing, answer: false },
            ),
          ),
        );
        assert.equal(opened.filter(Boolean).length, 1);
        assert.equal((await stores[0].statement(adult(), { limit: 10 })).length, 1);
      });
    });
  }

  describe(`reading from ${adapter.name}`, () => {
    async function filled(t: Parameters<Adapter["open"]>[0]) {
      const store = await adapter.open(t);
      const pesels = [0, 1, 2].map(adult).sort();
      for (const pesel of pesels) {
        await create(store, pesel);
        await sellGrosz(store, pesel);
        await sellGrosz(store, pesel);
      }
      return { store, pesels };
    }

    test("the key of the customers' ids is long, and its own", async (t) => {
      const [one, other] = [await adapter.open(t), await adapter.open(t)];
      const keys = [await identityKeyOf(one), await identityKeyOf(one), await identityKeyOf(other)];
      assert.match(keys[0] ?? "", /^[\da-fA-F-]{64,}$/);
      assert.equal(keys[0], keys[1]);
      assert.notEqual(keys[0], keys[2]);
    });

    test("an empty ledger reads as undefined or empty", async (t) => {
      const store = await adapter.open(t);
      assert.equal(await store.account(adult()), undefined);
      assert.equal(await entryWithId(store, "0190b2c4-0000-7000-8000-000000000000"), undefined);
      assert.equal(await entryWithId(store, "no-such-id"), undefined);
      assert.equal(await store.table("0123456789abcdef0123456789abcdef"), undefined);
      assert.equal(await store.inForce(), undefined);
      assert.deepEqual(await store.acceptedTables(), []);
      assert.deepEqual(await store.accounts({ limit: 10 }), []);
      assert.deepEqual(await store.statement(adult(), { limit: 10 }), []);
      assert.deepEqual(await store.rows("journal", { limit: 10 }), []);
      assert.deepEqual(await store.tables(all), []);
      assert.deepEqual(await store.journalEnd(), { position: 0, misplaced: false, entries: 0 });
    });

    test("a statement goes backwards from before an entry", async (t) => {
      const { store } = await filled(t);
      const newest = await store.statement(adult(), { limit: 2 });
      const before = newest.at(-1)?.entry.sequence;
      const oldest = await store.statement(adult(), { before, limit: 2 });
      assert.deepEqual(
        [...newest, ...oldest].map(({ entry }) => entry.sequence),
        [3, 2, 1],
      );
      assert.deepEqual(await store.statement(adult(), { before: 1, limit: 2 }), []);
    });

    test("a server that lacks entries which another one had is told as lagging, and not as damaged", async (t) => {
      const { store } = await filled(t);
      for (const pesel of [adult(), adult(99)]) {
        const failure = { code: "storage-unavailable", message: /^The database lacks entries .* lags/ };
        await assert.rejects(store.statement(pesel, { before: 5, limit: 1 }), failure);
      }
    });

    test("each that asks for an account at once gets its own", async (t) => {
      const { store, pesels } = await filled(t);
      const asked = [pesels[2], pesels[0], adult(99), pesels[2], pesels[1]] as Pesel[];
      const accounts = await Promise.all(asked.map((pesel) => store.account(pesel)));
      assert.deepEqual(
        accounts.map((account) => account?.pesel),
        [pesels[2], pesels[0], undefined, pesels[2], pesels[1]],
      );
    });

    test("accounts come by PESEL, after one that has an account or has none", async (t) => {
      const { store, pesels } = await filled(t);
      const after = async (pesel?: string) =>
        (await store.accounts({ after: pesel, limit: 2 })).map((row) => row.pesel);
      assert.deepEqual(await after(), pesels.slice(0, 2));
      assert.deepEqual(await after(pesels[0]), pesels.slice(1));
      assert.deepEqual(await after(pesels[2]), []);
      assert.deepEqual(await after("00000000000"), pesels.slice(0, 2));
      assert.deepEqual(await after("99999999999"), []);
    });

    test("an account is listed as it is found by itself, and its row has its name and newest entry", async (t) => {
      const { store, pesels } = await filled(t);
      const account = (await store.account(pesels[0] as Pesel)) ?? assert.fail();
      assert.deepEqual(await store.accounts({ limit: 1 }), [account]);
      const { pesel, name, surname, sequence } = account;
      const [row] = await store.rows("account", { limit: 1 });
      assert.deepEqual(
        { ...row },
        {
          pesel,
          name,
          surname,
          sequence,
          words: row?.words,
          place: Number(pesel),
          lacking: "",
        },
      );
      assert.equal((await store.rows("account", { after: pesel, limit: 9 }))[0]?.pesel, pesels[1]);
    });

    test("the journal comes in the order of commits, after a position and through another", async (t) => {
      const { store, pesels } = await filled(t);
      const all = await store.rows("journal", { limit: 100 });
      assert.deepEqual(
        all.map(({ pesel, sequence }) => [pesel, sequence]),
        pesels.flatMap((pesel) => [1, 2, 3].map((sequence) => [pesel, sequence])),
      );
      const positions = all.map(({ position }) => position);
      assert.deepEqual(
        positions,
        [...new Set(positions)].sort((a, b) => a - b),
      );
      const { length: count } = all;
      assert.deepEqual(await store.journalEnd(), {
        position: positions.at(-1),
        misplaced: false,
        entries: count,
      });
      const page = (from: number | undefined, to: number | undefined, limit: number) =>
        store.rows("journal", { after: positions[from ?? -1], through: positions[to ?? -1], limit });
      assert.deepEqual(await page(1, 6, 3), all.slice(2, 5));
      assert.deepEqual(await page(1, 6, 100), all.slice(2, 7));
      assert.deepEqual(await page(undefined, 1, 100), all.slice(0, 2));
      assert.deepEqual(await page(6, undefined, 100), all.slice(7));
      assert.deepEqual(await page(6, 6, 100), []);
      const made = await store.statement(pesels[0] as Pesel, { limit: 1 });
      assert.deepEqual([all[2]?.entry, all[2]?.hash], [made[0]?.text, made[0]?.hash]);
    });

    test("entries that are written together come in the order in which they were decided", async (t) => {
      const { store, pesels } = await filled(t);
      const { position: before } = await store.journalEnd();
      await store.transact(
        pesels.map((pesel) => touch(pesel)),
        (view) => {
          const held = [2, 0, 1].map((nth) => view.account(pesels[nth] as Pesel) as StoredAccount);
          const decided = [0, 1].flatMap((more) =>
            held.map((account) =>
              groszEntry({ ...account, sequence: account.sequence + more }, { id: newEntryId() }),
            ),
          );
          const writes = held.map(
            (account) =>
              appending(
                decided.filter(({ pesel }) => pesel === account.pesel),
                account,
              ).writes,
          );
          const sealed = writes.flatMap(({ entries }) => entries);
          const entries = decided.map(({ id }) => sealed.find(({ entry }) => entry.id === id) as SealedEntry);
          return {
            writes: { accounts: writes.flatMap(({ accounts }) => accounts), entries },
            answer: undefined,
          };
        },
      );
      const rows = await store.rows("journal", { after: before, limit: 100 });
      assert.deepEqual(
        rows.map(({ pesel, sequence }) => [pesel, sequence]),
        [4, 5].flatMap((sequence) => [2, 0, 1].map((nth) => [pesels[nth], sequence])),
      );
    });

    test("an entry is found by its id, whole", async (t) => {
      const { store } = await filled(t);
      for (const sealed of await store.statement(adult(), { limit: 10 })) {
        assert.deepEqual(await entryWithId(store, sealed.entry.id), sealed);
      }
    });

    test("an id that differs from an entry's in one digit is nobody's", async (t) => {
      const { store } = await filled(t);
      const [sealed] = await store.statement(adult(), { limit: 1 });
      const { id } = (sealed as SealedEntry).entry;
      const others = [0, 9, 19, 24, 35].map(
        (at) => id.slice(0, at) + (id[at] === "7" ? "6" : "7") + id.slice(at + 1),
      );
      for (const other of others) assert.equal(await entryWithId(store, other), undefined);
    });
  });

  describe(`accounts by name in ${adapter.name}`, () => {
    const holders = [
      ["Jan", "Kowalski"],
      ["Anna Maria", "Nowak-Kowalska"],
      ["Łukasz", "Żółć"],
      ["Jan", "Zięba"],
      ["Janina", "Kowal"],
    ];

    /** The surnames of those found, in the order in which they come. */
    async function find(store: Store, sought: string, page: { after?: string; limit?: number } = {}) {
      const rows = await store.accounts({ limit: 10, ...page, name: nameWords(sought) });
      return rows.map(({ surname }) => surname);
    }

    async function filled(t: TestContext) {
      const store = await adapter.open(t);
      for (const [index, [name = "", surname = ""]] of holders.entries()) {
        await create(store, adult(index), { holder: { name, surname } });
      }
      return store;
    }

    for (const [sought, surnames] of [
      ["kow", ["Kowalski", "Nowak-Kowalska", "Kowal"]],
      ["KOWAL", ["Kowalski", "Nowak-Kowalska", "Kowal"]],
      ["kowalsk", ["Kowalski", "Nowak-Kowalska"]],
      ["walski", []],
      ["jan kow", ["Kowalski", "Kowal"]],
      ["kow jan", ["Kowalski", "Kowal"]],
      ["kowalska nowak maria", ["Nowak-Kowalska"]],
      ["lu zol", ["Żółć"]],
      ["łukasz Ż", ["Żółć"]],
      ["jan jan", ["Kowalski", "Zięba", "Kowal"]],
      ["j", ["Kowalski", "Zięba", "Kowal"]],
    ] as const) {
      test(`"${sought}" finds ${surnames.join(", ") || "nobody"}`, async (t) => {
        const store = await filled(t);
        const rows = await store.accounts({ limit: 10, name: nameWords(sought) });
        assert.deepEqual(rows.map(({ surname }) => surname).sort(), surnames.toSorted());
        assert.deepEqual(
          rows.map(({ pesel }) => pesel).sort(),
          rows.map(({ pesel }) => pesel),
        );
      });
    }

    test("Accounts by name are found by letters only: no sign stands for any letter", async (t) => {
      const store = await filled(t);
      for (const word of ["%", "_an", "j*", "[j]an"]) {
        assert.deepEqual(await store.accounts({ limit: 10, name: [word] }), []);
      }
    });

    test("Accounts by name come in pages, each once, even if two of its words match", async (t) => {
      const store = await adapter.open(t);
      const pesels = [0, 1, 2, 3, 4].map(adult).sort();
      for (const pesel of pesels) {
        await create(store, pesel, { holder: { name: "Anna Antonina", surname: "Antczak-Andrzejewska" } });
      }
      const first = await store.accounts({ limit: 3, name: ["an"] });
      const second = await store.accounts({ after: first.at(-1)?.pesel, limit: 3, name: ["an"] });
      assert.deepEqual(
        [first, second].map((page) => page.map(({ pesel }) => pesel)),
        [pesels.slice(0, 3), pesels.slice(3)],
      );
    });

    test("Accounts by name are found by the name that they have now", async (t) => {
      const store = await filled(t);
      await store.transact([touch(adult())], (view) => {
        const account = view.account(adult()) as StoredAccount;
        const holder = { name: "Jan", surname: "Lis" };
        return appending([nextEntry(account, "renaming", { id: newEntryId(), holder })], account);
      });
      assert.deepEqual(await find(store, "lis jan"), ["Lis"]);
      assert.deepEqual(await find(store, "kowalski"), []);
    });

    test("Accounts by name are not found by the name of an opening that failed", async (t) => {
      const store = await filled(t);
      const holder = { name: "Ewa", surname: "Lis" };
      await assert.rejects(create(store, adult(7), { holder, sequence: 0 }), { code: "storage-unavailable" });
      assert.deepEqual(await find(store, "lis"), []);
    });

    test("The refusals of one person are read oldest first, with the words of the names", async (t) => {
      const store = await filled(t);
      const [account] = await store.accounts({ limit: 1, name: ["nowak"] });
      const { pesel } = account ?? assert.fail();
      const refusal = (key: string, of: Pesel): Refusal => ({
        ...{ pesel: of, key, by: "till-1", digest: "d", message: "Two currencies are needed.", time: now },
        code: "same-currency",
      });
      const limits = { since: new Date(0), most: 100 };
      for (const kept of [refusal("b", pesel), refusal("x", adult(77)), refusal("a", pesel)]) {
        const refusals = { kept: [kept], limits };
        await store.transact([touch(kept.pesel, kept.key)], () => ({
          writes: { ...nothing, refusals },
          answer: 0,
        }));
      }
      assert.deepEqual(await store.besideEntries(pesel), {
        refusals: [refusal("b", pesel), refusal("a", pesel)],
        words: ["anna", "kowalska", "maria", "nowak"],
      });
    });

    test("The row of an account has the words that it is found by", async (t) => {
      const store = await filled(t);
      const [account] = await store.accounts({ limit: 1, name: ["nowak"] });
      const rows = await store.rows("account", { limit: 10 });
      const words = ["anna", "kowalska", "maria", "nowak"];
      const found = rows.filter((row) => row.words.split(" ").sort().join() === words.join());
      assert.deepEqual(
        found.map(({ pesel }) => pesel),
        [account?.pesel],
      );
    });
  });

  describe(`entries by the beginning of an id in ${adapter.name}`, () => {
    const times = [0, 0, 1, 5, 5, 5, 70_000, 70_001];
    const start = 0x019e9a703c00;
    const timeText = (ms: number) => (start + ms).toString(16).padStart(12, "0").replace(/^.{8}/, "$&-");

    /** An entry at each of the times, whose ids these are. */
    async function spread(t: TestContext): Promise<{ store: Store; ids: readonly string[] }> {
      const store = await adapter.open(t);
      const ids: string[] = [];
      for (const [index, ms] of times.entries()) {
        const pesel = adult(index);
        await store.transact([touch(pesel)], () => {
          const id = timeText(ms) + newEntryId().slice(13);
          ids[index] = id;
          return appending([openingEntry(pesel, { id })]);
        });
      }
      return { store, ids };
    }

    const found = async (store: Store, text: string, limit = 100) => {
      const ids = idsFrom(text) ?? assert.fail();
      return (await store.entriesBetween(ids, limit)).map(({ entry }) => entry.id).sort();
    };

    test("Entries by the beginning of an id are found from 8 characters on, and no others", async (t) => {
      const { store, ids } = await spread(t);
      for (const length of [8, 9, 10, 12, 13, 14, 15, 20, 23, 24, 30, 35, 36]) {
        for (const id of ids) {
          const text = id.slice(0, length);
          assert.deepEqual(await found(store, text), ids.filter((id) => id.startsWith(text)).sort(), text);
        }
      }
    });

    test("Entries by the beginning of an id are none before the first, between two and after the last", async (t) => {
      const { store } = await spread(t);
      for (const ms of [-1, 2, 4, 6, 69_999, 70_002]) assert.deepEqual(await found(store, timeText(ms)), []);
    });

    test("Entries by the beginning of an id stand in the journal between two places", async (t) => {
      const { store, ids } = await spread(t);
      const places = (await store.rows("journal", { limit: 100 })).map(({ position }) => position);
      const between = (first: number, last: number) =>
        store.positionsBetween({ first: ids[first] as string, last: ids[last] as string });
      assert.deepEqual(await between(2, 6), { first: places[2], last: places[6] });
      assert.deepEqual(await between(7, 7), { first: places[7], last: places[7] });
      assert.equal(await between(6, 2), undefined);
    });

    test("Entries by the beginning of an id are as many as asked for", async (t) => {
      const { store, ids } = await spread(t);
      assert.equal((await found(store, ids[0]?.slice(0, 8) ?? "", 2)).length, 2);
    });
  });

  describe(`entries after an entry in ${adapter.name}`, () => {
    test("Entries after an entry are those committed later, whatever their ids are, with their reversals", async (t) => {
      const store = await adapter.open(t);
      const first = openingEntry(adult(2), { id: `${"f".repeat(8)}${newEntryId().slice(8)}` });
      const account = await store.transact([touch(adult(2))], () => appending([first]));
      const sold = groszEntry(account);
      const after = await store.transact([touch(adult(2))], () => appending([sold], account));
      const undone = nextEntry(after, "reversal", { reverses: sold.id, note: "a slip" });
      await store.transact([touch(adult(2))], () => appending([undone], after));
      await store.transact([touch(adult(1))], () =>
        appending([openingEntry(adult(1), { id: newEntryId() })]),
      );
      const all = await store.entries({ after: 0, limit: 9 });
      assert.deepEqual(
        all.map(({ entry, reversedBy }) => [entry.pesel, entry.sequence, reversedBy]),
        [
          [adult(2), 1, undefined],
          [adult(2), 2, undone.id],
          [adult(2), 3, undefined],
          [adult(1), 1, undefined],
        ],
      );
      assert.deepEqual(await store.entries({ after: 0, limit: 2 }), all.slice(0, 2));
      assert.deepEqual(await store.entries({ after: all[0]?.position ?? 0, limit: 2 }), all.slice(1, 3));
      assert.deepEqual(await store.entries({ after: all[3]?.position ?? 0, limit: 2 }), []);
    });
  });

  describe(`rate tables in ${adapter.name}`, () => {
    const next = tableOf("109/C/NBP/2026", "2026-06-09");
    const first = acceptance(0);

    test("Rate tables are kept by their id, once, as they were first saved", async (t) => {
      const store = await adapter.open(t);
      await store.saveTables([table]);
      await store.saveTables([{ ...table, rates: new Map() }, next]);
      assert.deepEqual(await store.table(table.id), table);
      assert.deepEqual(await store.tables(all), [table, next]);
    });

    test("Rate tables under one number are several if their contents differ", async (t) => {
      const store = await adapter.open(t);
      const corrected = tableOf(next.number, next.effectiveDate, { USD: [3.6, 3.7] });
      await store.saveTables([next, corrected]);
      assert.deepEqual([await store.table(next.id), await store.table(corrected.id)], [next, corrected]);
    });

    test("Rate tables are kept once, whoever saves them at the same time", async (t) => {
      const stores = await opened(t);
      await Promise.all(stores.map((store) => store.saveTables([table])));
      assert.deepEqual(await stores[0]?.tables(all), [table]);
    });

    test("Rate tables come oldest first, of one source, since a date, and of one number the one last in force last", async (t) => {
      const store = await adapter.open(t);
      const tables = ["10", "08", "09"].map((day) => tableOf(`${day}/C/NBP/2026`, `2026-06-${day}`));
      const corrected = tableOf("09/C/NBP/2026", "2026-06-09", { USD: [3.6, 3.7] });
      await store.acceptTable(tables[2] as RateTable, first);
      await store.saveTables([
        ...tables,
        corrected,
        identified(publishedOf("08/C/NBP/2026", "2026-06-08"), "demo"),
      ]);
      const bids = async (since: string) =>
        (await store.tables({ source: "fixed", since })).map(({ number }) => number.slice(0, 2));
      assert.deepEqual(await bids(""), ["08", "09", "09", "10"]);
      assert.deepEqual(await bids("2026-06-10"), ["10"]);
      const { length } = await store.tables({ source: "fixed", since: "2026-06-09", before: "2026-06-10" });
      assert.equal(length, 2);
      assert.equal((await store.tables(all))[2]?.id, tables[2]?.id);
    });

    test("Rate tables come into force one after the other", async (t) => {
      const store = await adapter.open(t);
      assert.equal(await store.acceptTable(table, first), true);
      assert.deepEqual(await store.inForce(), { epoch: 1, table });
      assert.equal(await store.acceptTable(next, acceptance(1, "anna@desk")), true);
      assert.deepEqual(await store.inForce(), { epoch: 2, table: next });
      assert.deepEqual(
        (await store.acceptedTables()).map((one) => ({ ...one })),
        [table, next].map(({ id, source, number }) => ({ id, source, number })),
      );
      const epochs = await store.rows("accepted_table", { limit: 9 });
      assert.deepEqual(
        epochs.map((row) => [row.epoch, row.overridden_by, row.accepted_at]),
        [
          [1, null, now.getTime()],
          [2, "anna@desk", now.getTime()],
        ],
      );
    });

    test("Rate tables come into force only after the one that they were judged against", async (t) => {
      const store = await adapter.open(t);
      await store.acceptTable(table, first);
      assert.equal(await store.acceptTable(next, first), false);
      assert.equal(await store.acceptTable(next, acceptance(2)), false);
      assert.deepEqual(await store.inForce(), { epoch: 1, table });
    });

    test("Rate tables come into force once, whoever puts them there at the same time", async (t) => {
      const stores = await opened(t);
      const answers = await Promise.all(stores.map((store) => store.acceptTable(table, first)));
      assert.deepEqual(answers.toSorted(), [false, true]);
      assert.equal((await stores[0]?.acceptedTables())?.length, 1);
    });

    test("The rate table in force is read by a transaction of any process", async (t) => {
      const [one, other] = await opened(t);
      const seen = () => other?.transact([], ({ inForce }) => ({ writes: nothing, answer: inForce() }));
      assert.equal(await seen(), undefined);
      await one?.acceptTable(table, first);
      assert.deepEqual(await seen(), { epoch: 1, table });
      await one?.acceptTable(next, acceptance(1));
      assert.deepEqual(await seen(), { epoch: 2, table: next });
      assert.deepEqual(await other?.inForce(), { epoch: 2, table: next });
    });

    test("A rate table is not in force when the transaction that puts it there fails", async (t) => {
      const store = await adapter.open(t);
      await create(store, adult());
      const accepted = { table, at: now, overriddenBy: undefined };
      const failing = store.transact([touch(adult())], (view) => {
        const account = view.account(adult()) as StoredAccount;
        const wrong = appending([groszEntry(account, { sequence: 0 })], account);
        return { ...wrong, writes: { ...wrong.writes, accepted } };
      });
      await assert.rejects(failing, { code: "storage-unavailable" });
      assert.equal(await store.inForce(), undefined);
      assert.equal(await store.table(table.id), undefined);
    });
  });

  describe(`closing ${adapter.name}`, () => {
    test("an open store answers a ping, a closed one does not", async (t) => {
      const store = await adapter.open(t);
      await store.ping();
      await store.close();
      await assert.rejects(store.ping(), { code: "storage-unavailable" });
    });
  });
}
