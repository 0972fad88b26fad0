import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { ListedAccount } from "../../src/core/account.ts";
import { pln } from "../../src/core/currency.ts";
import { FxError } from "../../src/core/errors.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import { decodeEntry } from "../../src/ledger/rows.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adapters, type SharedDatabase } from "../support/adapters.ts";
import { exported } from "../support/bookkeeping.ts";
import { damageable, type Edit, editsOf, outcomeOf, withoutIds } from "../support/damage.ts";
import { acceptance, adult, decimal, fixedRates, now, opening, table, terms } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";
import { dryRunOf } from "../support/service.ts";

const [mine, neighbours, closed] = [adult(0), adult(1), adult(2)];
const later = tableOf("109/C/NBP/2026", "2026-06-08");
const cash = (kind: "deposit" | "withdrawal", pesel: Pesel, amount = "5", key?: string) =>
  ({ kind, pesel, amount: decimal(amount), currency: pln, note: undefined, key }) as const;
const bought = { ...terms("buy 100 USD for PLN"), pesel: mine, key: "buy" };
const refused = { ...terms("sell 9999 USD for PLN"), pesel: mine, key: "poor" };
const serve = (store: Store) => new LedgerService(store, fixedRates(later, store), () => now);

/** A ledger with rows in every table. */
async function filled(t: TestContext, database: NonNullable<(typeof adapters)[number]["database"]>) {
  const shared: SharedDatabase = await database(t);
  const store = await shared.open();
  await store.acceptTable(table, acceptance(0));
  await store.acceptTable(later, acceptance(1, "anna@desk"));
  const service = serve(store);
  for (const index of [0, 1, 2]) await service.createAccount(opening({ index, key: "open" }));
  const { receiptId } = await service.exchange(bought);
  await service.change(cash("deposit", mine));
  await assert.rejects(service.exchange(refused), { code: "insufficient-funds" });
  await service.change({ kind: "renaming", pesel: neighbours, name: "Ewa", surname: "Lis" });
  await service.change({ kind: "reversal", pesel: mine, reverses: receiptId, reason: "a slip" });
  const other = await service.change(cash("deposit", mine, "7", "put"));
  await service.change(cash("withdrawal", closed, "1000"));
  await service.change({ kind: "closing", pesel: closed });
  const known = new Set(
    (await store.rows("journal", { limit: 100 })).map((row) => decodeEntry(row).entry.id),
  );
  await service.close();
  return { ledger: await damageable(shared), reversible: other.receiptId, reversed: receiptId, known };
}

type Filled = Awaited<ReturnType<typeof filled>>;

/** Reads, one after the other, and their outcomes. */
async function reads(service: LedgerService, { reversed }: Filled): Promise<Record<string, string>> {
  return {
    read: await outcomeOf(service.account(mine)),
    statement: await outcomeOf(service.statement(mine, { limit: 20, cursor: undefined })),
    "a page of the statement": await outcomeOf(service.statement(mine, { limit: 2, cursor: reversed })),
    receipt: await outcomeOf(service.receipt(reversed)),
    position: await outcomeOf(service.position()),
    export: await outcomeOf(exported(service, { format: "ndjson", full: true })),
    "a repeated key": await outcomeOf(service.exchange(bought)),
    "a repeated key of a refusal": await outcomeOf(service.exchange(refused)),
    opening: await outcomeOf(service.createAccount(opening({ index: 0, pln: "7" }))),
    "the neighbour's line of a dry run": await outcomeOf(
      dryRunOf(service, [cash("deposit", mine), cash("deposit", neighbours)]).then(([, answer]) =>
        answer instanceof FxError ? Promise.reject(answer) : answer,
      ),
    ),
    "the neighbour's account": await outcomeOf(service.account(neighbours)),
    "the neighbour's statement": await outcomeOf(
      service.statement(neighbours, { limit: 20, cursor: undefined }),
    ),
  };
}

/** Requests that are sent at once, so that one group has them all, and their outcomes. */
async function writes(service: LedgerService, { reversible }: Filled): Promise<Record<string, string>> {
  const done = async (asked: Promise<unknown>) => outcomeOf(asked.then(() => "done"));
  const asked = {
    deposit: done(service.change(cash("deposit", mine, "3"))),
    "the neighbour's deposit": outcomeOf(service.change(cash("deposit", neighbours, "2"))),
    "another opening": done(service.createAccount(opening({ index: 5 }))),
    exchange: done(service.exchange({ ...terms("buy 1 USD for PLN"), pesel: mine })),
    withdrawal: done(service.change(cash("withdrawal", mine, "1"))),
    reversal: done(service.change({ kind: "reversal", pesel: mine, reverses: reversible, reason: "no" })),
    "the neighbour's withdrawal": outcomeOf(service.change(cash("withdrawal", neighbours, "1"))),
  };
  const names = Object.keys(asked) as (keyof typeof asked)[];
  const outcomes = await Promise.all(names.map((name) => asked[name]));
  return Object.fromEntries(names.map((name, nth) => [name, outcomes[nth] as string]));
}

