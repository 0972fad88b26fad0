import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import { validateXML } from "xmllint-wasm";
import type { Account } from "../../src/core/account.ts";
import { type CurrencyCode, minorUnitDigits } from "../../src/core/currency.ts";
import { requireDecimal } from "../../src/core/decimal.ts";
import type { Receipt } from "../../src/core/journal.ts";
import { minorUnitsOf } from "../../src/core/money.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { ExchangeService, StatementRequest } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { statementFile } from "../../src/wire/statement-file.ts";
import { seedEveryKind, seededPesels } from "../support/every-kind.ts";
import { adult, now, opening, table, terms, tradedRates } from "../support/fixture.ts";
import { answersTo, refuses } from "../support/service.ts";

const ownSchema = readFileSync(
  new URL("../fixtures/camt/camt.053.001.08-of-fx.xsd", import.meta.url),
  "utf8",
);
const published = process.env.FX_TEST_CAMT_XSD;
const schemas = [ownSchema, ...(published === undefined ? [] : [readFileSync(published, "utf8")])];

type Period = Pick<StatementRequest, "from" | "to">;

async function camtOf(
  service: ExchangeService,
  pesel: Pesel,
  period: Period = {},
  at = now,
): Promise<string> {
  const account = await service.account(pesel);
  const read = (page: StatementRequest) => service.statement(pesel, page);
  let text = "";
  for await (const part of statementFile("camt.053", { account, period, now: at, read })) text += part;
  return text;
}

async function requireValid(contents: string): Promise<void> {
  for (const schema of schemas) {
    const { errors } = await validateXML({
      xml: [{ fileName: "statement.xml", contents }],
      schema: [schema],
    });
    assert.deepEqual(
      errors.map(({ message }) => message),
      [],
    );
  }
}

interface Read {
  readonly currency: string;
  readonly opening: bigint;
  readonly closing: bigint;
  readonly entries: readonly { readonly id: string; readonly minor: bigint }[];
  readonly head: string;
}

/** The statements of a file, whose amounts have all digits of their currency. */
function statementsIn(text: string): Read[] {
  return [...text.matchAll(/<Stmt>([\s\S]*?)<\/Stmt>/g)].map(([, statement = ""]) => {
    const currency = /<Ccy>(\w+)</.exec(statement)?.[1] ?? "";
    const digits = minorUnitDigits(currency as CurrencyCode) ?? assert.fail(currency);
    const minor = (amount = "", of = "") => {
      assert.deepEqual([of, amount.split(".")[1]?.length ?? 0], [currency, digits]);
      return minorUnitsOf(requireDecimal(amount), digits) ?? assert.fail(amount);
    };
    const balance = (code: string) => {
      const found = new RegExp(`<Cd>${code}</Cd>.*?<Amt Ccy="(\\w+)">([\\d.]+)<`).exec(statement);
      return minor(found?.[2], found?.[1]);
    };
    const entries = [...statement.matchAll(/<Ntry><Amt Ccy="(\w+)">([\d.]+)<\/Amt><CdtDbtInd>(\w+)<.*/g)];
    return {
      currency,
      opening: balance("OPBD"),
      closing: balance("CLBD"),
      entries: entries.map(([entry, of, amount, direction]) => ({
        id: /<AcctSvcrRef>(\w+)</.exec(entry)?.[1] ?? "",
        minor: direction === "CRDT" ? minor(amount, of) : -minor(amount, of),
      })),
      head: statement.slice(0, statement.indexOf("<Ntry>")),
    };
  });
}

const plus = (sum: bigint, { minor }: { minor: bigint }) => sum + minor;

