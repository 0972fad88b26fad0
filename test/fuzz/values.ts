import fc from "fast-check";
import type { ApiDocument, Schema } from "./document.ts";

/** Texts that are not what a field expects, or that some program would take for more than text. */
export const hostileTexts: readonly string[] = [
  ...["", " ", "\t", "null", "true", "NaN", "1e5", "-1", "a".repeat(201), "a".repeat(17_000)],
  ..."\u0000 a\u0000b \u001b[31m \u0085 \ud800 \u200b \u3164 \u202e \ufeff \u2028".split(" "),
  ..."🧾 👩‍👩‍👧‍👦 é e\u0301 Żółć ﬁ ß İ １２".split(" "),
  ...[`e${"\u0301".repeat(500)}`, "𝒳".repeat(150)],
  ...["__proto__", "constructor", "toString", "then", "=cmd|' /C calc'!A0", "@a", '"', "\\", "' or 1=1 --"],
  ...["%", "%00", "%s", "<script>alert(1)</script>", "../../etc/passwd", "a\r\nX-Injected: 1"],
  // Numbers that identify people, in fields where none belongs.
  ...["80010112340", "80010112340.1", "800101-12340", "８００１０１１２３４０", " 80010112340"],
];
const hostileNumbers = [
  ..."0 -0 -1 -0.01 0.001 99.99 1e2 1E+2 1e-7 1e-400 1e308 1e400 -1e400 1e999999999".split(" "),
  ..."0.30000000000000004 9007199254740993 9999999999999.99 10000000000000".split(" "),
  ..."999999999999999.99 123456789012345678901234567890".split(" "),
  ...[`0.${"0".repeat(300)}1`, "9".repeat(5000)],
];
/** Texts that are not JSON, although some parsers accept them, and brackets that nest deeply. */
const notJson = [
  ...["NaN", "Infinity", "01", "+1", "1.", ".5", "0x10", "1_000", "undefined", "'a'", "1,", ""],
  ...[10, 2000, 7000].flatMap((depth) => ["[".repeat(depth) + "]".repeat(depth), '{"a":'.repeat(depth)]),
];

export const hostileText = fc.oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: "binary" }));
/** Text in the place of a value of JSON. */
const hostileJson = fc.oneof(
  fc.constantFrom(...hostileNumbers),
  hostileText.map((text) => JSON.stringify(text)),
  fc.json({ maxDepth: 2 }),
  fc.constantFrom(...notJson),
);

export const accounts = 200;
const currencies = ["PLN", "USD", "EUR", "JPY", "GBP", "CHF", "HUF", "XDR", "usd", "XAU", "XXX"];
const amounts = [0.01, 0.1, 1, 1.5, 10, 12.34, 100, 99.99, 1000, 5000.01, 1_000_000, 9_999_999_999_999.99];
const names = "Jan,Anna Maria,Żaneta,O'Neil,Kowalska-Nowak,Łucja,Μαρία,李小龍,d’Arc".split(",");
const words = ["kow", "jan k", "żan", "anna", "o'neil", "nowak", "zzz", "a"];

/**
 * Valid values for a schema, from what the ledger may have. `@pesel@` stands for the request's account, `@receipt-3@`,
 * `@cursor-3@` and `@table-3@` for what the server has answered.
 */
