import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";

/**
 * Waits while each turn of the event loop brings more of what is counted, so that many share one way to the store.
 * @param patienceMs how long more may take to come, once a turn brought nothing
 */
export async function gather(count: () => number, limit: number, patienceMs = 0): Promise<void> {
  // Of what this turn brought, the first is here; the others follow in the same round of microtasks.
  await undefined;
  for (let before = 0; count() > before && count() < limit; ) {
    before = count();
    await nextTurn();
    if (count() === before && patienceMs > 0) await pause(patienceMs);
  }
}
