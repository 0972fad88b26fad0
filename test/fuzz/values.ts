import fc from "fast-check";
import { resolved, type Schema } from "../support/document.ts";

/** Texts that are not what a field expects, or that some program would take for more than text. */
export const hostileTexts: readonly string[] = [
  ...["", " ", "\t", "null", "true", "NaN", "1e5", "-1", "a".repeat(201), "a".repeat(17_000)],
  ..."\u0000 a\u0000b \u001b[31m \u0085 \ud800 \u200b \u3164 \u202e \ufeff \u2028".split(" "),
  ..."🧾 👩‍👩‍👧‍👦 é e\u0301 Żółć ﬁ ß İ １２".split(" "),
  ...[`e${"\u0301".repeat(500)}`, "𝒳".repeat(150)],
  ...["__proto__", "constructor", "toString", "then", "=cmd|' /C calc'!A0", "@a", '"', "\\", "' or 1=1 --"],
  ...["%", "%00", "%s", "<script>alert(1)</script>", "../../etc/passwd", "a\r\nX-Injected: 1"],
  // Personal data in fields that are not for it.
  ...["Żaneta Gżegżółka", "7318.37"],
  ...["80010112340", "80010112340.1", "800101-12340", "８００１０１１２３４０", " 80010112340"],
];
export const hostileText = fc.oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: "binary" }));

/** Text in the place of a value of JSON: strange numbers, what only some parsers accept, and brackets that nest deeply. */
const hostileJson = fc.oneof(
  fc.constantFrom(
    ..."0 -0 -1 -0.01 0.001 99.99 1e2 1E+2 1e-7 1e-400 1e308 1e400 -1e400 1e999999999".split(" "),
    ..."0.30000000000000004 9007199254740993 9999999999999.99 10000000000000".split(" "),
    ...["999999999999999.99", "123456789012345678901234567890", `0.${"0".repeat(300)}1`, "9".repeat(5000)],
  ),
  fc.constantFrom(
    ...["NaN", "Infinity", "01", "+1", "1.", ".5", "0x10", "1_000", "undefined", "'a'", "1,", ""],
    ...[10, 2000, 7000].flatMap((depth) => ["[".repeat(depth) + "]".repeat(depth), '{"a":'.repeat(depth)]),
  ),
  hostileText.map((text) => JSON.stringify(text)),
  fc.json({ maxDepth: 2 }),
);

export const accounts = 200;
const currencies = ["PLN", "USD", "EUR", "JPY", "GBP", "CHF", "HUF", "XDR", "usd", "XAU", "XXX"];
const amounts = [0.01, 0.1, 1, 1.5, 10, 12.34, 100, 99.99, 1000, 5000.01, 1_000_000, 9_999_999_999_999.99];
export const names = "Jan,Anna Maria,Żaneta,O'Neil,Kowalska-Nowak,Łucja,Μαρία,李小龍,d’Arc".split(",");
const words = ["kow", "jan k", "żan", "anna", "o'neil", "nowak", "zzz", "a"];

/**
 * Valid values for a schema, from what the ledger may have. `@pesel@` stands for the request's account, `@pesel-3@` for
 * that of a line, and `@receipt-3@`, `@cursor-3@` and `@table-3@` for what the server has answered.
 */
