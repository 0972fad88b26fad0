import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import type { BatchLine } from "../../../../src/batch/line.ts";
import { openBatch } from "../../../../src/cli/commands/batch/file.ts";

const line = '{"pesel":"70011000014","from":"PLN","to":"USD","toBuy":1}\n';
const empty = Readable.from([]);

function file(t: TestContext, lines: number): string {
  const folder = mkdtempSync(join(tmpdir(), "fx-batch-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "orders.ndjson");
  writeFileSync(path, line.repeat(lines));
  return path;
}

describe("a batch file that is still written", () => {
  test("A batch file that grows while it is hashed is refused", async (t) => {
    const path = file(t, 200_000);
    const writer = setInterval(() => appendFileSync(path, line), 1);
    t.after(() => clearInterval(writer));
    await assert.rejects(openBatch(path, empty), {
      name: "UsageError",
      message: /orders\.ndjson was written to while it was read\. Run it when it is complete\./,
    });
  });

  test("A batch file that grows after it was hashed gives none of the new lines, and says how to go on", async (t) => {
    const path = file(t, 10);
    const batch = await openBatch(path, empty);
    appendFileSync(path, line);
    const read: BatchLine[] = [];
    for await (const lines of batch.lines) read.push(...lines);
    assert.equal(read.length, 1);
    const [told] = read;
    assert.ok(told?.fault !== undefined);
    assert.match(told.fault.message, new RegExp(`was written to while it was read.*--id ${batch.id}`));
  });

  test("A file that is cut off where only blank lines were read ends with a fault", async (t) => {
    const path = file(t, 0);
    writeFileSync(path, `${line}${"\n".repeat(500_000)}${line}`);
    const batch = await openBatch(path, empty);
    const read: BatchLine[] = [];
    for await (const lines of batch.lines) {
      if (read.length === 0) truncateSync(path, 100_000);
      read.push(...lines);
    }
    assert.equal(read.length, 2);
    assert.match(read.at(-1)?.fault?.message ?? "", /was written to while it was read/);
  });
});

describe("a pipe that cannot be read to its end", () => {
  const endless = Buffer.alloc(17 * 1024 * 1024, "x");
  const loneSurrogate = Buffer.from([0x00, 0xd8, 0x0a, 0x00]);
  for (const [name, chunks, what] of [
    ["a line without an end", [Buffer.from(line), endless], /more than 16 MiB/],
    [
      "a character that is not valid",
      [Buffer.from(`\ufeff${line}`, "utf16le"), loneSurrogate],
      /not valid utf-16le/,
    ],
    ["an error of the system", [Buffer.from(line)], /cannot be read \(i\/o error\)/],
  ] as const) {
    test(`A pipe gives the lines before ${name}, and then a fault`, async () => {
      async function* source() {
        yield* chunks;
        throw Object.assign(new Error("EIO"), { code: "EIO", errno: -5 });
      }
      const read: BatchLine[] = [];
      const batch = await openBatch("-", Readable.from(source()));
      for await (const lines of batch.lines) read.push(...lines);
      assert.deepEqual([read.length, read[0]?.fault], [2, undefined]);
      assert.match(read[1]?.fault?.message ?? "", what);
    });
  }
});

describe("the columns of a CSV file", () => {
  const header = async (t: TestContext, text: string) => {
    const path = file(t, 0);
    writeFileSync(path, `${text}\n`);
    return (await openBatch(path, empty)).format;
  };

  test("Other columns of a CSV file are kept and not read", async (t) => {
    const { unread, holds } = await header(t, "note,name,surname,pesel,to,from,toSell,key");
    assert.deepEqual([unread, holds], [["note", "name", "surname"], "orders"]);
  });

  for (const [wrong, right] of [
    ["pesel,from,to,toBuy,to-sell", "toSell"],
    ["pesel,from,to,toBuy,key_", "key"],
    ["pesel,from,to,toSell,to buy", "toBuy"],
    ["pesel,from,to,to_sell", "toSell"],
    ["name,surname,pe-sel,pln", "pesel"],
  ] as const) {
    test(`The columns ${wrong} are refused for the one that nearly is ${right}`, async (t) => {
      await assert.rejects(header(t, wrong), {
        name: "UsageError",
        message: new RegExp(` If you mean ${right}, rename it; otherwise remove it\\.$`),
      });
    });
  }

  for (const [wrong, missing] of [
    ["pesel,from,to", "toBuy or toSell. A file of orders has the columns pesel, from, to, toBuy or toSell."],
    ["pesel,toBuy", "from and no to. "],
    ["name;surname;pln", "pesel. "],
    ["pesel,amount,currency", "kind. "],
  ] as const) {
    test(`The columns ${wrong} are refused for those that are missing`, async (t) => {
      const message = (error: Error) => error.message.includes(`The header has no column ${missing}`);
      await assert.rejects(header(t, wrong), message);
    });
  }

  for (const wrong of ["pesel", "a,b", "name,surname,pesel,pln,from,to,toBuy"]) {
    test(`The columns ${wrong} are of neither orders nor accounts`, async (t) => {
      await assert.rejects(header(t, wrong), {
        name: "UsageError",
        message: /neither a JSON object nor a CSV header/,
      });
    });
  }
});

describe("a header", () => {
  for (const twice of ["note", "pesel", "Pesel"]) {
    test(`A header with the column ${twice} twice is refused by its name`, async (t) => {
      const path = file(t, 0);
      writeFileSync(path, `pesel,from,to,toBuy,note,${twice}\n`);
      await assert.rejects(openBatch(path, empty), /The header has the column (note|pesel) twice\./);
    });
  }
});

test("a line with a field twice is refused by the field's name, and the lines beside it are not", async (t) => {
  const path = file(t, 2);
  appendFileSync(path, line.replace('"toBuy"', '"toBuy":2,"toBuy"'));
  const read: BatchLine[] = [];
  for await (const lines of (await openBatch(path, empty)).lines) read.push(...lines);
  const faults = read.map((told) => told.fault?.message);
  assert.deepEqual(faults, [undefined, undefined, "The line is not valid: toBuy is given more than once."]);
});

test("a batch file that nobody writes to is read to its end", async (t) => {
  const batch = await openBatch(file(t, 20_000), empty);
  let count = 0;
  for await (const lines of batch.lines) count += lines.length;
  assert.equal(count, 20_000);
});
