import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { longestPage, type Page, type PageRequest } from "../../core/service.ts";
import { visibleLines } from "../../core/visible.ts";
import { type Column, tableText } from "./output.ts";
import type { Screen } from "./terminal.ts";

export interface Listing<T> {
  readonly columns: readonly Column<T>[];
  /** The item in the wire's shape. */
  readonly encode: (item: T) => unknown;
}

/** Reads all pages, or as many as hold `limit` items. */
export async function* readPages<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly T[]> {
  let left = limit;
  let cursor: string | undefined;
  do {
    const page = await read({ limit: Math.min(left, longestPage), cursor });
    yield page.items;
    left -= page.items.length;
    cursor = page.next;
  } while (cursor !== undefined && left > 0);
}

/** Writes pages as a table, or as an array of JSON. Returns how many items. */
export async function writePages<T>(
  screen: Screen,
  pages: AsyncIterable<readonly T[]>,
  { columns, encode }: Listing<T>,
  json: boolean,
): Promise<number> {
  let count = 0;
  async function* texts() {
    for await (const items of pages) {
      const lines = items.map(
        (item, nth) => `${count + nth === 0 ? "[" : ","}\n${JSON.stringify(encode(item))}`,
      );
      count += items.length;
      yield json ? visibleLines(lines.join("")) : tableText(screen, columns, items);
    }
    if (json) yield count === 0 ? "[]\n" : "\n]\n";
  }
  await writeEach(screen, texts());
  return count;
}

/** Writes texts as they come, so that memory stays flat, and reads no further one when nobody reads the output. */
export async function writeEach({ stream }: Screen, texts: AsyncIterable<string>): Promise<void> {
  // Node's stdout says that it is writable even when its reader is gone.
  let failed = false;
  stream.once("error", () => {
    failed = true;
  });
  for await (const text of texts) {
    if (failed) return;
    if (!stream.write(text)) await once(stream, "drain").catch(() => {});
    // A write that nobody takes fails in a later turn.
    await nextTurn();
    if (failed || !stream.writable) return;
  }
}

export async function writeParts(screen: Screen, parts: AsyncIterable<string>): Promise<void> {
  async function* texts() {
    let isFirst = true;
    for await (const part of parts) {
      // A byte-order mark at the beginning tells Excel the encoding.
      const mark = isFirst && part.startsWith("\ufeff") ? 1 : 0;
      yield part.slice(0, mark) + visibleLines(part.slice(mark));
      isFirst = false;
    }
  }
  await writeEach(screen, texts());
}
