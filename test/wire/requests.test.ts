import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { formatDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { parseAtQuery, parseStatementQuery } from "../../src/wire/queries.ts";
import {
  encodeIdempotencyKey,
  encodeOpening,
  encodeOrder,
  parseIdempotencyKey,
  parseJson,
  parseOpeningBody,
  parseOrderBody,
} from "../../src/wire/requests.ts";
import { adult, decimal, opening, terms } from "../support/fixture.ts";

function isRefused(act: () => unknown, code: string): void {
  assert.throws(act, (error) => error instanceof FxError && error.code === code);
}

describe("numbers in a body", () => {
  test("are read by their exact decimal value", () => {
    const body = parseJson('{"name":"a","surname":"b","pesel":"c","pln":9999999999999.99}');
    assert.equal(formatDecimal(parseOpeningBody(body).initial), "9999999999999.99");
  });

  for (const number of ["0.1", "1e3", "-0", "100.0000000000000000000", "123456789012345", "1E-2"]) {
    test(`${number} is taken`, () => {
      assert.deepEqual(parseJson(`{"a":${number}}`), { a: Number(number) });
    });
  }

  for (const number of [
    "1.00000000000000001",
    "12345678901234567",
    "1e309",
    "1e-330",
    "0.30000000000000000001",
  ]) {
    test(`${number}, which a double would round, is refused`, () => {
      isRefused(() => parseJson(`{"a":${number}}`), "invalid-request");
    });
  }

  test("are not looked at in what has not the shape of a request", () => {
    const wide = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`a${index}`, 1e300]));
    for (const body of [Array(17).fill(1e300), { a: { b: 1e300 } }, { a: [1e300] }, wide]) {
      const text = JSON.stringify(body).replaceAll("1e+300", "1.00000000000000001");
      assert.deepEqual(parseJson(text), JSON.parse(text));
    }
  });

  test("are not looked for in strings", () => {
    const body = { "1.00000000000000001": '\\"12345678901234567"' };
    assert.deepEqual(parseJson(JSON.stringify(body)), body);
  });
});

describe("a query", () => {
  const detailOf = (parse: (query: unknown) => unknown, query: object) => {
    try {
      parse(query);
    } catch (error) {
      assert.ok(error instanceof FxError && error.code === "invalid-request");
      return error.fields?.map(({ pointer, detail }) => `${pointer} ${detail}`).join();
    }
    return assert.fail("not refused");
  };

  test("has a time with its offset, where + may have become a space", () => {
    const noon = "2026-06-08T12:00:00.000Z";
    for (const at of [noon, "2026-06-08T14:00:00+02:00", "2026-06-08T14:00:00 02:00"]) {
      assert.equal(parseAtQuery({ at })?.toISOString(), noon);
    }
    assert.equal(parseAtQuery({}), undefined);
  });

  test("with another time is refused, and so is one with a misspelt name", () => {
    const detail = "/at must be a date and time with an offset, such as 2026-06-08T12:00:00Z";
    for (const at of ["", "2026-06-08", "2026-06-08T12:00:00", ["2026-06-08T12:00:00Z"]]) {
      assert.equal(detailOf(parseAtQuery, { at }), typeof at === "string" ? detail : "/at must be a string");
    }
    assert.equal(detailOf(parseAtQuery, { At: "" }), "/At is not a known field");
  });

  test("of a period has dates that exist, in their order", () => {
    const period = { from: "2026-06-01", to: "2026-06-30" };
    assert.deepEqual(parseStatementQuery(period), { limit: 50, key: undefined, ...period });
    assert.equal(
      detailOf(parseStatementQuery, { from: "2026-06-31" }),
      "/from must be a date, such as 2026-06-08",
    );
    assert.equal(
      detailOf(parseStatementQuery, { from: "2026-06-02", to: "2026-06-01" }),
      "/to must not be before from",
    );
  });
});

