import { after, before, describe, type TestContext } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Subject } from "../service.contract.ts";
import { describeChanges } from "../service-changes.contract.ts";
import { describePast } from "../service-past.contract.ts";
import { describeTokens } from "../service-tokens.contract.ts";
import { adapters } from "../support/adapters.ts";
import { adult, now, opening, tradedRates } from "../support/fixture.ts";
import { withToken } from "../support/service.ts";

for (const { name, open } of adapters) {
  describe(`changes of accounts, and what they were, over ${name}`, () => {
    let subject: Subject;
    let people = 0;
    const cleanUps: (() => unknown)[] = [];

    before(async () => {
      const store = await open({
        after: (cleanUp: () => unknown) => cleanUps.push(cleanUp),
      } as unknown as TestContext);
      const rates = await tradedRates(store);
      const clock = { now };
      const service = new LedgerService(store, rates, () => clock.now);
      const as = (by: string | undefined) => withToken(service, by);
      subject = { service, rates, clock, as, close: () => service.close() };
    });
    after(async () => {
      for (const cleanUp of cleanUps.reverse()) await cleanUp();
    });

    const person = async () => {
      people += 1;
      await subject.service.createAccount(opening({ index: people }));
      return adult(people);
    };
    describeChanges(() => subject, person);
    describeTokens(() => subject, person);
    describePast(() => subject);
  });
}