export function arbitraryOf(
  document: ApiDocument,
  given: Schema,
  name = "",
  isLine = false,
): fc.Arbitrary<unknown> {
  const schema = document.resolved(given);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const known = schema.type === "string" ? knownText(name, schema, isLine) : undefined;
  if (known !== undefined) return known;
  const { type, properties = {}, required = [], items = {}, examples = names } = schema;
  const either = schema.oneOf ?? schema.anyOf;
  if (either !== undefined)
    return fc.oneof(...either.map((each) => arbitraryOf(document, each, name, isLine)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  const { minimum = 0, maximum = 1000 } = schema;
  switch (type) {
    case "object": {
      const members = Object.entries(properties).map(([member, value]) => [
        member,
        arbitraryOf(document, value, member, isLine),
      ]);
      const model: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(members);
      return fc.record(model, { requiredKeys: [...required] });
    }
    case "array":
      return fc.array(arbitraryOf(document, items, "", isLine), { maxLength: 4 });
    case "integer":
      return fc.integer({ min: minimum, max: Math.min(maximum, minimum + 10_000) });
    case "number":
      return fc.constantFrom(...(name === "pln" ? [0, 0, 0, ...amounts] : amounts));
    case "boolean":
      return fc.boolean();
    default:
      return fc.constantFrom(...examples.map(String));
  }
}

function knownText(
  name: string,
  { format, pattern }: Schema,
  isLine: boolean,
): fc.Arbitrary<string> | undefined {
  const dayMs = 86_400_000;
  if (format === "date")
    return fc.nat(3).map((days) => new Date(Date.now() - dayMs * days).toISOString().slice(0, 10));
  if (format === "date-time")
    return fc.nat(60).map((seconds) => new Date(Date.now() - 10_500 - 1000 * seconds).toISOString());
  if (pattern === "^[A-Za-z]{3}$") return fc.constantFrom(...currencies);
  const answered = (kind: string) => fc.nat(49).map((nth) => `@${kind}-${nth}@`);
  switch (name) {
    case "pesel":
      return isLine ? fc.nat(accounts - 1).map((nth) => `@pesel-${nth}@`) : fc.constant("@pesel@");
    case "id":
      return answered("receipt");
    case "after":
    case "cursor":
      return answered("cursor");
    case "Fx-Table":
    case "table":
      return answered("table");
    case "key":
    case "Idempotency-Key":
      return fc.oneof(
        fc.uuid(),
        fc.nat(300).map((nth) => `shared-${nth}`),
      );
    case "name":
      return fc.constantFrom(...(pattern === "[^\\s]" ? words : names));
    case "format":
      return fc.constantFrom(...(/\(([^)]+)\)/.exec(pattern ?? "")?.[1]?.split("|") ?? ["ndjson"]));
    default:
      return ["surname", "note", "reason"].includes(name) ? fc.constantFrom(...names) : undefined;
  }
}

/** A value as JSON with one change: a member with another value, without it, twice, renamed, or one more. */
export function changedJson(value: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const how = fc.constantFrom("value", "without", "twice", "renamed", "more");
  return fc
    .tuple(value, how, fc.nat(20), hostileJson, hostileText)
    .map(([given, change, nth, json, name]) => {
      if (typeof given !== "object" || given === null || Array.isArray(given)) return json;
      const members = Object.entries(given).map(
        ([key, each]) => [JSON.stringify(key), JSON.stringify(each)] as const,
      );
      const at = nth % Math.max(1, members.length);
      const [key, old] = members[at] ?? ['"a"', "1"];
      const instead = {
        value: [[key, json]],
        without: [],
        twice: [
          [key, old],
          [key, json],
        ],
        renamed: [[key.toUpperCase(), old]],
        more: [
          [key, old],
          [JSON.stringify(name), json],
        ],
      }[change] as [string, string][];
      const all = [...members.slice(0, at), ...instead, ...members.slice(at + 1)];
      return `{${all.map((member) => member.join(":")).join(",")}}`;
    });
}

/** Text as bytes that are cut off, that have others in them, or that are in another encoding. */
export function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const inserted = fc.oneof(
    fc.uint8Array({ maxLength: 4 }),
    fc.constantFrom(
      ...[
        [0xc0, 0x80],
        [0xed, 0xa0, 0x80],
        [0xf4, 0x90, 0x80, 0x80],
      ].map((bytes) => Uint8Array.of(...bytes)),
    ),
    fc.constantFrom(50, 15_000, 16_384, 70_000).map((length) => new Uint8Array(length).fill(0x20)),
  );
  return fc.oneof(
    fc.tuple(text, fc.nat(500), inserted).map(([whole, at, bytes]) => {
      const given = Buffer.from(whole);
      return Buffer.concat([given.subarray(0, at), bytes, given.subarray(at)]);
    }),
    fc.tuple(text, fc.nat(500)).map(([whole, at]) => Buffer.from(whole).subarray(0, at)),
    text.map((whole) => Buffer.from(`\ufeff${whole}`)),
    text.map((whole) => Buffer.from(`\ufeff${whole}`, "utf16le")),
    text.map((whole) => Buffer.from(whole + whole)),
  );
}
