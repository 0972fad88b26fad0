import { UnfitFile } from "./unfit-file.ts";

const marks = [
  { name: "utf-8", bytes: [0xef, 0xbb, 0xbf] },
  { name: "utf-16le", bytes: [0xff, 0xfe] },
  { name: "utf-16be", bytes: [0xfe, 0xff] },
] as const;
/** How .xlsx and .xls begin. */
const workbooks = [
  [0x50, 0x4b, 0x03, 0x04],
  [0xd0, 0xcf, 0x11, 0xe0],
] as const;

/**
 * The encoding that a byte-order mark at the start of a file names.
 * @param head its first 4 bytes, or all that it has
 * @throws UnfitFile if it is no text but a workbook
 */
export function encodingMarked(head: Uint8Array): (typeof marks)[number]["name"] | undefined {
  const startsWith = (bytes: readonly number[]) => bytes.every((byte, index) => head[index] === byte);
  if (workbooks.some(startsWith)) {
    throw new UnfitFile(
      "workbook",
      "This is an Excel workbook. In Excel, save it as CSV UTF-8, and run that file.",
    );
  }
  return marks.find(({ bytes }) => startsWith(bytes))?.name;
}

/** How many beyond ASCII there are of a kind in one reading of a file, and the first word with one that is no good. */
interface Reading {
  polish: number;
  /** Letters of other languages. */
  foreign: number;
  /** Signs that no readable text has: controls, signs within words, mixed cases and scripts. */
  odd: number;
  sample: { readonly line: number; readonly word: string } | undefined;
}

/** The usual encodings of Polish files besides UTF-8. */
const usual = ["windows-1250", "iso-8859-2", "cp852"];
/** More than one byte for a letter: that the bytes are valid says more than the letters do. */
const wide = /^(gb|big5|euc|iso-2022|shift_jis|utf-16)/;
/** In bytes: enough to tell one encoding from another. */
const mostRead = 1024 * 1024;

const cp852 =
  "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u00ad˝˛ˇ˘§÷¸°¨˙űŘř■\u00a0";

const polishLetter = /[ąćęłńóśźżĄĆĘŁŃÓŚŹŻ]/g;
const notPolish = /[^\0-\x7fąćęłńóśźżĄĆĘŁŃÓŚŹŻ]/gu;
const letter = /(?=\p{L})[^\0-\x7f]/gu;
const sign = "[^\\0-\\x7f\\p{L}\\p{M}\\p{Z}\\p{P}\\p{Cf}°²³®™]";
const latin = "\\p{Script=Latin}";
const other = `(?=\\p{L})(?!${latin})[^\\0-\\x7f]`;
const upper = "(?=[^\\0-\\x7f])\\p{Lu}";
const lower = "(?=[^\\0-\\x7f])\\p{Ll}";
const odd = new RegExp(
  [
    "[\\x80-\\x9f\\ufffd]",
    `(?<=\\p{L})${sign}|${sign}(?=\\p{L})|(?<=\\p{L})[°²³®™](?=\\p{L})`,
    "(?<=\\p{L})[\\p{Pi}\\p{Ps}\\p{Pe}](?=\\p{L})|(?<=\\p{L})(?!’)\\p{Pf}(?=\\p{L})",
    `(?<=${latin})${other}|${other}(?=${latin})`,
    `(?<=\\p{Ll})${upper}|(?<=\\p{L})${upper}(?=\\p{Ll})|${lower}(?=\\p{Lu})|(?<=\\p{Lu}\\p{Lu})${lower}`,
  ].join("|"),
  "gu",
);

/** Judges whether a file is in the encoding that is named, and suggests another. */
export class EncodingEvidence {
  readonly #named: string;
  readonly #isNamed: boolean;
  readonly #readings: Map<string, Reading>;
  #isUtf8 = true;
  #line = 1;
  #read = 0;

