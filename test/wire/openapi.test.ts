import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { parseHolder, parseOpening } from "../../src/core/account.ts";
import { parseCash, parseReason } from "../../src/core/change.ts";
import { FxError } from "../../src/core/errors.ts";
import { parsePesel } from "../../src/core/pesel.ts";
import { opening as openingShape, renaming } from "../../src/wire/accounts.ts";
import { parseBulkLine } from "../../src/wire/bulk.ts";
import { cash as cashShape } from "../../src/wire/cash.ts";
import { openApiDocument } from "../../src/wire/openapi.ts";
import { order as orderShape } from "../../src/wire/orders.ts";
import { parseIdempotencyKey, parseRequest } from "../../src/wire/requests.ts";
import { document, type Schema } from "../support/document.ts";
import { adult, decimal, peselOf, today } from "../support/fixture.ts";
import { routesOf } from "../support/routes.ts";
import { startServer, type TestServer } from "../support/server.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: "document", ...document });
const listed = Object.values(document.paths).flatMap((methods) => Object.values(methods));

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.close());

test("the document is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document) as never);
  assert.equal(valid, true, JSON.stringify(errors));
  assert.equal(validator.version, "3.1");
});

test("the document lists every route that the server has, and no other", () => {
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = routesOf(server.app).filter((route) => !/^GET \/(docs|$)/.test(route));
  assert.deepEqual(routes.sort(), served.sort());
});

test("an entry is told apart by its kind", async () => {
  const { discriminator, oneOf } = component("Entry");
  assert.equal(discriminator?.propertyName, "kind");
  assert.deepEqual(
    Object.values(discriminator?.mapping ?? {}).map(($ref) => ({ $ref })),
    oneOf,
  );
  for (const [kind, reference] of Object.entries(discriminator?.mapping ?? {})) {
    assert.equal(component(reference.split("/").at(-1) ?? "").properties?.kind?.const, kind);
  }
});

test("paths are relative to where the document comes from, or to the prefix", () => {
  assert.deepEqual(document.servers, [{ url: "/" }]);
  assert.deepEqual(openApiDocument("1.2.3", { prefix: "/fx" }).servers, [{ url: "/fx" }]);
});

