import { test } from "node:test";
import { adapters } from "../support/adapters.ts";
import { simulate, surviving } from "./simulate.ts";

/** Number of seeds for each kind of store. `npm run simulate -- --seeds N` plays more. */
const seeds: Record<string, number> = { "memory:": 15, "sqlite:": 10 };

for (const adapter of adapters) {
  const count = seeds[adapter.name] ?? 5;
  test(`${count} random simulations over ${adapter.name} agree with the model`, async (t) => {
    for (let seed = 1; seed <= count; seed += 1) {
      await simulate(
        seed,
        adapter.database === undefined ? surviving(await adapter.open(t)) : await adapter.database(t),
      );
    }
  });
}