describe("gap: a field given twice", () => {
  const refusedFor = (text: string) => {
    try {
      parseJson(text);
    } catch (error) {
      assert.ok(error instanceof FxError);
      assert.match(error.fields?.map(({ detail }) => detail).join() ?? "", /is given more than once/);
      assert.equal(error.code, "invalid-request");
      return error.fields?.[0]?.pointer;
    }
    return undefined;
  };

  test("is refused by its name", () => {
    assert.equal(refusedFor('{"toBuy":10,"toBuy":20}'), "/toBuy");
    assert.equal(refusedFor('{"a":"x:y", "toBuy" : 10 ,"toBuy"\n:10}'), "/toBuy");
    assert.throws(() => parseJson('{"toBuy":10,"toBuy":20}'), {
      message: "The body is not valid: toBuy is given more than once.",
    });
  });

  test("is refused in two spellings too", () => {
    assert.equal(refusedFor('{"toBuy":10,"to\\u0042uy":20}'), "/toBuy");
    assert.equal(refusedFor('{"__proto__":1,"__proto__":2}'), "");
  });

  test("is found whatever else the fields have in them, and no other is refused", () => {
    const name = fc.string({ unit: "binary", maxLength: 3 });
    const value = fc.oneof(fc.boolean(), fc.double({ noNaN: true }), fc.string({ unit: "binary" }));
    const member = fc.tuple(name, fc.oneof(value, fc.constantFrom('a":1,"a', "a:b", "{[")));
    fc.assert(
      fc.property(fc.array(member, { maxLength: 6 }), (members) => {
        const text = `{${members.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`)}}`;
        fc.pre(!text.includes("\ufffd"));
        const isTwice = new Set(members.map(([key]) => key)).size < members.length;
        assert.equal(refusedFor(text) !== undefined, isTwice, text);
      }),
      { numRuns: 2000 },
    );
  });
});

test("every 16 KiB of JSON are read or refused at once", () => {
  const filled = (part: string, [open, close]: readonly [string, string], separator = ",") => {
    const count = Math.floor((16_384 - 2) / (part.length + separator.length));
    return open + Array.from({ length: count }, () => part).join(separator) + close;
  };
  const numbered = (value: string) =>
    `{${Array.from({ length: 1000 }, (_, index) => `"a:${index}":${value}`).join()}}`;
  const bodies = [
    filled("1e300", ["[", "]"]),
    filled('{"a":1e300}', ["[", "]"]),
    filled("9", ['{"toBuy":', "}"], ""),
    filled("[", ["", ""], ""),
    filled('"toBuy":1e300', ["{", "}"]),
    filled(":", ['{"a":"', '"}'], ""),
    numbered("1e300"),
    numbered("{}"),
  ];
  const began = performance.now();
  for (let times = 0; times < 10; times += 1) {
    for (const body of bodies) isRefused(() => parseOrderBody(parseJson(body)), "invalid-request");
  }
  assert.ok(performance.now() - began < 10 * bodies.length * 10);
});

describe("an order for the wire", () => {
  test("is what the other end reads", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 999_999_999_999_999n }), fc.nat(2), (coefficient, scale) => {
        const order = { ...terms("sell 1 PLN for USD"), amount: { coefficient, scale } };
        const { pesel, toSell, toBuy } = parseOrderBody(
          parseJson(JSON.stringify(encodeOrder(adult(), order))),
        );
        assert.equal(toSell && formatDecimal(toSell), formatDecimal(order.amount));
        assert.deepEqual([pesel, toBuy], [adult(), undefined]);
      }),
    );
  });

  test("whose amount a JSON number cannot say is refused, not rounded", () => {
    for (const amount of ["1.00000000000000000001", "9007199254740993", "1e400", "0.12345678901234567"]) {
      const order = { ...terms("sell 1 PLN for USD"), amount: decimal(amount) };
      isRefused(() => encodeOrder(adult(), order), "invalid-request");
      isRefused(() => encodeOpening(opening({ pln: amount })), "invalid-request");
    }
  });
});

describe("an idempotency key", () => {
  test("is the same at both ends of the wire", () => {
    const visible = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(visible, (key) => {
        fc.pre(key.length > 0 && key.length <= 255);
        assert.equal(parseIdempotencyKey(encodeIdempotencyKey(key)), key);
      }),
    );
  });

  test("may be bare", () => {
    assert.equal(parseIdempotencyKey("order-1"), "order-1");
    assert.equal(parseIdempotencyKey("a".repeat(255)), "a".repeat(255));
  });

  test("of a wrong form is refused", () => {
    for (const key of ["", '""', "a b", '"a b"', '"a', "a".repeat(256), "klucz-ż", "a\n"]) {
      isRefused(() => parseIdempotencyKey(key), "invalid-request");
    }
    isRefused(() => encodeIdempotencyKey("a\nb"), "invalid-request");
  });
});
