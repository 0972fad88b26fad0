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
