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

/** The usual encodings of Polish files besides UTF-8. */
const usual = ["windows-1250", "iso-8859-2", "cp852"] as const;
/** Encodings with several bytes for a letter: valid bytes are better evidence than the letters. */
const wide = /^(gb|big5|euc|iso-2022|shift_jis|utf-16)/;
/** Number of words to judge: enough to tell one encoding from another. */
const mostWords = 10_000;

/**
 * The text of a file in `encoding`, UTF-8 by default. A byte-order mark in the file says it better.
 * @param encoding a standard name, such as "windows-1250"
 * @returns also whether a spreadsheet needs a byte-order mark to read such a file in UTF-8
 * @throws UnfitFile if it is no text but a workbook, or text in another encoding
 */
export function decodeText(
  bytes: Uint8Array,
  encoding?: string,
): { readonly text: string; readonly isMarked: boolean } {
  const startsWith = (start: readonly number[]) => start.every((byte, index) => bytes[index] === byte);
  if (workbooks.some(startsWith)) {
    throw new UnfitFile(
      "workbook",
      "This is an Excel workbook. In Excel, save it as CSV UTF-8, and run that file.",
    );
  }
  const mark = marks.find((each) => startsWith(each.bytes))?.name;
  const name = mark ?? encoding ?? "utf-8";
  const text = textIn(bytes, name);
  const fault = mark === undefined ? faultOf(bytes, encoding, text) : undefined;
  if (fault !== undefined) throw fault;
  if (text === undefined) throw wrongEncoding(`The file is not valid ${name}.`, undefined);
  return { text, isMarked: mark !== undefined || name !== "utf-8" };
}

/** A word with letters beyond ASCII. */
interface Word {
  readonly line: number;
  readonly bytes: Uint8Array;
}

/** Line by line: the text of a long file takes much memory. */
function* wordsIn(bytes: Uint8Array): Generator<Word> {
  // One character for each byte, so that a place in the text is one in the bytes.
  const decoder = new TextDecoder("windows-1250");
  let start = 0;
  for (let line = 1; start < bytes.length; line += 1) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed < 0 ? bytes.length : feed;
    const row = bytes.subarray(start, end);
    start = end + 1;
    if (row.every((byte) => byte < 0x80)) continue;
    for (const { index, 0: word } of decoder.decode(row).matchAll(/[^ \t\r;,"]*[^\0-\x7f][^ \t\r;,"]*/g)) {
      yield { line, bytes: row.subarray(index, index + word.length) };
    }
  }
}

/** A long file has millions of words, which would not fit into memory. */
function firstOf<T>(items: Iterable<T>, most: number): T[] {
  const first: T[] = [];
  for (const item of items) if (first.push(item) === most) break;
  return first;
}

/** How a file reads whose encoding is in doubt. */
export interface Readings {
  /** The first line that is not valid UTF-8. */
  readonly line: number | undefined;
  /** The first words with letters beyond ASCII, in each encoding that they may be in. */
  readonly readings: readonly { readonly encoding: string; readonly words: readonly string[] }[];
}

const shownWords = 5;

/** @param tried the encoding that it is not in */
export function readingsOf(bytes: Uint8Array, tried: string | undefined): Readings {
  const shown = firstOf(wordsIn(bytes), shownWords);
  const readings = ["windows-1250", "iso-8859-2"]
    .filter((encoding) => encoding !== tried)
    .map((encoding) => {
      const texts = shown.map((word) => textIn(word.bytes, encoding) ?? "");
      return { encoding, words: texts };
    });
  for (const { line, bytes: word } of wordsIn(bytes)) {
    if (textIn(word, "utf-8") === undefined) return { line, readings };
  }
  return { line: undefined, readings };
}

