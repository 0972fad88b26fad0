import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";

/**
 * Waits while turns of the event loop bring more of what is counted, so that many share one way to the store. Of turns
 * that bring nothing it waits for two: clients that were answered together ask again together, but not in the next turn.
 * @param patienceMs how long more may take to come after those: asked each time, because what has come may change it
 */
export async function gather(count: () => number, limit: number, patienceMs = () => 0): Promise<void> {
  // Of what this turn brought, the first is here; the others follow in the same round of microtasks.
  await undefined;
  for (let before = 0; count() > before && count() < limit; ) {
    before = count();
    await nextTurn();
    if (count() === before) await nextTurn();
    if (count() === before && patienceMs() > 0) await pause(patienceMs());
  }
}
