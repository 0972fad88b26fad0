import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { writePages } from "../../../src/cli/terminal/pages.ts";
import type { Screen } from "../../../src/cli/terminal/terminal.ts";

const listing = {
  columns: [{ title: "Number", cell: (item: number) => String(item) }],
  encode: Number,
};

/** Writes 100 pages of a number each to `stream`; tells after each page how many have been read so far. */
function write(stream: PassThrough, onPage: (read: number) => void): Promise<number> {
  async function* pages() {
    for (let read = 1; read <= 100; read += 1) {
      onPage(read);
      yield [read];
    }
  }
  const screen = { stream, rich: false, columns: Number.POSITIVE_INFINITY } as unknown as Screen;
  return writePages(screen, pages(), listing, false);
}

test("no page is read while the output is not", async () => {
  const stream = new PassThrough({ highWaterMark: 1 });
  let read = 0;
  const written = write(stream, (pages) => {
    read = pages;
  });
  for (let turn = 0; turn < 50; turn += 1) await new Promise((next) => setImmediate(next));
  assert.equal(read, 1);
  stream.resume();
  assert.equal(await written, 100);
});

test("no page is read once the reader is gone", async () => {
  const stream = new PassThrough().resume();
  const count = await write(stream, (read) => {
    if (read === 3) stream.emit("error", new Error("EPIPE"));
  });
  assert.equal(count, 3);
});
