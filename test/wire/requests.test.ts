import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import * as z from "zod";
import { formatDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { opening as openingShape } from "../../src/wire/accounts.ts";
import { encodeBody } from "../../src/wire/bulk.ts";
import type { Operation } from "../../src/wire/operation.ts";
import { operations } from "../../src/wire/operations.ts";
import { order as orderShape } from "../../src/wire/orders.ts";
import {
  encodeIdempotencyKey,
  parseIdempotencyKey,
  parseJson,
  parseRequest,
} from "../../src/wire/requests.ts";
import { adult, decimal, opening, terms } from "../support/fixture.ts";

function isRefused(act: () => unknown, code: string): void {
  assert.throws(act, (error) => error instanceof FxError && error.code === code);
}

describe("numbers in a body", () => {
  test("Numbers in a body are read by their exact decimal value", () => {
    const body = parseJson('{"name":"a","surname":"b","pesel":"c","pln":9999999999999.99}');
    const { pln } = parseRequest(openingShape, body);
    assert.equal(pln && formatDecimal(pln), "9999999999999.99");
  });

  for (const number of ["0.1", "1e3", "-0", "100.0000000000000000000", "123456789012345", "1E-2"]) {
    test(`The number ${number} in a body is taken`, () => {
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
    test(`The number ${number} in a body, which a double would round, is refused`, () => {
      isRefused(() => parseJson(`{"a":${number}}`), "invalid-request");
    });
  }

  test("Numbers in the strings of a body are left alone", () => {
    const body = { "1.00000000000000001": '\\"12345678901234567"' };
    assert.deepEqual(parseJson(JSON.stringify(body)), body);
  });
});

test("A page has 50 items, and 200 at most, in every list", () => {
  const queries = Object.values<Operation>(operations).flatMap(({ query = [] }) => query);
  const ofLists = queries.filter(({ shape }) => "limit" in shape);
  assert.equal(ofLists.length, 4);
  for (const query of ofLists) {
    assert.equal(parseRequest(query, {}).limit, 50);
    assert.equal(parseRequest(query, { limit: "200" }).limit, 200);
    isRefused(() => parseRequest(query, { limit: "201" }, "query"), "invalid-request");
  }
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

  test("A field given twice is refused by its name", () => {
    assert.equal(refusedFor('{"toBuy":10,"toBuy":20}'), "/toBuy");
    assert.equal(refusedFor('{"a":"x:y", "toBuy" : 10 ,"toBuy"\n:10}'), "/toBuy");
    assert.throws(() => parseJson('{"toBuy":10,"toBuy":20}'), {
      message: "The body is not valid: toBuy is given more than once.",
    });
  });

  test("Every field of every operation's body is named", () => {
    const names = Object.values(operations).flatMap((operation) =>
      "body" in operation && operation.body instanceof z.ZodObject ? Object.keys(operation.body.shape) : [],
    );
    assert.ok(names.includes("account"));
    for (const name of names) assert.equal(refusedFor(`{"${name}":1,"${name}":2}`), `/${name}`);
  });

  test("A field given twice in two spellings is refused", () => {
    assert.equal(refusedFor('{"toBuy":10,"to\\u0042uy":20}'), "/toBuy");
    assert.equal(refusedFor('{"__proto__":1,"__proto__":2}'), "");
  });

  test("A field given twice is found in any body, and no other field is refused", () => {
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

test("A body of brackets in brackets, deeper than the stack, is refused as invalid-request", () => {
  for (const [open, close] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    const body = `${open.repeat(100_000)}1${close.repeat(100_000)}`;
    isRefused(() => parseRequest(orderShape, parseJson(body)), "invalid-request");
  }
});

test("A body of 16 KiB of JSON is refused within 20 ms, whatever it has", () => {
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
  for (const body of bodies) {
    // The best of several: another process may have had the processor.
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let times = 0; times < 20; times += 1) {
      const began = performance.now();
      isRefused(() => parseRequest(orderShape, parseJson(body)), "invalid-request");
      shortestMs = Math.min(shortestMs, performance.now() - began);
    }
    assert.ok(shortestMs < 20, `${body.slice(0, 20)} took ${shortestMs} ms`);
  }
});

describe("an order for the wire", () => {
  test("An order encoded for the wire is read as the same order", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 999_999_999_999_999n }), fc.nat(2), (coefficient, scale) => {
        const order = { ...terms("sell 1 PLN for USD"), amount: { coefficient, scale } };
        const body = JSON.stringify(encodeBody({ kind: "exchange", pesel: adult(), ...order }));
        const { pesel, toSell, toBuy } = parseRequest(orderShape, parseJson(body));
        assert.equal(toSell && formatDecimal(toSell), formatDecimal(order.amount));
        assert.deepEqual([pesel, toBuy], [adult(), undefined]);
      }),
    );
  });

  test("An order whose amount no JSON number holds exactly is refused, not rounded", () => {
    for (const amount of ["1.00000000000000000001", "9007199254740993", "1e400", "0.12345678901234567"]) {
      const order = { ...terms("sell 1 PLN for USD"), amount: decimal(amount) };
      isRefused(() => encodeBody({ kind: "exchange", pesel: adult(), ...order }), "invalid-request");
      isRefused(() => encodeBody({ kind: "opening", ...opening({ pln: amount }) }), "invalid-request");
    }
  });
});

describe("an idempotency key", () => {
  test("An idempotency key is the same at both ends of the wire", () => {
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

  test("An idempotency key may be bare", () => {
    assert.equal(parseIdempotencyKey("order-1"), "order-1");
    assert.equal(parseIdempotencyKey("a".repeat(255)), "a".repeat(255));
  });

  test("An idempotency key of a wrong form is refused", () => {
    for (const key of ["", '""', "a b", '"a b"', '"a', "a".repeat(256), "klucz-ż", "a\n"]) {
      isRefused(() => parseIdempotencyKey(key), "invalid-request");
    }
    isRefused(() => encodeIdempotencyKey("a\nb"), "invalid-request");
  });
});
