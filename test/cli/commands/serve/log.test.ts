import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { TurnLog } from "../../../../src/cli/commands/serve/log.ts";

const turn = () => new Promise(setImmediate);

test("lines that a stalled reader leaves no room for are dropped, and counted once there is room again", async () => {
  const stream = new PassThrough();
  const log = new TurnLog(stream);
  const told: number[] = [];
  log.onDropped = (lines) => void told.push(lines);
  const line = `${"x".repeat(1023)}\n`;
  for (let lines = 0; lines < 3000; lines += 1) {
    log.write(line);
    if (lines % 10 === 9) await turn();
  }
  assert.ok(stream.writableLength < 1.2 * 1024 * 1024, `${stream.writableLength} bytes wait`);
  assert.deepEqual(told, []);
  let read = 0;
  stream.on("data", (bytes) => {
    read += bytes.length;
  });
  while (told.length === 0) await turn();
  assert.deepEqual(told, [3000 - read / line.length]);
  log.write(line);
  log.end();
  await turn();
  assert.equal(told[0], 3001 - read / line.length);
});