async function outcomes(filled: Filled): Promise<Map<string, string>> {
  const service = serve(await filled.ledger.open());
  try {
    const all = { ...(await reads(service, filled)), ...(await writes(service, filled)) };
    return new Map(Object.entries(all).map(([name, outcome]) => [name, withoutIds(outcome, filled.known)]));
  } finally {
    await service.close();
  }
}

/** Edits of one entry's text, from which its database computes the columns that it is looked up by. */
const textEdits = (rows: readonly Readonly<Record<string, unknown>>[]): Edit[] =>
  rows
    .map(({ entry }) => String(entry))
    .filter((entry) => entry.includes(`"pesel":"${mine}"`))
    .flatMap((entry) => {
      const { id, sequence, key } = JSON.parse(entry) as { id: string; sequence: number; key: string | null };
      const others: Readonly<Record<string, string>> = {
        "another sequence": entry.replace(`"sequence":${sequence}`, '"sequence":99'),
        "the next sequence": entry.replace(`"sequence":${sequence}`, `"sequence":${sequence + 1}`),
        "the highest sequence": entry.replace(`"sequence":${sequence}`, '"sequence":9223372036854775807'),
        "another account": entry.replace(`"pesel":"${mine}"`, `"pesel":"${neighbours}"`),
        "no account": entry.replace(`"pesel":"${mine}"`, `"pesel":"${adult(7)}"`),
        "another id": entry.replace(id, "01a1fc0e-8c6f-70af-a44a-e5ac3576edce"),
        "another key": entry.replace(`"key":"${key}"`, '"key":"other"'),
        "no key": entry.replace(`"key":"${key}"`, '"key":null'),
        "nothing undone": entry.replace('"reverses":', '"undoes":'),
        "no kind": entry.replace('"kind":', '"kinds":'),
        "another balance": entry.replace(/"PLN":\d+/, '"PLN":1'),
        "no balance": entry.replace(/"PLN":\d+/, '"PLN":"x"'),
        "half of it": entry.slice(0, 40),
        "no text": "",
      };
      return Object.entries(others)
        .filter(([, other]) => other !== entry)
        .map(([what, other]) => ({
          what: `entry ${sequence}, ${what}`,
          sql:
            `update journal set entry = '${other.replaceAll("'", "''")}' ` +
            `where entry like '{"id":"${id}"%' and entry like '%"sequence":${sequence},%'`,
        }));
    });

/** Rows that are gone. */
const losses: Edit[] = [
  ["the account's row", `delete from account where pesel = ${mine}`],
  ["the account's newest entry", `delete from journal where pesel = ${mine} and sequence = 5`],
  ["an entry in the middle", `delete from journal where pesel = ${mine} and sequence = 3`],
  ["the first entry", `delete from journal where pesel = ${mine} and sequence = 1`],
  ["all entries", `delete from journal where pesel = ${mine}`],
  ["the rate table in force", `delete from rate_table where id = '${later.id}'`],
  ["a line of the tables in force", "delete from accepted_table where epoch = 1"],
  ["the key of ids", "delete from identity_key"],
].map(([what, sql]) => ({ what: `without ${what}`, sql: sql as string }));

/** Words of an account that does not exist yet, which its opening writes, too. */
const wordsOfNobody = {
  what: "with words of nobody",
  sql: `insert into name_word (pesel, word) values (${adult(5)}, 'jan')`,
};

