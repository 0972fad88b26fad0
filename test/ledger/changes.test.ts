import { after, before, describe, type TestContext } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Subject } from "../service.contract.ts";
import { describeChanges } from "../service-changes.contract.ts";
import { describePast } from "../service-past.contract.ts";
import { adapters } from "../support/adapters.ts";
import { adult, fixedRates, now, opening, table } from "../support/fixture.ts";

for (const { name, open } of adapters) {
  describe(`changes of accounts, and what they were, over ${name}`, () => {
    let subject: Subject;
    let people = 0;
    const cleanUps: (() => unknown)[] = [];

    before(async () => {
      const store = await open({
        after: (cleanUp: () => unknown) => cleanUps.push(cleanUp),
      } as unknown as TestContext);
      const rates = fixedRates(table, store);
      const clock = { now };
      const service = new LedgerService(store, rates, () => clock.now);
      subject = { service, rates, clock, close: () => service.close() };
    });
    after(async () => {
      for (const cleanUp of cleanUps.reverse()) await cleanUp();
    });

    describeChanges(
      () => subject,
      async () => {
        people += 1;
        await subject.service.createAccount(opening({ index: people }));
        return adult(people);
      },
    );
    describePast(() => subject);
  });
}
