import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Pesel } from "../../src/core/pesel.ts";
import { readTogether } from "../../src/postgres/read-together.ts";
import { adult } from "../support/fixture.ts";

/** How many accounts each read was asked for. Each gives back what it was asked for. */
function reads() {
  const sizes: number[] = [];
  const read = readTogether(async (pesels: readonly Pesel[]) => {
    sizes.push(pesels.length);
    return [...pesels];
  });
  const ask = (count: number) => Array.from({ length: count }, (_, index) => read(adult(index)));
  return { sizes, ask };
}

test("accounts are read together while turns of the event loop ask for more", async () => {
  const { sizes, ask } = reads();
  for (let turn = 0; turn < 5; turn += 1) {
    ask(3);
    await nextTurn();
  }
  assert.deepEqual(sizes, []);
  ask(1);
  await nextTurn();
  await nextTurn();
  await nextTurn();
  assert.deepEqual(sizes, [16]);
});

test("of a hundred at once, each forty are read before the turn ends, and each gets its own", async () => {
  const { sizes, ask } = reads();
  const asked = ask(100);
  await new Promise<void>((resolve) => {
    process.nextTick(resolve);
  });
  await undefined;
  const inTurn = [...sizes];
  assert.deepEqual(
    await Promise.all(asked),
    asked.map((_, index) => adult(index)),
  );
  assert.deepEqual(
    [inTurn, sizes],
    [
      [40, 40],
      [40, 40, 20],
    ],
  );
});
