import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult, fixedRates, now, opening } from "../support/fixture.ts";

/**
 * Opens an account of its own in one new ledger after the other, each at the moment that its sister does, and prints
 * what failed. Arguments: the folder, how many, the moment of the first, and this process's number.
 */
const [folder, rounds, startMs, self] = process.argv.slice(2);
const pauseMs = 20;

for (let round = 0; round < Number(rounds); round += 1) {
  while (Date.now() < Number(startMs) + round * pauseMs);
  try {
    const store = openSqlite(`${folder}/${round}.db`);
    const service = new LedgerService(store, fixedRates(), () => now);
    await service.createAccount(opening({ index: Number(self) }));
    await service.close();
  } catch (error) {
    process.stdout.write(`${round}: ${(error as Error).message.replaceAll(adult(Number(self)), "…")}\n`);
  }
}
