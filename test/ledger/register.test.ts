import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import { requireDecimal } from "../../src/core/decimal.ts";
import { minorUnitsOf } from "../../src/core/money.ts";
import { engines } from "../support/adapters.ts";
import { exported } from "../support/bookkeeping.ts";
import { seedEveryKind, seededPesels } from "../support/every-kind.ts";

// The lines of a register are in test/service/register.txt.

function minorOf(cell = "", digits = 2): bigint {
  return minorUnitsOf(requireDecimal(cell.replace(",", ".")), digits) ?? assert.fail(cell);
}

for (const { name, open } of engines) {
  test(`The register over ${name}, read as Excel in Poland does, has all customers and adds up to the position of the house`, async (t) => {
    const service = await seedEveryKind(await open(t));
    const text = await exported(service, { format: "register", full: true });
    assert.match(text, /^\ufeffLp\.;(.*\r\n)+$/);
    const rows = parse(text, { bom: true, delimiter: ";", columns: true }) as Record<string, string>[];
    const sums = new Map<string, bigint>();
    const add = (currency: string, minor: bigint) => sums.set(currency, (sums.get(currency) ?? 0n) + minor);
    for (const row of rows.slice(0, -1)) {
      const sign = /kup/.test(row.Rodzaj ?? "") ? 1n : -1n;
      const currency = row.Waluta ?? "";
      add(currency, sign * minorOf(row.Ilość, currency === "JPY" ? 0 : 2));
      add("PLN", -sign * minorOf(row["Wartość w PLN"]));
    }
    const { currencies } = await service.position();
    assert.deepEqual(sums, new Map(currencies.map(({ currency, house }) => [currency, house])));
    assert.deepEqual(new Set(rows.slice(0, -1).map(({ PESEL }) => PESEL)), new Set(seededPesels()));
  });
}
