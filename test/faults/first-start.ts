import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult, fixedRates, now, opening } from "../support/fixture.ts";

/**
 * Opens its own account in one new ledger after another, each at the same moment as its sister process, and prints
 * failures. Arguments: folder, number of ledgers, time of the first, number of this process.
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