  /** @param named the standard name of an encoding; undefined for UTF-8, where nobody named one */
  constructor(named: string | undefined) {
    this.#named = named ?? "utf-8";
    this.#isNamed = named !== undefined;
    const names = new Set(["utf-8", this.#named, ...usual]);
    this.#readings = new Map(
      [...names].map((name) => [name, { polish: 0, foreign: 0, odd: 0, sample: undefined }]),
    );
  }

  /** @param bytes the next lines of the file, whole ones */
  add(bytes: Uint8Array): void {
    const hasLetters = bytes.some((byte) => byte > 0x7f);
    if (hasLetters) this.#isUtf8 &&= textIn(bytes, "utf-8") !== undefined;
    if (hasLetters && this.#read < mostRead) {
      this.#read += bytes.length;
      for (const [name, reading] of this.#readings) this.#look(textIn(bytes, name) ?? "\ufffd", reading);
    }
    for (const byte of bytes) if (byte === 0x0a) this.#line += 1;
  }

  #look(text: string, reading: Reading): void {
    const letters = text.match(letter)?.length ?? 0;
    const polish = text.match(polishLetter)?.length ?? 0;
    reading.polish += polish;
    reading.foreign += letters - polish;
    for (const { index } of text.matchAll(odd)) {
      reading.odd += 1;
      reading.sample ??= this.#sampleAt(text, index);
    }
    const [unlikely] = text.matchAll(notPolish);
    if (unlikely !== undefined) reading.sample ??= this.#sampleAt(text, unlikely.index);
  }

  #sampleAt(text: string, at: number) {
    const line = this.#line + (text.slice(0, at).match(/\n/g)?.length ?? 0);
    const start = /[^\s;,"]*$/.exec(text.slice(0, at))?.index ?? at;
    const [word = ""] = /^[^\s;,"]*/.exec(text.slice(start)) ?? [];
    return { line, word: word.slice(0, 40) };
  }

  /** The fault of the encoding that was named or assumed; undefined if there is none. */
  fault(): UnfitFile | undefined {
    if (this.#read === 0) return undefined;
    return this.#named === "utf-8" ? this.#faultOfUtf8() : this.#faultOfNamed();
  }

  #faultOfUtf8(): UnfitFile | undefined {
    const [likely] = this.#likely();
    if (!this.#isUtf8) return wrongEncoding("The file is not valid UTF-8.", likely);
    const { polish, foreign, odd, sample } = this.#reading("utf-8");
    const isLikelier = likely !== undefined && this.#reading(likely).foreign === 0;
    if (this.#isNamed || !isLikelier || sample === undefined || odd === 0 || odd < polish + foreign) {
      return undefined;
    }
    return wrongEncoding(
      `Line ${sample.line} has "${sample.word}" in UTF-8, which is no word. If it is right, add --encoding utf-8.`,
      likely,
    );
  }

  #faultOfNamed(): UnfitFile | undefined {
    const named = this.#named;
    const mine = this.#reading(named);
    const utf8 = this.#reading("utf-8");
    const isWide = wide.test(named);
    if (this.#isUtf8 && utf8.odd <= (isWide ? 0 : mine.odd)) {
      return new UnfitFile(
        "encoding",
        `The file is in UTF-8, and --encoding says ${named}. Leave out --encoding, and run it again.`,
        { encoding: "utf-8" },
      );
    }
    const [likely] = this.#likely();
    // Letters of other languages count if they are not Polish ones in another encoding.
    const isLikelier =
      likely !== undefined &&
      this.#reading(likely).foreign === 0 &&
      (isWide || mine.foreign > 0 || mine.polish === 0);
    const { sample } = mine;
    if (sample === undefined || (!isLikelier && (isWide || mine.odd === 0))) return undefined;
    return wrongEncoding(
      `The file is not in ${named}: line ${sample.line} would have "${sample.word}".`,
      likely,
    );
  }

  /** Encodings in which the file has Polish letters and nothing odd, the likeliest first. */
  #likely(): string[] {
    return usual
      .filter(
        (name) => name !== this.#named && this.#reading(name).odd === 0 && this.#reading(name).polish > 0,
      )
      .sort((a, b) => this.#reading(a).foreign - this.#reading(b).foreign);
  }

  #reading(name: string): Reading {
    return this.#readings.get(name) as Reading;
  }
}

/** The text in an encoding; undefined if it is not valid in it. */
function textIn(bytes: Uint8Array, encoding: string): string | undefined {
  if (encoding === "cp852") {
    return Array.from(bytes, (byte) => (byte < 0x80 ? String.fromCharCode(byte) : cp852[byte - 0x80])).join(
      "",
    );
  }
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** @param likely what the file is in, as far as its letters tell */
function wrongEncoding(what: string, likely: string | undefined): UnfitFile {
  if (likely === undefined || likely === "cp852") {
    const seems = likely === undefined ? "" : ` It seems to be in ${likely}, which fx does not read.`;
    return new UnfitFile("encoding", `${what}${seems} Save it as CSV UTF-8, and run that file.`);
  }
  return new UnfitFile("encoding", `${what} It seems to be in ${likely}: try --encoding ${likely}.`, {
    encoding: likely,
  });
}
