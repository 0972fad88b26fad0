import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { Chalk } from "chalk";
import { readBoard, writeBoard } from "../../../../src/cli/commands/rates/board.ts";
import type { Screen } from "../../../../src/cli/terminal/terminal.ts";
import { FxError } from "../../../../src/core/errors.ts";
import type { ExchangeService } from "../../../../src/core/service.ts";
import { LedgerService } from "../../../../src/ledger/service.ts";
import { demoTables } from "../../../../src/rates/recorded.ts";
import { tablesOf } from "../../../../src/rates/source.ts";
import { openSqlite } from "../../../../src/sqlite/store.ts";
import { tradedRates } from "../../../support/fixture.ts";

function screenOf(options: Partial<Screen>): Screen & { text: () => string } {
  const stream = new PassThrough();
  const paint = new Chalk({ level: 0 });
  const screen = { stream, rich: true, columns: 80, rows: 24, live: false, paint, unicode: true };
  return { ...screen, text: () => String(stream.read() ?? ""), ...options };
}

/** The service over all demo tables, and which currencies' histories it was asked for. */
async function openCounted(history?: ExchangeService["rateHistory"]) {
  const store = openSqlite(":memory:");
  const tables = tablesOf("demo", demoTables());
  const rates = await tradedRates(store, tables.at(-1));
  const service = new LedgerService(store, rates);
  await store.saveTables(tables);
  const asked: string[] = [];
  const counted: ExchangeService = Object.create(service, {
    rates: { value: () => service.rates() },
    rateHistory: {
      value: (...args: Parameters<ExchangeService["rateHistory"]>) => {
        asked.push(args[0]);
        return history === undefined ? service.rateHistory(...args) : history(...args);
      },
    },
  });
  return { service: counted, rates, asked };
}

describe("the board of rates", () => {
  test("asks for the history of every currency once, and not again while the table is in force", async () => {
    const { service, rates, asked } = await openCounted();
    const first = await readBoard(service, screenOf({}));
    assert.deepEqual(asked, [...first.inForce.table.rates.keys()]);
    const second = await readBoard(service, screenOf({}), first);
    assert.equal(second.trends, first.trends);
    assert.equal(asked.length, first.inForce.table.rates.size);
    await rates.use(tablesOf("demo", demoTables()).at(-2));
    await readBoard(service, screenOf({}), second);
    assert.equal(asked.length, 2 * first.inForce.table.rates.size);
  });

  for (const [where, screen] of [
    ["a pipe", { rich: false, columns: Number.POSITIVE_INFINITY }],
    ["a narrow terminal", { columns: 50 }],
    ["a terminal that shows only ASCII", { unicode: false }],
  ] as const) {
    test(`for ${where} asks for no history`, async () => {
      const { service, asked } = await openCounted();
      const board = await readBoard(service, screenOf(screen));
      assert.deepEqual([asked, board.trends.size], [[], 0]);
    });
  }

  test("is whole without its trends, where a history cannot be had", async () => {
    const { service } = await openCounted(() => Promise.reject(new FxError("rate-limited", "Too many.")));
    const screen = screenOf({});
    await writeBoard(screen, await readBoard(service, screen));
    assert.match(
      screen.text(),
      /^Code +Bid +Ask +Change +Currency\n(.*\n){13}\nChange: against table 068\/C\/NBP\/2022 of 2022-04-07\n$/,
    );
  });
});
