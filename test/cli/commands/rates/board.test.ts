import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { boardText, readBoard, sparkline } from "../../../../src/cli/commands/rates/board.ts";
import { FxError } from "../../../../src/core/errors.ts";
import type { ExchangeService } from "../../../../src/core/service.ts";
import { LedgerService } from "../../../../src/ledger/service.ts";
import { demoTables } from "../../../../src/rates/recorded.ts";
import { tablesOf } from "../../../../src/rates/source.ts";
import { openSqlite } from "../../../../src/sqlite/store.ts";
import { tradedRates } from "../../../support/fixture.ts";
import { screenOf } from "../../../support/screen.ts";

/** The service over all demo tables, which counts the requests for tables. */
async function openCounted(rateTables?: ExchangeService["rateTables"]) {
  const store = openSqlite(":memory:");
  const tables = tablesOf("demo", demoTables());
  const rates = await tradedRates(store, tables.at(-1));
  const service = new LedgerService(store, rates);
  await store.saveTables(tables);
  let requests = 0;
  const counted: ExchangeService = Object.create(service, {
    rates: { value: () => service.rates() },
    rateTables: {
      value: (days: number) => {
        requests += 1;
        return rateTables === undefined ? service.rateTables(days) : rateTables(days);
      },
    },
  });
  return { service: counted, requests: () => requests };
}

describe("the board of rates", () => {
  test("The board of rates has the trend of every currency from one request", async () => {
    const { service, requests } = await openCounted();
    const { inForce, trends } = await readBoard(service, screenOf(80));
    assert.deepEqual([...trends.keys()], [...inForce.table.rates.keys()]);
    assert.ok([...trends.values()].every((trend) => [...trend].length === 20));
    assert.equal(requests(), 1);
  });

  for (const [where, screen] of [
    ["a pipe", screenOf(undefined)],
    ["a narrow terminal", screenOf(50)],
    ["a terminal that shows only ASCII", screenOf(80, { unicode: false })],
  ] as const) {
    test(`The board of rates for ${where} has no trends, and no request for them`, async () => {
      const { service, requests } = await openCounted();
      const board = await readBoard(service, screen);
      assert.deepEqual([requests(), board.trends.size], [0, 0]);
    });
  }

  test("The board of rates is shown without trends, where they cannot be read", async () => {
    const { service } = await openCounted(() => Promise.reject(new FxError("rate-limited", "Too many.")));
    const screen = screenOf(80);
    const text = boardText(screen, await readBoard(service, screen));
    assert.match(
      text,
      /^Code +Bid +Ask +Change +Currency\n(.*\n){13}\nChange: against table 068\/C\/NBP\/2022 of 2022-04-07\n$/,
    );
  });
});

describe("sparklines", () => {
  test("a sparkline goes from the lowest bar to the highest", () => {
    assert.equal(sparkline([1, 2, 3, 4, 5, 6, 7, 8]), "▁▂▃▄▅▆▇█");
    assert.equal(sparkline([4, 1, 4]), "█▁█");
  });

  test("a sparkline of one value, or of equal ones, is flat", () => {
    assert.equal(sparkline([5]), "▁");
    assert.equal(sparkline([5, 5]), "▁▁");
    assert.equal(sparkline([]), "");
  });
});
