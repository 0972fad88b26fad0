import type { Page, PageRequest } from "../../core/service.ts";
import { type Column, writeTable } from "./output.ts";
import { type Screen, write } from "./terminal.ts";

const pageSize = 1000;

/** How items of one kind are listed. */
export interface Listing<T> {
  readonly columns: readonly Column[];
  readonly row: (screen: Screen, item: T) => readonly string[];
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
    const page = await read({ limit: Math.min(left, pageSize), cursor });
    yield page.items;
    left -= page.items.length;
    cursor = page.next;
  } while (cursor !== undefined && left > 0);
}

/** Writes pages as they come, so that memory stays flat, and stops when nobody reads on. Returns how many items. */
export async function writePages<T>(
  screen: Screen,
  pages: AsyncIterable<readonly T[]>,
  { columns, row, encode }: Listing<T>,
  json: boolean,
): Promise<number> {
  let count = 0;
  for await (const items of pages) {
    if (!screen.stream.writable) break;
    if (json) {
      for (const item of items) {
        screen.stream.write(`${count === 0 ? "[" : ","}\n${JSON.stringify(encode(item))}`);
        count += 1;
      }
    } else {
      await writeTable(
        screen,
        columns,
        items.map((item) => row(screen, item)),
      );
      count += items.length;
    }
  }
  if (json) write(screen, count === 0 ? "[]" : "\n]");
  return count;
}