/** Changes that a request does not notice, with the reason. */
const unseen: readonly (readonly [change: RegExp, reason: string])[] = [
  [/^account\.(name|surname)/, "Nothing is found by the name in an account's row. An audit compares it."],
  [/^name_word\./, "Accounts are found by words in lists only."],
  [/^refusal\.position/, "The order in which refusals are deleted."],
  [/^journal\.position.*: export/, "The order of an export."],
  [
    /^refusal\.(pesel|idempotency_key).*: a repeated key of a refusal/,
    "A refusal that is not found is decided again.",
  ],
  [
    /^(without all entries|entry \d, (another id|another account|no account)).*: (receipt|a page of the statement)/,
    "An entry that is gone, or has another id, is not found under its own. Its chain has a gap.",
  ],
  [
    /^entry 2, (another account|no account|another key|no key): a repeated key/,
    "An entry whose text is changed so that it has another key is not found under its own. An audit reads all hashes.",
  ],
  [
    /^entry 4, (another id|nothing undone).*: receipt/,
    "Whether an entry is undone is said by another entry.",
  ],
];
const isUnseen = (change: string) => unseen.some(([pattern]) => pattern.test(change));

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  describe(`a damaged ledger over ${name}`, () => {
    test("A damaged ledger answers rightly or not at all, whichever column is changed, and has no second chain", async (t) => {
      const ready = await filled(t, database);
      const { ledger } = ready;
      const right = await outcomes(ready);
      await ledger.restore();
      assert.deepEqual(await outcomes(ready), right, "the outcomes repeat themselves");
      const tables = [...new Set(ledger.columns.map(({ table }) => table))].filter(
        (one) => one !== "fx_schema",
      );
      const edits = [...losses, wordsOfNobody];
      await ledger.restore();
      edits.push(...textEdits(await ledger.rowsOf("journal")));
      for (const one of tables) {
        const found = await editsOf(ledger, one);
        edits.push(...found.filter(({ sql }) => one !== "journal" || !sql.includes("set entry")));
      }
      const wrong: string[] = [];
      let failed = 0;
      let refusedEdits = 0;
      for (const { what, sql } of edits) {
        await ledger.restore();
        if ((await ledger.edit(sql)) !== undefined) {
          refusedEdits += 1;
          continue;
        }
        const found = await outcomes(ready);
        for (const [asked, outcome] of found) {
          if (outcome === right.get(asked) || isUnseen(`${what}: ${asked}`)) continue;
          failed += 1;
          const isTold = outcome.startsWith("storage-unavailable: The ledger is damaged: ");
          const mayFail = !asked.startsWith("the neighbour") || sql.includes(neighbours);
          if (!isTold || !mayFail) wrong.push(`${what}: ${asked}: ${outcome}`);
        }
        assert.equal(await ledger.doubled(), 0, `${what}: entries of one number`);
      }
      t.diagnostic(`${edits.length} changes, ${refusedEdits} refused by the database, ${failed} failures`);
      assert.deepEqual(wrong, []);
      assert.ok(failed > 100);
    });

    test("A damaged ledger lists every account beside a damaged one, which it shows as damaged, now and at a past time", async (t) => {
      const { ledger } = await filled(t, database);
      const list = async (at?: Date) => {
        const later = new Date(now.getTime() + 60_000);
        const service = new LedgerService(await ledger.open(), fixedRates(), () => later);
        const items: ListedAccount[] = [];
        let cursor: string | undefined;
        do {
          const page = await service.accounts({ limit: 2, cursor, at });
          items.push(...page.items);
          cursor = page.next;
        } while (cursor !== undefined);
        await service.close();
        return new Map(items.map((item) => [item.pesel, item]));
      };
      await ledger.restore();
      const right = await list();
      let damaged = 0;
      for (const sql of damages) {
        for (const at of [undefined, now]) {
          await ledger.restore();
          assert.equal(await ledger.edit(sql), undefined);
          const found = await list(at);
          const own = found.get(mine);
          if (own?.damaged) damaged += 1;
          else if (own !== undefined) assert.deepEqual(own.balances, right.get(mine)?.balances);
          found.delete(mine);
          assert.deepEqual(found, new Map([...right].filter(([pesel]) => pesel !== mine)), sql);
        }
      }
      assert.ok(damaged > damages.length, `${damaged} lists had a damaged account`);
    });
  });
}

/** Each of them harms the account of `mine`, and no other. */
const damages = [
  `update account set sequence = sequence + 1 where pesel = ${mine}`,
  `update account set sequence = sequence - 1 where pesel = ${mine} and sequence > 1`,
  `delete from account where pesel = ${mine}`,
  `delete from journal where pesel = ${mine} and sequence = 5`,
  `delete from journal where pesel = ${mine}`,
  `update journal set hash = 'x' where pesel = ${mine}`,
  `update journal set entry = replace(entry, '"kind":', '"kinds":') where pesel = ${mine}`,
  `update journal set entry = replace(entry, '"sequence":5', '"sequence":9') where pesel = ${mine}`,
  `update account set name = 'Eve', sequence = 1 where pesel = ${mine}`,
];

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  test(`A follower gets the entries before a damaged one, and then hears of the damage, in ${name}`, async (t) => {
    const shared = await database(t);
    const service = serve(await shared.open());
    for (const index of [0, 1, 2]) await service.createAccount(opening({ index }));
    await shared.run(
      "update journal set entry = replace(entry, 'Kowalski', 'Lis') where position = (select min(position) + 1 from journal)",
    );
    const { items, next } = await service.entries({ limit: 9 });
    assert.deepEqual([items.length, items[0]?.id], [1, next]);
    await assert.rejects(service.entries({ after: next, limit: 9 }), /ledger is damaged/);
  });
}
