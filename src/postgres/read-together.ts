import { setImmediate as nextTurn } from "node:timers/promises";
import DataLoader from "dataloader";
import type { Pesel } from "../core/pesel.ts";

const accountsAtOnce = 40;

/**
 * Reads those that are asked for at once by one statement. When there are enough, it does not wait for the end of the
 * turn: PostgreSQL works on it while this process reads the next requests.
 */
export function readTogether<T>(
  read: (pesels: readonly Pesel[]) => Promise<(T | Error)[]>,
): (pesel: Pesel) => Promise<T> {
  let asked = 0;
  let tellFull = () => {};
  const loader = new DataLoader<Pesel, T>(read, {
    cache: false,
    maxBatchSize: accountsAtOnce,
    batchScheduleFn: (go) => {
      asked = 0;
      const full = new Promise<void>((resolve) => {
        tellFull = resolve;
      });
      void Promise.race([full, nextTurn()]).then(go);
    },
  });
  return (pesel) => {
    const loaded = loader.load(pesel);
    asked += 1;
    if (asked === accountsAtOnce) tellFull();
    return loaded;
  };
}
