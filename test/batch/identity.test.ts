import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { LineKeys } from "../../src/batch/keys.ts";
import { digestOf, openBatch } from "../../src/cli/commands/batch/file.ts";
import { readBatch } from "../../src/web/operator/batch-file.ts";
import { adult, today } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";

/** The fields of a line, with its amount in hundredths. */
type Asked = Readonly<Record<string, string>> & { readonly cents: number; readonly amount: string };

const account = fc.integer({ min: 0, max: 3 }).map(adult);
const cents = fc.integer({ min: 1, max: 2_000_000 });
const foreign = fc.constantFrom("USD", "EUR");
const name = fc.constantFrom("Żółć", "Łukasz Jan", "O'Brien", 'Anna "Nu" Ó');
const kinds: Readonly<Record<string, fc.Arbitrary<Asked>>> = {
  orders: fc.record({
    pesel: account,
    from: fc.constant("PLN"),
    to: foreign,
    amount: fc.constantFrom("toBuy", "toSell"),
    cents,
  }) as unknown as fc.Arbitrary<Asked>,
  accounts: fc.record({
    pesel: account,
    name,
    surname: name,
    amount: fc.constant("pln"),
    cents,
  }) as unknown as fc.Arbitrary<Asked>,
  cash: fc.record({
    kind: fc.constantFrom("deposit", "withdrawal"),
    pesel: account,
    currency: fc.constantFrom("PLN", "USD"),
    note: fc.constantFrom("", "kasa 2; rano", "a, b"),
    amount: fc.constant("amount"),
    cents,
  }) as unknown as fc.Arbitrary<Asked>,
};

/** How a file is written. */
const spelling = fc.record({
  form: fc.constantFrom("csv", "csv", "ndjson"),
  lineEnd: fc.constantFrom("\n", "\r\n"),
  hasLastEnd: fc.boolean(),
  isMarked: fc.boolean(),
  encoding: fc.constantFrom("utf-8", "utf-8", "utf-16le"),
  separator: fc.constantFrom(";", ",", "\t"),
  isNamed: fc.boolean(),
  isQuoted: fc.boolean(),
  point: fc.constantFrom(".", ","),
  decimals: fc.constantFrom("fewest", "two", "four"),
  hasBlankLines: fc.boolean(),
  space: fc.constantFrom("", " ", "\u00a0", "\u202f ", "\u200b", "\ufeff"),
  isCut: fc.boolean(),
  hasMore: fc.boolean(),
  isLower: fc.boolean(),
  turn: fc.integer({ min: 0, max: 6 }),
  broken: fc.constantFrom("", "not a line", "12345678901"),
});
type Spelling = typeof spelling extends fc.Arbitrary<infer T> ? T : never;

function amountText(cents: number, { decimals, point }: Spelling): string {
  const [whole = "", fraction = ""] = (cents / 100).toFixed(2).split(".");
  const wanted = { fewest: fraction.replace(/0+$/, ""), two: fraction, four: `${fraction}00` }[decimals];
  return wanted === "" ? whole : `${whole}${point}${wanted}`;
}

