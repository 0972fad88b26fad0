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

/** The encodings of Polish files beside UTF-8. */
const polishEncodings = ["windows-1250", "iso-8859-2"] as const;
/** The encodings that can be named, by their standard names. */
export const encodings: readonly string[] = ["utf-8", ...polishEncodings];

/**
 * The text of a file in `encoding`, UTF-8 by default. A byte-order mark takes precedence. In encodings other than
 * Unicode's, only Polish letters are accepted.
 * @param encoding one of `encodings`
 * @returns also whether a spreadsheet needs a byte-order mark to read such a file in UTF-8
 * @throws UnfitFile if it is a workbook, or text in another encoding
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
  if (text === undefined) {
    const likely = mark === undefined ? likelyOf(bytes, name) : undefined;
    throw wrongEncoding(`The file is not valid ${name.toUpperCase()}.`, likely);
  }
  if (mark === undefined && encoding !== "utf-8") requirePolish(bytes, text, encoding);
  return { text, isMarked: mark !== undefined || name !== "utf-8" };
}

/** @throws UnfitFile if the text, which was read in an encoding, seems to be in another */
function requirePolish(bytes: Uint8Array, text: string, encoding: string | undefined): void {
  const strange = strangeWordIn(text);
  if (strange === undefined) return;
  const { line, word } = strange;
  const likely = likelyOf(bytes, encoding ?? "utf-8");
  if (encoding !== undefined) {
    if (textIn(bytes, "utf-8") === undefined) {
      throw wrongEncoding(`Read as ${encoding}, line ${line} has "${word}", which is not Polish.`, likely);
    }
    throw new UnfitFile(
      "encoding",
      `The file is in UTF-8, and --encoding says ${encoding}. Leave out --encoding, and run it again.`,
    );
  }
  if (likely === undefined) return;
  const what = `Read as UTF-8, line ${line} has "${word}", which does not look like a word. If it is right, add --encoding utf-8.`;
  throw wrongEncoding(what, likely);
}

/** The other encoding in which the file is Polish. */
function likelyOf(bytes: Uint8Array, encoding: string): string | undefined {
  return polishEncodings.find(
    (each) => each !== encoding && strangeWordIn(textIn(bytes, each) ?? "") === undefined,
  );
}

const small = "ąćęłńóśźż";
const capital = "ĄĆĘŁŃÓŚŹŻ";
/** Signs that Polish letters become in another encoding. */
const sign = "\\x80-\\x9f±¶¦¬ˇ†©˘«¤¨˝";
/** Letters of other languages, signs in words, and capital letters after small ones or before them within a word. */
const strange = new RegExp(
  [
    `(?![${small}${capital}])[^\\0-\\x7f](?<=\\p{L})`,
    `[${sign}](?:(?=[\\p{L}${sign}])|(?<=[\\p{L}${sign}].))`,
    `[${capital}](?:(?<=\\p{Ll}.)|(?<=\\p{L}.)(?=\\p{Ll}))`,
  ].join("|"),
  "u",
);

/** The first word that is not Polish. */
function strangeWordIn(text: string): { readonly line: number; readonly word: string } | undefined {
  const index = text.search(strange);
  if (index < 0) return undefined;
  const [before = ""] = /[^\s;,"]*$/.exec(text.slice(Math.max(0, index - 20), index)) ?? [];
  const [rest = ""] = /^[^\s;,"]*/.exec(text.slice(index, index + 20)) ?? [];
  return { line: text.slice(0, index).split("\n").length, word: before + rest };
}

/** How a file reads whose encoding is in doubt. */
export interface Readings {
  /** The first line that is not valid UTF-8. */
  readonly line: number | undefined;
  /** The first words with letters beyond ASCII, in each encoding that they may be in. */
  readonly readings: readonly { readonly encoding: string; readonly words: readonly string[] }[];
}

/** @param tried the encoding that it is not in */
export function readingsOf(bytes: Uint8Array, tried: string | undefined): Readings {
  const readings = polishEncodings
    .filter((encoding) => encoding !== tried)
    .map((encoding) => ({ encoding, words: firstWords(textIn(bytes, encoding) ?? "") }));
  return { line: firstInvalidLine(bytes), readings };
}

const shownWords = 5;

function firstWords(text: string): readonly string[] {
  const words: string[] = [];
  for (const [word] of text.matchAll(/[^ \t\r\n;,"]+/g)) {
    if (/[^\0-\x7f]/.test(word) && words.push(word) === shownWords) break;
  }
  return words;
}

function firstInvalidLine(bytes: Uint8Array): number | undefined {
  for (let start = 0, line = 1; start < bytes.length; line += 1) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed < 0 ? bytes.length : feed;
    if (textIn(bytes.subarray(start, end), "utf-8") === undefined) return line;
    start = end + 1;
  }
  return undefined;
}

/** The text in an encoding; undefined if it is not valid in it. */
function textIn(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** @param likely what the file is in, as far as its letters tell */
function wrongEncoding(what: string, likely: string | undefined): UnfitFile {
  const advice =
    likely === undefined
      ? "Save it as CSV UTF-8, and run that file."
      : `It seems to be in ${likely}: try --encoding ${likely}.`;
  return new UnfitFile("encoding", `${what} ${advice}`);
}
