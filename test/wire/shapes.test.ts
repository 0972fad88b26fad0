import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type * as z from "zod";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { answerCodes, FxError } from "../../src/core/errors.ts";
import { balanceLimit } from "../../src/core/money.ts";
import { account as accountShape } from "../../src/wire/accounts.ts";
import { decodeAnswer } from "../../src/wire/answers.ts";
import { audit } from "../../src/wire/audit.ts";
import { checkpointText, headsOf } from "../../src/wire/checkpoint.ts";
import { entry } from "../../src/wire/entries.ts";
import { position as positionShape } from "../../src/wire/ledger.ts";
import { decodeProblem, encodeProblem, statusOf } from "../../src/wire/problem.ts";
import { rates as ratesShape } from "../../src/wire/rates.ts";
import { adult, now, table } from "../support/fixture.ts";

/** The value as the other end decodes it. */
function overTheWire<Value>(shape: z.ZodType<Value>, value: Value): Value {
  return decodeAnswer(shape, JSON.parse(JSON.stringify(shape.encode(value))));
}

const currency = fc.constantFrom(...(["PLN", "USD", "JPY", "XDR"] as CurrencyCode[]));

describe("figures over the wire", () => {
  test("every balance comes through exactly", () => {
    fc.assert(
      fc.property(currency, fc.bigInt({ min: 0n, max: balanceLimit }), (code, minor) => {
        const account = {
          pesel: adult(),
          name: "Jan",
          surname: "K",
          balances: [{ currency: code, minor }],
          closed: false,
          blocked: false,
        };
        assert.deepEqual(overTheWire(accountShape, account), account);
      }),
    );
  });

  test("every total comes through exactly, of either sign, as text where a JSON number would round it", () => {
    const total = fc.oneof(
      fc.bigInt({ min: -balanceLimit, max: balanceLimit }),
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    );
    fc.assert(
      fc.property(currency, total, total, (code, customers, house) => {
        const position = {
          currencies: [{ currency: code, customers, house, cash: -house, bank: customers }],
          spreadEarned: { currency: "PLN" as CurrencyCode, minor: house },
        };
        assert.deepEqual(overTheWire(positionShape, position), position);
      }),
    );
    const spreadEarned = { currency: "PLN" as CurrencyCode, minor: 9_007_199_254_740_993n };
    const { amount } = positionShape.encode({ currencies: [], spreadEarned }).spreadEarned;
    assert.equal(amount, "90071992547409.93");
  });

  test("rates that are not tradable for no reason, or tradable for one, are no answer of fx", () => {
    const traded = { notTraded: undefined, suspension: undefined };
    const answer = ratesShape.encode({ table, previous: table, recorded: true, ...traded });
    for (const wrong of [{ tradable: false }, { reasonCode: "too-old" }]) {
      assert.throws(() => decodeAnswer(ratesShape, { ...answer, ...wrong }), /not one that fx gives/);
    }
  });

  test("rates keep every published place", () => {
    const traded = { notTraded: undefined, suspension: undefined };
    const { rates } = ratesShape.encode({ table, previous: table, recorded: true, ...traded });
    assert.deepEqual(
      rates.find(({ symbol }) => symbol === "HUF"),
      {
        symbol: "HUF",
        name: "forint (Węgry)",
        bid: 0.011793,
        ask: 0.012031,
      },
    );
    const suspension = { reason: "The bank corrects its table", by: "anna", since: now };
    for (const why of [
      traded,
      { ...traded, notTraded: { code: "too-old", reason: "It is too old." } as const },
      { notTraded: { code: "suspended", reason: "It is suspended." } as const, suspension },
    ]) {
      const inForce = { table, previous: table, recorded: why === traded, ...why };
      const back = overTheWire(ratesShape, inForce);
      assert.equal(back.previous?.rates.size, table.rates.size);
      const { recorded, notTraded, suspension } = back;
      assert.deepEqual([recorded, { notTraded, suspension }], [inForce.recorded, why]);
    }
  });

  test("audit findings come through with what is known of them", () => {
    const finding = { account: "440514*****", problem: "sold", recorded: "1", recomputed: "2" };
    const report = {
      accounts: 1,
      entries: 2,
      findings: [
        { ...finding, entry: 2, id: "x", by: "counter 2" },
        { ...finding, entry: 2 ** 60, id: "x" },
        { ...finding, entry: undefined, id: undefined },
      ],
      findingsTotal: 2,
      digest: "0".repeat(64),
    };
    assert.equal(audit.encode(report).ok, false);
    assert.deepEqual(overTheWire(audit, report), report);
  });

  test("Blank lines in a checkpoint, which a server sends while it reads, mean nothing", async () => {
    const head = { customer: "A".repeat(20), entries: 2, hash: "0".repeat(64) };
    async function* chunks() {
      yield [head];
    }
    async function* padded() {
      for await (const part of checkpointText(chunks())) yield Buffer.from(`\n\n${part}\n`);
    }
    const heads = [];
    for await (const some of headsOf(padded())) heads.push(...some);
    assert.deepEqual(heads, [head]);
  });

  test("The accounts that an audit misses of a checkpoint come through", () => {
    const digest = "0".repeat(64);
    const clean = { accounts: 1, entries: 2, findings: [], findingsTotal: 0, digest };
    const customer = "ABCDEFGHIJKLMNOPABCD";
    for (const [against, ok] of [
      [{ accounts: 2, found: 2, lost: [] }, true],
      [{ accounts: 2, found: 0, lost: [] }, false],
      [{ accounts: 2, found: 1, lost: [{ customer, account: undefined, entries: 2, entriesNow: 0 }] }, false],
      [{ accounts: 2, found: 2, lost: [{ customer, account: adult(1), entries: 2, entriesNow: 1 }] }, false],
      [{ accounts: 2, found: 2, lost: [{ customer, account: adult(1), entries: 2, entriesNow: -1 }] }, false],
    ] as const) {
      const report = { ...clean, against };
      assert.equal(audit.encode(report).ok, ok);
      assert.deepEqual(overTheWire(audit, report), report);
    }
  });
});

