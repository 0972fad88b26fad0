import assert from "node:assert/strict";
import { appendFileSync, createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { openBatch } from "../../../../src/cli/commands/batch/file.ts";
import { newFolder } from "../../../support/folder.ts";

const line = '{"pesel":"70011000014","from":"PLN","to":"USD","toBuy":1}\n';
const empty = Readable.from([]);

function file(t: TestContext, lines: number): string {
  const folder = newFolder(t);
  const path = join(folder, "orders.ndjson");
  writeFileSync(path, line.repeat(lines));
  return path;
}

test("A batch file that grows while it is read is refused", async (t) => {
  const path = file(t, 200_000);
  const writer = setInterval(() => appendFileSync(path, line), 1);
  t.after(() => clearInterval(writer));
  await assert.rejects(openBatch(path, empty), {
    name: "UsageError",
    message: /orders\.ndjson was written to while it was read\. Run it when it is complete\./,
  });
});

test("A batch that comes through a pipe is the same batch as its file", async (t) => {
  const path = file(t, 20_000);
  const batch = await openBatch(path, empty);
  const piped = await openBatch("-", createReadStream(path));
  assert.equal(piped.id, batch.id);
  assert.equal([...piped.lines()].length, 20_000);
});

test("A pipe that cannot be read to its end is refused as a whole", async () => {
  async function* source() {
    yield Buffer.from(line);
    throw Object.assign(new Error("EIO"), { code: "EIO", errno: -5 });
  }
  await assert.rejects(openBatch("-", Readable.from(source())), {
    name: "UsageError",
    message: "- cannot be read (i/o error).",
  });
});

describe("the columns of a CSV file", () => {
  const header = async (t: TestContext, text: string) => {
    const path = file(t, 0);
    writeFileSync(path, `${text}\n`);
    return (await openBatch(path, empty)).format;
  };

  test("Other columns of a CSV file are kept and not read", async (t) => {
    const { unread, holds } = await header(t, "note,name,surname,pesel,to,from,toSell,key,no,forms");
    assert.deepEqual([unread, holds], [["note", "name", "surname", "no", "forms"], "orders"]);
  });

  const missing = (columns: string) => new RegExp(`The header has no column ${columns}`);
  const misspelt = (column: string) =>
    new RegExp(` If you mean ${column}, rename it; otherwise remove it\\.$`);
  for (const [columns, told] of [
    ["pesel,from,to,toBuy,to-sell", misspelt("toSell")],
    ["pesel,from,to,toBuy,key_", misspelt("key")],
    ["pesel,from,to,toSell,to buy", misspelt("toBuy")],
    ["pesel,from,to,to_sell", misspelt("toSell")],
    ["name,surname,pe-sel,pln", misspelt("pesel")],
    ["pesel,from,to,toBuy,Tables", misspelt("table")],
    ["pesel,from,to,toBuy,Fx-Table", misspelt("table")],
    ["pesel,from,to,toBuy,keys", misspelt("key")],
    ["pesel,from,to,toBuy,key,Idempotency-Key", misspelt("key")],
    ["kind,pesel,amount,currency,idempotencyKey", misspelt("key")],
    ["kind,pesel,amount,currency,notes", misspelt("note")],
    [
      "pesel,from,to",
      missing("toBuy or toSell. A file of orders has the columns pesel, from, to, toBuy or toSell."),
    ],
    ["pesel,toBuy", missing("from and no to. ")],
    ["name;surname;pln", missing("pesel. ")],
    ["pesel,amount,currency", missing("kind. ")],
    ["pesel", /neither a JSON object nor a CSV header/],
    ["a,b", /neither a JSON object nor a CSV header/],
    ["name,surname,pesel,pln,from,to,toBuy", /neither a JSON object nor a CSV header/],
    ["pesel,from,to,toBuy,note,note", /The header has the column note twice\./],
    ["pesel,from,to,toBuy,note,pesel", /The header has the column pesel twice\./],
    ["pesel,from,to,toBuy,note,Pesel", /The header has the column pesel twice\./],
  ] as const) {
    test(`The columns ${columns} are refused: ${told.source}`, async (t) => {
      await assert.rejects(header(t, columns), { name: "UsageError", message: told });
    });
  }
});

test("a line with a field twice is refused by the field's name, and the lines beside it are not", async (t) => {
  const path = file(t, 2);
  appendFileSync(path, line.replace('"toBuy"', '"toBuy":2,"toBuy"'));
  const { lines } = await openBatch(path, empty);
  const faults = Array.from(lines(), ({ fault }) => fault?.message);
  assert.deepEqual(faults, [undefined, undefined, "The line is not valid: toBuy is given more than once."]);
});