export function arbitraryOf(given: Schema, name = "", isLine = false): fc.Arbitrary<unknown> {
  const schema = resolved(given);
  const { type, properties = {}, required = [], items = {}, minimum = 0, maximum = 1000 } = schema;
  const either = schema.oneOf ?? schema.anyOf;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (type === "string" && schema.const === undefined && either === undefined) {
    return textOf(schema, name, isLine);
  }
  if (either !== undefined) return fc.oneof(...either.map((each) => arbitraryOf(each, name, isLine)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (type) {
    case "object": {
      const members = Object.entries(properties).map(
        ([member, value]) => [member, arbitraryOf(value, member, isLine)] as const,
      );
      return fc.record(Object.fromEntries(members), { requiredKeys: [...required] });
    }
    case "array":
      return fc.array(arbitraryOf(items, "", isLine), { maxLength: 4 });
    case "integer":
      return fc.integer({ min: minimum, max: Math.min(maximum, minimum + 10_000) });
    case "number":
      return fc.constantFrom(...(name === "pln" ? [0, 0, 0, ...amounts] : amounts));
    default:
      return fc.boolean();
  }
}

function textOf(schema: Schema, name: string, isLine: boolean): fc.Arbitrary<string> {
  const { format, pattern = "", examples = names } = schema;
  const before = (ms: number) => new Date(Date.now() - ms).toISOString();
  if (format === "date") return fc.nat(3).map((days) => before(86_400_000 * days).slice(0, 10));
  if (format === "date-time") return fc.nat(60).map((seconds) => before(10_500 + 1000 * seconds));
  if (pattern === "^[A-Za-z]{3}$") return fc.constantFrom(...currencies);
  const heard = (kind: string) => fc.nat(49).map((nth) => `@${kind}-${nth}@`);
  const key = fc.oneof(
    fc.uuid(),
    fc.nat(300).map((nth) => `shared-${nth}`),
  );
  const known: Readonly<Record<string, fc.Arbitrary<string>>> = {
    pesel: isLine ? fc.nat(accounts - 1).map((nth) => `@pesel-${nth}@`) : fc.constant("@pesel@"),
    ...{ id: heard("receipt"), after: heard("cursor"), cursor: heard("cursor") },
    ...{ "Fx-Table": heard("table"), table: heard("table"), key, "Idempotency-Key": key },
    name: fc.constantFrom(...(pattern === "[^\\s]" ? words : names)),
    format: fc.constantFrom(...(/\(([^)]+)\)/.exec(pattern)?.[1]?.split("|") ?? ["ndjson"])),
    ...Object.fromEntries(["surname", "note", "reason"].map((each) => [each, fc.constantFrom(...names)])),
  };
  return known[name] ?? fc.constantFrom(...examples.map(String));
}

/** An object as JSON with one change: a member with another value, without it, twice, renamed, or one more. */
export function changedJson(value: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const named = fc.oneof(
    fc.constantFrom(
      (name: string) => name,
      (name: string) => name.toUpperCase(),
    ),
    hostileText.map((text) => () => text),
  );
  const added = fc.array(fc.tuple(named, hostileJson), { maxLength: 1 });
  return fc.tuple(value, fc.nat(20), fc.nat(1), added).map(([given, nth, removed, more]) => {
    const members = Object.entries(Object(given)).map(
      ([name, each]) => [name, JSON.stringify(each)] as const,
    );
    const at = nth % Math.max(1, members.length);
    const instead = more.map(([rename, json]) => [rename(members[at]?.[0] ?? "a"), json] as const);
    const changed = members.toSpliced(at, removed, ...instead);
    return `{${changed.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`;
  });
}

/** Text as bytes that are cut off, that have others in them, or that are in another encoding. */
export function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const noUtf8 = [Buffer.of(0xc0, 0x80), Buffer.of(0xed, 0xa0, 0x80), Buffer.of(0xf4, 0x90, 0x80, 0x80)];
  const inserted = fc.oneof(
    fc.uint8Array({ maxLength: 4 }),
    fc.constantFrom(...noUtf8, ...[50, 15_000, 16_384, 70_000].map((length) => Buffer.alloc(length, " "))),
  );
  return fc.oneof(
    fc.tuple(text, fc.nat(500), inserted).map(([whole, at, bytes]) => {
      const given = Buffer.from(whole);
      return Buffer.concat([given.subarray(0, at), bytes, given.subarray(at)]);
    }),
    fc.tuple(text, fc.nat(500)).map(([whole, at]) => Buffer.from(whole).subarray(0, at)),
    fc
      .tuple(text, fc.constantFrom("utf8", "utf16le"))
      .map(([whole, form]) => Buffer.from(`\ufeff${whole}`, form as "utf8")),
    text.map((whole) => Buffer.from(whole + whole)),
  );
}