describe("generated clients can rely on it", () => {
  test("every number is a double or says how many bits it has, so that no amount is rounded", () => {
    const numbers = schemasAt("#", document).filter(
      ([, { type }]) => type === "number" || type === "integer",
    );
    assert.ok(numbers.length > 30);
    for (const [place, { type, format }] of numbers) {
      const formats = type === "number" ? ["double"] : ["int32", "int64"];
      assert.ok(formats.includes(String(format)), `${place} has the format ${format}`);
    }
  });

  test("every text that is sent says its form", () => {
    const sent = listed.flatMap(({ operationId, parameters, requestBody }) =>
      schemasAt(operationId, { parameters, requestBody }),
    );
    const bodies = [...["Opening", "Order"], ...["Cash", "CashLine", "Renaming", "Reversal"]];
    const texts = [...sent, ...bodies.flatMap((name) => schemasAt(name, component(name)))].filter(
      ([, { type }]) => type === "string",
    );
    assert.ok(texts.length > 20);
    for (const [place, text] of texts) {
      assert.ok(text.pattern ?? text.format ?? text.enum ?? text.maxLength, place);
    }
  });

  test("every example is one", () => {
    const shown = schemasIn(document).filter(({ examples }) => examples !== undefined);
    assert.ok(shown.length > 50);
    for (const { examples, ...schema } of shown) {
      const validate = ajv.compile({ ...schema, components: document.components });
      for (const example of examples ?? []) {
        assert.ok(validate(example), `${JSON.stringify(example)} ${JSON.stringify(validate.errors)}`);
      }
    }
  });

  test("every PESEL in it is of 1801, and so nobody's: the page that shows it can be tried on a real server", () => {
    const pesels = [...JSON.stringify(document).matchAll(/"(\d{11})"/g)].map(([, pesel]) => pesel as string);
    assert.ok(pesels.length > 5);
    for (const pesel of pesels) assert.match(parsePesel(pesel, today), /^018[1-9]/);
  });

  for (const [body, choices] of [
    ["Order", ["toBuy", "toSell"]],
    ["Opening", ["pln", "initial", "pln initial"]],
  ] as const) {
    test(`the body ${body} is one of ${choices.length} objects, each complete`, () => {
      const shapes = (component(body).oneOf ?? []) as readonly Schema[];
      assert.deepEqual(
        shapes.map(({ required = [] }) =>
          required.filter((name) => choices.join(" ").split(" ").includes(name)).join(" "),
        ),
        choices,
      );
      for (const { properties, required, additionalProperties } of shapes) {
        assert.deepEqual(required?.toSorted(), Object.keys(properties ?? {}).sort());
        assert.equal(additionalProperties, false);
      }
    });
  }

  test("every pattern is one in any language: without lookaround, Unicode classes and escapes", () => {
    const patterns = schemasIn(document).flatMap(({ pattern }) => pattern ?? []);
    assert.ok(patterns.length > 20);
    for (const pattern of patterns) {
      assert.ok(new RegExp(pattern));
      assert.doesNotMatch(pattern, /[^ -~]|\\[upPkx]|\(\?/);
    }
  });
});

test("a server without tokens asks for none, and its document says so", () => {
  const open = openApiDocument("1.2.3", { tokens: false });
  assert.deepEqual(open.components.securitySchemes, {});
  for (const { security, responses } of Object.values(open.paths).flatMap((each) => Object.values(each))) {
    assert.deepEqual([security, "401" in responses], [[], false]);
  }
});

describe("the document takes what the server takes", () => {
  const accepts = (name: string) =>
    ajv.getSchema(`document#/components/schemas/${name}`) as (body: unknown) => boolean;
  const amount = fc.constantFrom(0.01, 1, 131072.13, 1234567.89);
  const person = { name: "Jan", surname: "Kowalski", pesel: adult(1) };

  /** Texts of all kinds, some of them `min` to `max` characters long. */
  const textsOf = (min: number, max: number) => {
    const characters = fc.constantFrom(
      ..."aż李😀 \t\n\u0000\u001c\u007f\u0085\u009f\u00a0\u2028\ufeff\u200f\u202e\u200c\u00ad\u3164\u2800\ufe0f\u{16fe4}",
    );
    const short = fc.array(characters, { maxLength: 5 });
    const long = fc.tuple(short, fc.constantFrom("a", "😀", " "), fc.integer({ min, max }), short);
    return fc.oneof(
      fc.string({ unit: "binary" }),
      short.map((parts) => parts.join("")),
      long.map(([before, one, times, after]) => before.join("") + one.repeat(times) + after.join("")),
    );
  };
  const notes = textsOf(190, 201);

  test("The document takes the orders that the server takes", () => {
    const fields = fc.record({ toBuy: amount, toSell: amount, tosell: amount }, { requiredKeys: [] });
    fc.assert(
      fc.property(fields, (given) => {
        const body = { pesel: adult(1), from: "PLN", to: "usd", ...given };
        areAlike(accepts("Order"), body, () => parseRequest(orderShape, body));
      }),
    );
  });

  test("The document takes the lines of a batch that the server takes", () => {
    const order = fc.record({ from: fc.constant("PLN"), to: fc.constant("USD"), toBuy: fc.constant(1) });
    const opening = fc.record({
      name: fc.constant("Jan"),
      surname: fc.constant("Nowak"),
      pln: fc.constant(1),
    });
    const cash = fc.record({
      kind: fc.constantFrom("deposit", "withdrawal", "opening", "Deposit", ""),
      amount: fc.constantFrom(1, 0.5, "1"),
      currency: fc.constantFrom("PLN", "usd"),
    });
    // The document does not say which characters a note may have.
    const note = fc.constantFrom("", "a", "😀".repeat(200), "a".repeat(201), 1);
    const noted = fc.tuple(cash, fc.record({ note }, { requiredKeys: [] }));
    const key = fc.constantFrom("k", "k".repeat(255), "k".repeat(256), "", "a b", "ł", 1);
    const beside = fc.record({ key, table: fc.constant("108/C/NBP/2026"), Key: key }, { requiredKeys: [] });
    fc.assert(
      fc.property(
        fc.oneof(
          order,
          opening,
          noted.map(([some, more]) => ({ ...some, ...more })),
        ),
        beside,
        (fields, more) => {
          const line = { pesel: adult(1), ...fields, ...more };
          areAlike(accepts("BulkLine"), line, () => parseBulkLine(JSON.stringify(line), today));
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("The document takes the openings that the server takes, if both amounts are equal", () => {
    const names = fc.subarray(["pln", "initial", "PLN", "key"]);
    fc.assert(
      fc.property(names, amount, (given, pln) => {
        const body = { ...person, ...Object.fromEntries(given.map((name) => [name, pln])) };
        areAlike(accepts("Opening"), body, () => parseRequest(openingShape, body));
      }),
    );
  });

  test("The document takes the deposits, changes of name and reversals that the server takes", () => {
    const cash = { pesel: adult(1), kind: "deposit" as const };
    const bodies = fc.record(
      { amount, currency: fc.constantFrom("PLN", "usd"), note: notes },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(bodies, notes, (body, text) => {
        const { note, ...rest } = body;
        areAlike(accepts("Cash"), rest, () =>
          parseCash({ ...cash, ...parseRequest(cashShape, rest) }, today),
        );
        if (isTaken(() => parseReason(text))) assert.ok(accepts("Reversal")({ reason: text.trim() }));
      }),
      { numRuns: 1000 },
    );
    const name = { name: " Jan", surname: "Lis" };
    for (const body of [{}, { name: "Jan" }, { ...name, surname: "" }, { ...name, pesel: "" }, name]) {
      areAlike(accepts("Renaming"), body, () => parseHolder(parseRequest(renaming, body)));
    }
  });

  test("The document takes the trimmed names that the server takes, counted in code points", () => {
    fc.assert(
      fc.property(textsOf(90, 101), (given) => {
        const name = given.trim();
        const body = { ...person, name };
        const isPublished = accepts("Opening")({ ...body, pln: 1 });
        if (isTaken(() => parseOpening({ ...body, initial: decimal("1") }, today))) assert.ok(isPublished);
        assert.equal(isPublished, name.length > 0 && [...name].length <= 100);
      }),
      { numRuns: 2000 },
    );
  });

  test("The document takes the idempotency keys that the server takes, bare and quoted", () => {
    const { schema } = parameterOf("exchange", "Idempotency-Key");
    const pieces = fc.constantFrom(...'"\\a~![] ż', "k".repeat(127), "k".repeat(128));
    const keys = fc.array(pieces, { maxLength: 6 }).map((parts) => parts.join(""));
    const isKey = ajv.compile(schema);
    fc.assert(
      fc.property(keys, fc.constantFrom("", '"'), (key, quote) => {
        const sent = quote + key + quote;
        areAlike(isKey, sent, () => parseIdempotencyKey(sent));
      }),
      { numRuns: 2000 },
    );
  });

  test("The document takes PESELs of all centuries, and refuses an impossible month or day", () => {
    const isOne = ajv.compile(parameterOf("account", "pesel").schema);
    const born = fc.date({ min: new Date("1800-01-01"), max: new Date("2299-12-31"), noInvalidDate: true });
    fc.assert(
      fc.property(born, fc.nat(9999), (day, number) => {
        const [year = 0, month = 0, date = 0] = day.toISOString().split("T")[0]?.split("-").map(Number) ?? [];
        const century = { 18: 80, 19: 0, 20: 20, 21: 40, 22: 60 }[Math.floor(year / 100)] ?? 0;
        const digits = [year % 100, month + century, date].map((part) => String(part).padStart(2, "0"));
        const pesel = peselOf(`${digits.join("")}${String(number).padStart(4, "0")}`);
        assert.equal(parsePesel(pesel, "2300-01-01"), pesel);
        assert.ok(isOne(pesel), pesel);
      }),
    );
    for (const wrong of ["44130112345", "44000112345", "44053212345", "44050012345", "0", "4405140135９"]) {
      assert.equal(isOne(wrong), false, wrong);
    }
  });
});

function component(name: string): Schema {
  return (document.components.schemas[name] ?? {}) as Schema;
}

/** Every schema in a part of the document, however deep. */
function schemasIn(part: unknown): Schema[] {
  return schemasAt("#", part).map(([, schema]) => schema);
}

/** The schemas of a part of the document, each with its place: that of the part, and the names that lead to it. */
function schemasAt(place: string, part: unknown): (readonly [place: string, schema: Schema])[] {
  if (typeof part !== "object" || part === null) return [];
  const deeper = Object.entries(part).flatMap(([name, value]) =>
    name === "examples" ? [] : schemasAt(`${place}/${name}`, value),
  );
  return "type" in part && typeof part.type === "string" ? [[place, part as Schema], ...deeper] : deeper;
}

function parameterOf(operationId: string, name: string) {
  const parameters = listed.find((operation) => operation.operationId === operationId)?.parameters as
    | readonly { name: string; schema: Schema }[]
    | undefined;
  const found = parameters?.find((parameter) => parameter.name === name);
  assert.ok(found !== undefined);
  return found;
}

/** Asserts that the document takes what the server takes, and nothing else. */
function areAlike(takes: (body: unknown) => boolean, body: unknown, read: () => unknown): void {
  assert.equal(takes(body), isTaken(read), JSON.stringify(body));
}

function isTaken(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    assert.ok(error instanceof FxError);
    return false;
  }
}
