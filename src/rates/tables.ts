import { InvalidRateTable, type PublishedTable, parseRateTable } from "../core/rates.ts";
import { visible } from "../core/visible.ts";

/**
 * Reads JSON text as the bank publishes it: an array of tables, oldest first. Never an empty one.
 * @throws InvalidRateTable
 */
export function parseTables(text: string): readonly PublishedTable[] {
  let untrusted: unknown;
  try {
    // Editors on Windows save JSON with a byte order mark.
    untrusted = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    throw new InvalidRateTable(`not JSON but ${excerpt(text)}`);
  }
  return parseTableList(untrusted);
}

export function parseTableList(untrusted: unknown): readonly PublishedTable[] {
  if (!Array.isArray(untrusted)) {
    throw new InvalidRateTable(`not an array of tables but ${excerpt(JSON.stringify(untrusted))}`);
  }
  if (untrusted.length === 0) throw new InvalidRateTable("an empty array");
  return untrusted.map((table, index) => {
    try {
      return parseRateTable(table);
    } catch (error) {
      if (!(error instanceof InvalidRateTable)) throw error;
      throw new InvalidRateTable(`table ${index + 1} of ${untrusted.length} is wrong: ${error.message}`);
    }
  });
}

/** What kind of text this is, in a few words, for a message. */
export function excerpt(text: string): string {
  const line = text.slice(0, 1000).replace(/\s+/g, " ").trim();
  if (line === "") return "nothing";
  if (line.startsWith("<")) return "a web page";
  return visible(JSON.stringify(line.length > 120 ? `${line.slice(0, 119)}…` : line));
}
