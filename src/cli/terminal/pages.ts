import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { longestPage, type Page, type PageRequest } from "../../core/service.ts";
import { visibleLines } from "../../core/visible.ts";
import { type Cell, type Column, writeTable } from "./output.ts";
import { type Screen, write } from "./terminal.ts";

/** How items of one kind are listed. */
export interface Listing<T> {
  readonly columns: readonly Column[];
  readonly row: (screen: Screen, item: T) => readonly Cell[];
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
  { columns, row, encode }: Listing<T>,
  json: boolean,
): Promise<number> {
  const count = await writeEach(screen, pages, async (items, before) => {
    if (json) {
      const texts = items.map(
        (item, nth) => `${before + nth === 0 ? "[" : ","}\n${JSON.stringify(encode(item))}`,
      );
      screen.stream.write(visibleLines(texts.join("")));
    } else {
      await writeTable(
        screen,
        columns,
        items.map((item) => row(screen, item)),
      );
    }
  });
  if (json) write(screen, count === 0 ? "[]" : "\n]");
  return count;
}

/** Writes pages as they come, so that memory stays flat, and stops when nobody reads on. Returns how many items. */
export async function writeEach<T>(
  { stream }: Screen,
  pages: AsyncIterable<readonly T[]>,
  writeItems: (items: readonly T[], before: number) => Promise<void> | void,
): Promise<number> {
  let count = 0;
  const isRead = readerOf(stream);
  for await (const items of pages) {
    await writeItems(items, count);
    count += items.length;
    if (!(await isRead())) break;
  }
  return count;
}

/** Writes parts as they come, like `writePages`. */
export async function writeParts({ stream }: Screen, parts: AsyncIterable<string>): Promise<void> {
  const isRead = readerOf(stream);
  let isFirst = true;
  for await (const part of parts) {
    // A byte-order mark at the beginning tells Excel the encoding.
    const mark = isFirst && part.startsWith("\ufeff") ? 1 : 0;
    stream.write(part.slice(0, mark) + visibleLines(part.slice(mark)));
    isFirst = false;
    if (!(await isRead())) break;
  }
}

/** Returns a function that waits until the reader has taken everything written, and resolves to whether it still reads. */
function readerOf(stream: NodeJS.WritableStream): () => Promise<boolean> {
  // Node's stdout says that it is writable even when its reader is gone.
  let failed = false;
  stream.once("error", () => {
    failed = true;
  });
  return async () => {
    await taken(stream);
    await nextTurn();
    return !failed && stream.writable;
  };
}

/** Resolves when the buffer is drained or the stream is closed. */
async function taken(
  stream: NodeJS.WritableStream & { readonly writableNeedDrain?: boolean },
): Promise<void> {
  if (!stream.writableNeedDrain) return;
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(stream, "drain", { signal }), once(stream, "close", { signal })]).catch(() => {});
  settled.abort();
}
