import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { UnfitFile } from "../../src/batch/unfit-file.ts";
import { openBatch } from "../../src/cli/commands/batch/file.ts";
import { readBatch } from "../../src/web/operator/batch-file.ts";
import { adult, today } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";

const polish = "ąćęłńóśźżĄĆĘŁŃÓŚŹŻ";
/** The bytes of these letters in DOS's encoding, which no decoder of the platform knows. */
const cp852 = [
  ...[0xa5, 0x86, 0xa9, 0x88, 0xe4, 0xa2, 0x98, 0xab, 0xbe],
  ...[0xa4, 0x8f, 0xa8, 0x9d, 0xe3, 0xe0, 0x97, 0x8d, 0xbd],
];

function bytesOf(text: string, encoding: string): Buffer {
  if (encoding === "utf-8") return Buffer.from(text);
  const decoder = encoding === "cp852" ? undefined : new TextDecoder(encoding);
  return Buffer.from(
    Array.from(text, (letter) => {
      if (letter.charCodeAt(0) < 0x80) return letter.charCodeAt(0);
      const byte =
        decoder === undefined
          ? cp852[polish.indexOf(letter)]
          : Array.from({ length: 128 }, (_, nth) => nth + 0x80).find(
              (each) => decoder.decode(Uint8Array.of(each)) === letter,
            );
      return byte ?? assert.fail(`${letter} is not in ${encoding}`);
    }),
  );
}

const names = [
  ...["Żółć", "Dąbrowski", "Święcicka", "Źródlak", "Bożena", "Wałęsa", "Zając", "Kuźma", "Kozińska", "Łódź"],
  ...["ŻÓŁĆ", "DĄBROWSKI", "ŚWIĘCICKA", "ŹRÓDLAK", "BOŻENA", "WAŁĘSA", "ZAJĄC", "KUŹMA", "KOZIŃSKA", "ŁÓDŹ"],
];
const files: readonly (readonly string[])[] = [names, ["Zażółć gęślą jaźń"], ...names.map((name) => [name])];
const csv = (surnames: readonly string[]) =>
  ["name,surname,pesel,pln", ...surnames.map((surname, nth) => `Jan,${surname},${adult(nth)},1`), ""].join(
    "\n",
  );

function opener(t: TestContext) {
  const folder = newFolder(t);
  const path = join(folder, "accounts.csv");
  return async (bytes: Buffer, encoding?: string): Promise<readonly string[] | string> => {
    writeFileSync(path, bytes);
    try {
      const { lines } = await openBatch(path, Readable.from([]), undefined, encoding);
      return Array.from(lines(), ({ body }) => (body as { surname: string }).surname);
    } catch (error) {
      return (error as Error).message;
    }
  };
}

describe("a file with Polish names", () => {
  for (const stored of ["utf-8", "windows-1250", "iso-8859-2", "cp852"]) {
    for (const named of [undefined, "utf-8", "windows-1250", "iso-8859-2"]) {
      test(`A file with Polish names in ${stored}, read as ${named ?? "nothing was said"}, is read as it was written or refused`, async (t) => {
        const open = opener(t);
        for (const surnames of files) {
          const bytes = bytesOf(csv(surnames), stored);
          const read = await open(bytes, named);
          const isSame = bytes.equals(bytesOf(csv(surnames), named ?? "utf-8"));
          if (isSame) assert.deepEqual(read, surnames, String(surnames));
          else {
            assert.equal(typeof read, "string", `${surnames} was read as ${read}`);
            await refutesNothing(open, bytes, surnames, String(read));
          }
        }
      });
    }
  }

  /** Following the advice of a refusal reads the names as they were written. */
  async function refutesNothing(
    open: ReturnType<typeof opener>,
    bytes: Buffer,
    surnames: readonly string[],
    message: string,
  ): Promise<void> {
    const [, advised] = /try --encoding ([\w-]+)/.exec(message) ?? [];
    if (advised !== undefined) assert.deepEqual(await open(bytes, advised), surnames, message);
    else if (/Leave out --encoding/.test(message)) assert.deepEqual(await open(bytes), surnames, message);
    else assert.match(message, /Save (it|the file) as CSV UTF-8/);
  }
});

test("names of other countries are read in UTF-8, and refused in an encoding that may be another", async (t) => {
  const surnames = ["Dvořák", "Müller", "Иванов", "Παπαδόπουλος", "Nguyễn", "O’Brien"];
  assert.deepEqual(await opener(t)(bytesOf(csv(surnames), "utf-8")), surnames);
  assert.equal(
    await opener(t)(bytesOf(csv(["Żak", "Müller"]), "windows-1250"), "windows-1250"),
    'Read as windows-1250, line 3 has "Müller", which is not Polish. Save it as CSV UTF-8, and run that file.',
  );
});

test("quotes, dashes and signs beside Polish letters are read", async (t) => {
  const text = csv(["Żak-Łęcka"])
    .replace("pln\n", "pln,uwagi\n")
    .replace(/,1\n/, ",1,„ważne” – 5 °C ± 2 § 7 €…\n");
  for (const encoding of ["windows-1250", "utf-8"]) {
    assert.deepEqual(await opener(t)(bytesOf(text, encoding), encoding), ["Żak-Łęcka"]);
  }
});

test("a byte-order mark counts more than --encoding", async (t) => {
  const bytes = Buffer.from(`\ufeff${csv(["Żółć"])}`);
  assert.deepEqual(await opener(t)(bytes, "windows-1250"), ["Żółć"]);
});

test("an encoding that fx does not read is refused without a guess", async (t) => {
  const read = String(await opener(t)(bytesOf(csv(names), "cp852"), "cp852"));
  assert.match(
    read,
    /^"cp852" is not an encoding that fx reads \(utf-8, .+\)\. Save the file as CSV UTF-8\.$/,
  );
});

test("standard input in another encoding than the one named is refused before a line of it is given", async () => {
  const input = Readable.from([bytesOf(csv(names), "iso-8859-2")]);
  await assert.rejects(openBatch("-", input, "b", "windows-1250"), {
    name: "UsageError",
    message:
      /line \d+ has ".+", which is not Polish\. It seems to be in iso-8859-2: try --encoding iso-8859-2\./,
  });
});

test("the page judges a file as the command does", () => {
  const bytes = bytesOf(csv(names), "iso-8859-2");
  for (const encoding of [undefined, "windows-1250"]) {
    assert.throws(
      () => readBatch(bytes, today, encoding),
      (error: unknown) => error instanceof UnfitFile && /try --encoding iso-8859-2/.test(error.message),
    );
  }
  assert.equal(readBatch(bytes, today, "iso-8859-2").lines.length, names.length);
});

test("a long file is judged in little more memory than its text takes", () => {
  const read = `
    const { decodeText } = await import(${JSON.stringify(new URL("../../src/batch/encoding.ts", import.meta.url).href)});
    const row = "Żółć,Gżegżółka,${adult(0)},1000\\n";
    process.stdout.write(String(decodeText(Buffer.from(row.repeat(250_000))).text.length / row.length));
  `;
  const heap = "--max-old-space-size=64";
  const args = [heap, "--import", "tsx", "--input-type=module", "--eval", read];
  assert.equal(execFileSync(process.execPath, args, { encoding: "utf8" }), "250000");
});
