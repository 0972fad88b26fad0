import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { parseHouseCash } from "../../src/core/change.ts";
import { parseEntry } from "../../src/core/journal.ts";
import type { AccountHead, AuditFinding } from "../../src/core/service.ts";
import { newEntryId } from "../../src/ledger/ids.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import {
  checkpointEnd,
  checkpointHeads,
  checkpointStart,
  readCheckpoint,
} from "../../src/wire/checkpoint.ts";
import { adapters } from "../support/adapters.ts";
import { testCases } from "../support/cases.ts";
import { appending, emptyAccount } from "../support/entries.ts";
import { adult, decimal, fixedRates, now, opening, putInForce, table, terms } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

const later = tableOf("109/C/NBP/2026", "2026-06-08", { USD: [3.6268, 3.7], EUR: [4.1967, 4.2815] });
const serviceOn = (store: Store) => new LedgerService(store, fixedRates(), () => now);

const shown = ({ account, entry, problem, recorded, recomputed }: AuditFinding) =>
  `${account} ${entry ?? "-"} ${problem}: ${recorded || "nothing"}, expected ${recomputed || "nothing"}`
    .replaceAll(/\b[\da-f]{64}\b/g, "<hash>")
    .replaceAll(/\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b/g, "<id>")
    .replaceAll(adult(), "<A>")
    .replaceAll(adult(1), "<B>");

/**
 * Appends entries of one account unchecked, with valid hashes. Each is JSON as the journal has it, with the members that
 * differ from those of an account of Jan Kowalski who buys dollars now; `reverses` may be the number of an entry.
 */
async function append(store: Store, lines: readonly string[]): Promise<void> {
  const ids = lines.map(() => newEntryId());
  const entries = lines.map((line, index) => {
    const { time = now, reverses, ...given } = JSON.parse(line);
    const { number, id: tableId, effectiveDate } = table;
    const bought = { side: "toBuy", bid: null, ask: "3.7", table: number, tableId, effectiveDate };
    const head = { id: ids[index], pesel: adult(), sequence: index + 1, key: null };
    const holder = { name: "Jan", surname: "Kowalski" };
    const facts = { ...(given.kind === "exchange" && bought), reverses: ids[reverses - 1] ?? reverses };
    return parseEntry(
      JSON.stringify({ ...head, ...holder, ...facts, ...given, time: new Date(time).getTime() }),
    );
  });
  const decide = () => appending(entries, emptyAccount(adult()));
  await store.transact([{ pesel: adult(), key: undefined }], decide);
}

async function audited(t: TestContext, lines: readonly string[]) {
  const store = openSqlite(":memory:");
  t.after(() => store.close());
  await putInForce(store, table);
  await append(store, lines);
  return { store, findings: (await serviceOn(store).audit()).findings };
}

const opened = '{"kind":"opening","credited":"100000 PLN","balances":{"PLN":100000}}';

describe("an audit of entries whose hashes are right", () => {
  testCases(new URL("forgeries.txt", import.meta.url), async (recorded, t) => {
    const [title, ...lines] = recorded.trimEnd().split("\n");
    const entries = lines.filter((line) => line.startsWith("{"));
    const { findings } = await audited(t, entries);
    return [title, ...entries, ...findings.map(shown), "", ""].join("\n");
  });

  test("An audit names the account, the entry and the token of an entry at fault", async (t) => {
    const exchange =
      '{"kind":"exchange","by":"anna","debited":"37000 PLN","credited":"10000 USD","ask":null,"balances":{"PLN":63000,"USD":10000}}';
    const { store, findings } = await audited(t, [opened, exchange]);
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
      const found = (await overTheWire(service)).map(shown);
      return [title, edit, ...found, "", ""].join("\n");
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
      const deposit = '{"kind":"deposit","credited":"1000 PLN","balances":{"PLN":101000}}';
      const reversal =
        '{"kind":"reversal","reverses":2,"note":"a slip","debited":"1000 PLN","balances":{"PLN":100000}}';
      const twice = append(await open(), [opened, deposit, reversal, reversal]);
      await assert.rejects(twice, { code: "storage-unavailable" });
    });
  });
}
