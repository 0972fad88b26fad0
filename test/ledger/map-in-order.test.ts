import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { mapInOrder } from "../../src/ledger/map-in-order.ts";

/** Numbers from 1, and the results of their mapping: `done(n)` lets that of n end. */
function slowMap() {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const map = (item: number) => {
    begun.push(item);
    return new Promise<number>((resolve) => ends.set(item, () => resolve(item * 10)));
  };
  return { begun, map, done: (item: number) => ends.get(item)?.() };
}

test("Results come in the order of the items, of which no more than the limit are mapped at once", async () => {
  const { begun, map, done } = slowMap();
  const results: number[] = [];
  const all = (async () => {
    for await (const result of mapInOrder(numbers(3), 2, map)) results.push(result);
  })();
  await turns();
  assert.deepEqual(begun, [1, 2]);
  done(2);
  await turns();
  assert.deepEqual([results, begun], [[], [1, 2]]);
  done(1);
  await turns();
  done(3);
  await all;
  assert.deepEqual(
    [results, begun],
    [
      [10, 20, 30],
      [1, 2, 3],
    ],
  );
});

test("A result is yielded while the source has no further item", async () => {
  const mapped = mapInOrder(numbers(1, new Promise(() => {})), 4, async (item) => item);
  assert.deepEqual(await mapped.next(), { done: false, value: 1 });
  assert.deepEqual(await mapped.return(undefined), { done: true, value: undefined });
});

test("A failure of the source comes after the results of the items before it", async () => {
  const { map, done } = slowMap();
  const mapped = mapInOrder(numbers(2, Promise.reject(new Error("broken"))), 4, map);
  const first = mapped.next();
  await turns();
  done(1);
  done(2);
  assert.deepEqual(
    [await first, await mapped.next()].map(({ value }) => value),
    [10, 20],
  );
  await assert.rejects(mapped.next(), { message: "broken" });
});

async function* numbers(count: number, then?: Promise<never>): AsyncGenerator<number> {
  for (let item = 1; item <= count; item += 1) yield item;
  await then;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

test("A result that fails while an older one is awaited is thrown in its place, and is no unhandled rejection", async () => {
  async function* two() {
    yield* [1, 2];
  }
  const results: number[] = [];
  const map = async (item: number) => {
    if (item === 2) throw new Error("the second failed");
    await pause(30);
    return item;
  };
  await assert.rejects(async () => {
    for await (const result of mapInOrder(two(), 2, map)) results.push(result);
  }, /the second failed/);
  assert.deepEqual(results, [1]);
});