function turned<T>(items: readonly T[], by: number): T[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

function csvText(asked: readonly Asked[], how: Spelling): string {
  const { separator, space, isQuoted, turn, hasMore, isCut } = how;
  const fields = [...new Set(asked.flatMap((line) => [...Object.keys(line), line.amount]))];
  const own = fields.filter(
    (field) => field !== "cents" && (field !== "amount" || "currency" in (asked[0] ?? {})),
  );
  const columns = turned([...own, ...(hasMore ? ["uwagi"] : [])], turn);
  const cell = (text: string) => {
    const spaced = separator === "\t" ? text : `${text}${space}`;
    const isSpecial = isQuoted || /["\r\n]/.test(text) || text.includes(separator);
    return isSpecial ? `"${spaced.replaceAll('"', '""')}"` : spaced;
  };
  const rows = asked.map((line, index) => {
    const cells = columns.map((column) => {
      if (column === line.amount) return cell(amountText(line.cents, how));
      if (column === "uwagi") return cell(index % 2 === 0 ? "" : "x");
      return cell(written(line, column, how));
    });
    const text = cells.join(separator);
    const isEmpty = (each: string) => each.replace(/["\s\u200b]/g, "") === "";
    const last = cells.findLastIndex((each) => !isEmpty(each));
    return isCut ? cells.slice(0, last + 1).join(separator) : text;
  });
  const header = columns.map((column) => (how.isLower ? column.toUpperCase() : column)).join(separator);
  return joined([...(how.isNamed ? [`sep=${separator}`] : []), header, ...rows], how);
}

function written(line: Asked, field: string, { isLower }: Spelling): string {
  const value = field in line && field !== line.amount ? String(line[field]) : "";
  return isLower && /^[A-Z]{3}$/.test(value) ? value.toLowerCase() : value;
}

function jsonText(asked: readonly Asked[], how: Spelling): string {
  const lines = asked.map((line) => {
    const fields = Object.keys(line)
      .filter((field) => field !== "cents" && field !== "amount" && line[field] !== "")
      .map(
        (field) => `"${field}":${how.space === " " ? " " : ""}${JSON.stringify(written(line, field, how))}`,
      );
    const amount = `"${line.amount}":${amountText(line.cents, { ...how, point: "." })}`;
    return `{${turned([...fields, amount], how.turn).join(how.space === " " ? ", " : ",")}}`;
  });
  return joined(lines, how);
}

function joined(
  lines: readonly string[],
  { lineEnd, hasLastEnd, hasBlankLines, broken, form }: Spelling,
): string {
  // The first line tells the format of the file.
  const first = form === "csv" ? 2 : 1;
  const all = [...lines.slice(0, first), ...(broken === "" ? [] : [broken]), ...lines.slice(first)];
  return all.join(hasBlankLines ? `${lineEnd}${lineEnd}` : lineEnd) + (hasLastEnd ? lineEnd : "");
}

function bytesOf(asked: readonly Asked[], how: Spelling): Buffer {
  const text = how.form === "csv" ? csvText(asked, how) : jsonText(asked, how);
  const isMarked = how.isMarked || how.encoding !== "utf-8";
  return Buffer.from(`${isMarked ? "\ufeff" : ""}${text}`, how.encoding as BufferEncoding);
}

function files(t: TestContext) {
  const folder = newFolder(t);
  const path = join(folder, "orders");
  return async (bytes: Buffer, id?: string) => {
    writeFileSync(path, bytes);
    const batch = await openBatch(path, Readable.from([]), id);
    const keys = new LineKeys(batch.id, today, digestOf);
    const found: string[] = [];
    for (const line of batch.lines()) {
      const { key, request } = keys.of(line);
      // A last line without an end may lack cells: it is refused, and keeps its key.
      const isOrder = !(request instanceof Error) || /The line has \d fields/.test(request.message);
      if (isOrder && (line.body as { pesel?: string } | undefined)?.pesel !== undefined) found.push(key);
    }
    return { id: batch.id, keys: found.sort() };
  };
}

describe("the keys of a file's lines", () => {
  for (const [of, kind] of Object.entries(kinds)) {
    const asked = fc.array(kind, { minLength: 1, maxLength: 6 });

    test(`The keys of ${of} are the same however the same lines are written, for the command and for the page`, async (t) => {
      const read = files(t);
      const plain: Spelling = {
        ...{ form: "ndjson", lineEnd: "\n", hasLastEnd: true, isMarked: false, encoding: "utf-8" },
        ...{
          separator: ";",
          isNamed: false,
          isQuoted: false,
          point: ".",
          decimals: "two",
          hasBlankLines: false,
        },
        ...{ space: "", isCut: false, hasMore: false, isLower: false, turn: 0, broken: "" },
      };
      await fc.assert(
        fc.asyncProperty(asked, spelling, fc.nat(5), async (lines, how, moved) => {
          const before = await read(bytesOf(lines, plain));
          assert.equal(new Set(before.keys).size, lines.length, "equal lines have keys of their own");
          const bytes = bytesOf(turned(lines, moved), how);
          const after = await read(bytes);
          assert.deepEqual(after, before, bytes.toString());
          assert.equal(readBatch(bytes, today).id, before.id);
        }),
        { numRuns: 100 },
      );
    });

    test(`The keys of ${of} stay those of their lines under one id, whatever lines are moved, added or left out`, async (t) => {
      const read = files(t);
      await fc.assert(
        fc.asyncProperty(asked, asked, spelling, fc.nat(5), async (kept, others, how, moved) => {
          const before = await read(bytesOf(kept, how), "b");
          const { keys } = await read(bytesOf(turned([...kept, ...others], moved), how), "b");
          assert.equal(new Set(keys).size, kept.length + others.length);
          assert.deepEqual(
            before.keys.filter((key) => !keys.includes(key)),
            [],
          );
        }),
        { numRuns: 40 },
      );
    });

    test(`The keys of ${of} are others after any change of a line, or with one more or less`, async (t) => {
      const read = files(t);
      await fc.assert(
        fc.asyncProperty(asked, asked, spelling, async (lines, others, how) => {
          const texts = (each: readonly Asked[]) => each.map((line) => JSON.stringify(line)).sort();
          fc.pre(JSON.stringify(texts(lines)) !== JSON.stringify(texts(others)));
          const [before, after] = [await read(bytesOf(lines, how)), await read(bytesOf(others, how))];
          assert.notEqual(after.id, before.id);
          assert.deepEqual(
            after.keys.filter((key) => before.keys.includes(key)),
            [],
          );
        }),
        { numRuns: 40 },
      );
    });
  }
});