describe("an answer that is not one of fx", () => {
  const account = { name: "a", surname: "b", pesel: "c" };
  const wrong: [what: string, decode: () => unknown][] = [
    ["text", () => decodeAnswer(accountShape, "<html>")],
    ["null", () => decodeAnswer(entry, null)],
    ["a missing field", () => decodeAnswer(accountShape, { ...account })],
    [
      "an unknown currency",
      () => decodeAnswer(accountShape, { ...account, currencies: [{ symbol: "XXX", amount: 1 }] }),
    ],
    [
      "an amount too fine",
      () => decodeAnswer(accountShape, { ...account, currencies: [{ symbol: "JPY", amount: 0.5 }] }),
    ],
    [
      "an amount as text",
      () => decodeAnswer(accountShape, { ...account, currencies: [{ symbol: "PLN", amount: "1" }] }),
    ],
  ];
  for (const [what, decode] of wrong) {
    test(`An answer that is not one of fx is refused: ${what}`, () => {
      assert.throws(decode, (error) => error instanceof FxError && error.code === "internal");
    });
  }

  test("a field that this version does not know is let through", () => {
    const body = { ...account, currencies: [], since: "2027" };
    assert.equal(decodeAnswer(accountShape, body).name, "a");
  });
});

describe("problems over the wire", () => {
  test("every code comes through with its message and fields", () => {
    for (const code of answerCodes) {
      const error = new FxError(code, "What happened.", { fields: [{ pointer: "/a", detail: "is wrong" }] });
      const back = decodeProblem(JSON.parse(JSON.stringify(encodeProblem(error, "id"))), statusOf[code], {
        retryAfterSeconds: 5,
        replayed: true,
      });
      assert.deepEqual(
        [back?.code, back?.message, back?.fields, back?.retryAfterSeconds, back?.replayed],
        [code, error.message, error.fields, 5, true],
      );
    }
  });

  test("No PESEL gets into a problem", () => {
    const fields = [{ pointer: `/${adult()}`, detail: `is ${adult()}` }];
    const text = JSON.stringify(encodeProblem(new FxError("internal", `about ${adult()}`, { fields }), "1"));
    assert.equal(text.includes(adult()), false);
  });

  test("A body that is no problem of fx is not decoded as one", () => {
    const own = encodeProblem(new FxError("internal", "What happened."), "id");
    const gateways = ["about:blank", "urn:fx:error:overloaded"].map((type) => ({ ...own, type }));
    for (const body of [
      undefined,
      "x",
      {},
      { status: 500, title: "Bad" },
      { code: "new-code" },
      ...gateways,
    ]) {
      assert.equal(decodeProblem(body, 500), undefined);
    }
  });
});