describe("a statement as camt.053", () => {
  test("A camt.053 is valid and adds up to the account, with every kind of entry in every currency", async () => {
    const service = await seedEveryKind(openSqlite(":memory:"));
    for (const pesel of seededPesels()) {
      const text = await camtOf(service, pesel);
      await requireValid(text);
      const statements = statementsIn(text);
      const { balances } = await service.account(pesel);
      assert.deepEqual(
        statements.map(({ currency, closing }) => ({ currency, minor: closing })),
        balances,
      );
      assert.equal(statements.length, table.rates.size + 1);
      for (const { opening, closing, entries, head } of statements) {
        assert.equal(opening, 0n);
        assert.equal(entries.reduce(plus, opening), closing);
        assert.ok(head.includes(`<TtlNtries><NbOfNtries>${entries.length}</NbOfNtries></TtlNtries>`));
      }
    }
  });

  test("A statement has the same Id whenever it is made, and another for each currency, account, period and last entry", async () => {
    const service = await seedEveryKind(openSqlite(":memory:"));
    const [pesel = adult(), other = adult()] = seededPesels();
    const later = new Date(now.getTime() + 1);
    const idsOf = async (of: Pesel, period: Period = {}, at = now) =>
      [...(await camtOf(service, of, period, at)).matchAll(/<Stmt>\n<Id>(\w{32})</g)].map(([, id]) => id);
    const ids = await idsOf(pesel);
    assert.deepEqual(await idsOf(pesel, {}, later), ids);
    const others = [ids, await idsOf(other), await idsOf(pesel, { to: "2026-05-29" })].flat();
    await service.change({ kind: "block", pesel, reason: "Order 17/2026" });
    others.push(...(await idsOf(pesel)));
    assert.equal(new Set(others).size, others.length);
  });

  test("The periods of a camt.053 follow one another: each opens with what the one before closed with", async () => {
    const service = await seedEveryKind(openSqlite(":memory:"));
    const [pesel = adult()] = seededPesels();
    const [before, after] = await Promise.all(
      [{ to: "2026-05-29" }, { from: "2026-05-30" }].map((days) => camtOf(service, pesel, days)),
    );
    const whole = statementsIn(await camtOf(service, pesel));
    const [first, second] = [statementsIn(before ?? ""), statementsIn(after ?? "")];
    for (const { currency, closing, entries } of whole) {
      const [one, other] = [first, second].map((each) => each.find((found) => found.currency === currency));
      assert.equal(other?.opening, one?.closing ?? 0n);
      assert.equal(other?.closing, closing);
      assert.deepEqual([...(one?.entries ?? []), ...(other?.entries ?? [])], entries);
    }
    assert.match(second[0]?.head ?? "", /<FrDtTm>2026-05-29T22:00:00.000Z</);
  });

  test("A camt.053 of days without entries has only balances, and one from before the account an empty statement in PLN", async () => {
    const service = await seedEveryKind(openSqlite(":memory:"), 2);
    const later = { from: "2026-06-07", to: "2026-06-07" };
    const [quiet, unborn] = await Promise.all([
      camtOf(service, adult(1), later),
      camtOf(service, adult(1), { to: "1969-12-31" }),
    ]);
    await Promise.all([requireValid(quiet), requireValid(unborn)]);
    for (const { opening, closing, entries } of statementsIn(quiet)) {
      assert.deepEqual([closing, entries], [opening, []]);
    }
    const statements = statementsIn(unborn).map(({ currency, opening, closing }) => [
      currency,
      opening,
      closing,
    ]);
    assert.deepEqual(statements, [["PLN", 0n, 0n]]);
  });

  test("A camt.053 has the entries of many pages once each, oldest first", async (t) => {
    const { service, receipts } = await busyAccount(t, 650);
    const text = await camtOf(service, adult());
    await requireValid(text);
    const [zloty, dollars] = statementsIn(text);
    assert.deepEqual(
      zloty?.entries.map(({ id }) => id),
      receipts.map((id) => id.replaceAll("-", "")),
    );
    assert.equal(dollars?.entries.length, 650);
  });

  test("A camt.053 marks a reversal and names what it undoes, and has the rate of an exchange", async (t) => {
    const { service, receipts } = await busyAccount(t, 1);
    const [, id = ""] = receipts;
    await service.change({ kind: "reversal", pesel: adult(), reverses: id, reason: "Wrong currency" });
    const text = await camtOf(service, adult());
    const [exchanged = "", undone = ""] = [...text.matchAll(/<Ntry><Amt Ccy="USD">.*/g)].map(
      ([entry]) => entry,
    );
    assert.match(exchanged, /<Amt Ccy="PLN">3\.70<\/Amt><CcyXchg><SrcCcy>PLN.*<UnitCcy>USD.*<XchgRate>3\.7</);
    assert.ok(!exchanged.includes("RvslInd"));
    assert.match(undone, /<CdtDbtInd>DBIT<\/CdtDbtInd><RvslInd>true</);
    assert.ok(undone.includes(`<Tp>reverses</Tp><Ref>${id.replaceAll("-", "")}</Ref>`));
    assert.ok(undone.includes(`reverses ${id}: Wrong currency`));
  });

  test("A camt.053 is valid with any characters in a name and a note, at their greatest length", async (t) => {
    const { service } = await busyAccount(t, 1);
    const account: Account = {
      ...(await service.account(adult())),
      name: "ą".repeat(100),
      surname: "😀".repeat(100),
    };
    const note = `<&>"']]>\u0000\u001f\ud800\ufffe\uffff${"😀".repeat(180)}`;
    const read = async (page: StatementRequest) => {
      const { items, ...rest } = await service.statement(adult(), page);
      return { ...rest, items: items.map((receipt): Receipt => ({ ...receipt, note })) };
    };
    let text = "";
    for await (const part of statementFile("camt.053", { account, period: {}, now, read })) text += part;
    await requireValid(text);
    assert.ok(text.includes("&lt;&amp;&gt;\"']]&gt;\\u0000\\u001f\ufffd\ufffd\ufffd😀"));
  });

  test("A statement that would begin in the future is refused", async (t) => {
    const { service } = await busyAccount(t, 1);
    for (const from of ["2026-06-09", "9999-12-31"]) {
      await refuses(camtOf(service, adult(), { from }), "invalid-request", /from must not be in the future/);
    }
    await requireValid(await camtOf(service, adult(), { from: "0001-01-01", to: "9999-12-31" }));
  });
});

/** An account that has bought 1 USD this many times. */
async function busyAccount(t: TestContext, times: number) {
  const store = openSqlite(":memory:");
  const service = new LedgerService(store, await tradedRates(store), () => now);
  t.after(() => service.close());
  const { receiptId } = await service.createAccount(opening({ pln: "100000" }));
  const order = { kind: "exchange", ...terms("buy 1 USD for PLN"), pesel: adult() } as const;
  const answers = await answersTo(service, Array(times).fill(order));
  const ids = answers.map((answer) => ("receiptId" in answer ? answer.receiptId : assert.fail()));
  return { service, receipts: [receiptId, ...ids] };
}