const polishLetter = /[ąćęłńóśźżĄĆĘŁŃÓŚŹŻ]/;
const otherLetter = /(?![ąćęłńóśźżĄĆĘŁŃÓŚŹŻ])(?=\p{L})[^\0-\x7f]/u;
const sign = "[^\\0-\\x7f\\p{L}\\p{M}\\p{Z}\\p{P}\\p{Cf}°²³®™]";
const latin = "\\p{Script=Latin}";
const other = `(?=\\p{L})(?!${latin})[^\\0-\\x7f]`;
const upper = "(?=[^\\0-\\x7f])\\p{Lu}";
const lower = "(?=[^\\0-\\x7f])\\p{Ll}";
/** Signs of an unreadable word: controls, punctuation within it, mixed cases and scripts. */
const odd = new RegExp(
  [
    "[\\x80-\\x9f\\ufffd]",
    `(?<=\\p{L})${sign}|${sign}(?=\\p{L})|(?<=\\p{L})[°²³®™](?=\\p{L})`,
    "(?<=\\p{L})[\\p{Pi}\\p{Ps}\\p{Pe}](?=\\p{L})|(?<=\\p{L})(?!’)\\p{Pf}(?=\\p{L})",
    `(?<=${latin})${other}|${other}(?=${latin})`,
    `(?<=\\p{Ll})${upper}|(?<=\\p{L})${upper}(?=\\p{Ll})|${lower}(?=\\p{Lu})|(?<=\\p{Lu}\\p{Lu})${lower}`,
  ].join("|"),
  "u",
);

/** How the words of a file read in one encoding. */
interface Reading {
  /** Whether they have Polish letters, none of another language, and nothing odd. */
  readonly isPolish: boolean;
  readonly isOdd: boolean;
  /** The first word that is odd, or has letters of another language. */
  readonly sample: { readonly line: number; readonly word: string } | undefined;
}

function readingIn(words: readonly Word[], encoding: string): Reading {
  const texts = words.map(({ line, bytes }) => ({ line, word: textIn(bytes, encoding) ?? "\ufffd" }));
  const sample = texts.find(({ word }) => odd.test(word) || otherLetter.test(word));
  return {
    isPolish: sample === undefined && texts.some(({ word }) => polishLetter.test(word)),
    isOdd: texts.some(({ word }) => odd.test(word)),
    sample: sample && { ...sample, word: sample.word.slice(0, 40) },
  };
}

/**
 * Why the file cannot be in the encoding that is named, or in UTF-8 where none is; undefined if it can.
 * @param text in that encoding; undefined if it is not valid in it
 */
function faultOf(
  bytes: Uint8Array,
  named: string | undefined,
  text: string | undefined,
): UnfitFile | undefined {
  const words = firstOf(wordsIn(bytes), mostWords);
  if (words.length === 0) return undefined;
  const encoding = named ?? "utf-8";
  const mine = readingIn(words, encoding);
  const isUtf8 = (encoding === "utf-8" ? text : textIn(bytes, "utf-8")) !== undefined;
  const likely = usual.find((name) => name !== encoding && readingIn(words, name).isPolish);
  if (encoding === "utf-8" && !isUtf8) return wrongEncoding("The file is not valid UTF-8.", likely);
  if (mine.isPolish || named === "utf-8" || mine.sample === undefined) return undefined;
  const { line, word } = mine.sample;
  if (named === undefined) {
    const what = `Read as UTF-8, line ${line} has "${word}", which does not look like a word. If it is right, add --encoding utf-8.`;
    return likely && wrongEncoding(what, likely);
  }
  if (isUtf8 && !(wide.test(named) && readingIn(words, "utf-8").isOdd)) {
    return new UnfitFile(
      "encoding",
      `The file is in UTF-8, and --encoding says ${named}. Leave out --encoding, and run it again.`,
      { encoding: "utf-8" },
    );
  }
  if (likely === undefined && (wide.test(named) || !mine.isOdd)) return undefined;
  return wrongEncoding(`The file is not in ${named}: line ${line} would have "${word}".`, likely);
}

const cp852 =
  "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u00ad˝˛ˇ˘§÷¸°¨˙űŘř■\u00a0";

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
