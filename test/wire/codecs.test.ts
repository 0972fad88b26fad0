import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { answerCodes, FxError } from "../../src/core/errors.ts";
import { balanceLimit } from "../../src/core/money.ts";
import { decodeAudit, encodeAudit } from "../../src/wire/audit.ts";
import {
  accountText,
  decodeAccount,
  decodeEntry,
  decodePosition,
  decodeRates,
  encodeAccount,
  encodePosition,
  encodeRates,
} from "../../src/wire/codecs.ts";
import { decodeProblem, encodeProblem, statusOf } from "../../src/wire/problem.ts";
import { adult, table } from "../support/fixture.ts";

/** What the other end makes of it. */
function overTheWire(body: object): unknown {
  return JSON.parse(JSON.stringify(body));
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
        };
        assert.deepEqual(decodeAccount(overTheWire(encodeAccount(account))), account);
      }),
    );
  });

  test("an account's text is the JSON of the account", () => {
    const balance = fc.record({ currency, minor: fc.bigInt({ min: 0n, max: balanceLimit }) });
    const name = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(name, name, fc.array(balance, { maxLength: 4 }), (name, surname, balances) => {
        const account = { pesel: adult(), name, surname, balances, closed: false };
        assert.equal(accountText(account), JSON.stringify(encodeAccount(account)));
      }),
      { numRuns: 1000 },
    );
  });

  test("every total comes through exactly, however large and of either sign", () => {
    const total = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
    fc.assert(
      fc.property(currency, total, total, (code, customers, house) => {
        const position = {
          currencies: [{ currency: code, customers, house }],
          spreadEarned: { currency: "PLN" as CurrencyCode, minor: house },
        };
        assert.deepEqual(decodePosition(overTheWire(encodePosition(position))), position);
      }),
    );
  });

  test("rates keep every published place", () => {
    const { rates } = encodeRates({ table, previous: table, recorded: true, notTraded: undefined });
    assert.deepEqual(
      rates.find(({ symbol }) => symbol === "HUF"),
      {
        symbol: "HUF",
        name: "forint (Węgry)",
        bid: 0.011793,
        ask: 0.012031,
      },
    );
    for (const notTraded of [undefined, "It is too old."]) {
      const inForce = { table, previous: table, recorded: notTraded === undefined, notTraded };
      const back = decodeRates(overTheWire(encodeRates(inForce)));
      assert.equal(back.previous?.rates.size, table.rates.size);
      assert.deepEqual([back.recorded, back.notTraded], [inForce.recorded, notTraded]);
    }
  });

  test("audit findings come through with what is known of them", () => {
    const finding = { account: "440514*****", problem: "sold", recorded: "1", recomputed: "2" };
    const report = {
      accounts: 1,
      entries: 2,
      findings: [
        { ...finding, entry: 2, id: "x", by: "counter 2" },
        { ...finding, entry: undefined, id: undefined },
      ],
      findingsTotal: 2,
      digest: "0".repeat(64),
    };
    assert.equal(encodeAudit(report).ok, false);
    assert.deepEqual(decodeAudit(overTheWire(encodeAudit(report))), report);
  });

  test("what a checkpoint saw and an audit does not comes through", () => {
    const digest = "0".repeat(64);
    const clean = { accounts: 1, entries: 2, findings: [], findingsTotal: 0, digest };
    const customer = "ABCDEFGHIJKLMNOPABCD";
    for (const [against, ok] of [
      [{ accounts: 2, found: 2, lost: [] }, true],
      [{ accounts: 2, found: 0, lost: [] }, false],
      [{ accounts: 2, found: 1, lost: [{ customer, account: undefined, entries: 2, entriesNow: 0 }] }, false],
      [{ accounts: 2, found: 2, lost: [{ customer, account: adult(1), entries: 2, entriesNow: 1 }] }, false],
    ] as const) {
      const report = { ...clean, against };
      assert.equal(encodeAudit(report).ok, ok);
      assert.deepEqual(decodeAudit(overTheWire(encodeAudit(report))), report);
    }
  });
});

describe("an answer that is not one of fx", () => {
  const account = { name: "a", surname: "b", pesel: "c" };
  const wrong: [what: string, decode: () => unknown][] = [
    ["text", () => decodeAccount("<html>")],
    ["null", () => decodeEntry(null)],
    ["a missing field", () => decodeAccount({ ...account })],
    ["an unknown currency", () => decodeAccount({ ...account, currencies: [{ symbol: "XXX", amount: 1 }] })],
    ["an amount too fine", () => decodeAccount({ ...account, currencies: [{ symbol: "JPY", amount: 0.5 }] })],
    ["an amount as text", () => decodeAccount({ ...account, currencies: [{ symbol: "PLN", amount: "1" }] })],
  ];
  for (const [what, decode] of wrong) {
    test(`${what} is told as such`, () => {
      assert.throws(decode, (error) => error instanceof FxError && error.code === "internal");
    });
  }

  test("a field that this version does not know is let through", () => {
    const body = { ...account, currencies: [], since: "2027" };
    assert.equal(decodeAccount(body).name, "a");
  });
});

describe("problems over the wire", () => {
  test("every code comes through with its message and fields", () => {
    for (const code of answerCodes) {
      const error = new FxError(code, "What happened.", { fields: [{ pointer: "/a", detail: "is wrong" }] });
      const back = decodeProblem(overTheWire(encodeProblem(error, "id")), statusOf[code], {
        retryAfterSeconds: 5,
        replayed: true,
      });
      assert.deepEqual(
        [back?.code, back?.message, back?.fields, back?.retryAfterSeconds, back?.replayed],
        [code, error.message, error.fields, 5, true],
      );
    }
  });

  test("no PESEL gets into one", () => {
    const fields = [{ pointer: `/${adult()}`, detail: `is ${adult()}` }];
    const text = JSON.stringify(encodeProblem(new FxError("internal", `about ${adult()}`, { fields }), "1"));
    assert.equal(text.includes(adult()), false);
  });

  test("what is no problem of fx is not taken for one", () => {
    for (const body of [undefined, "x", {}, { status: 500, title: "Bad" }, { code: "new-code" }]) {
      assert.equal(decodeProblem(body, 500), undefined);
    }
  });
});
