import type { CurrencyCode } from "../../src/core/currency.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adult, decimal, opening, table, tradedRates } from "./fixture.ts";

/** What a file of another format may take for more than text. */
export const wildNote = '=cmd|"a", b; date:2020-13-41 | {c} \\u0041 (d) [2020-01-01] #e ^f ł';

/**
 * Fills a ledger with entries of every kind in every currency, of `customers` customers, in the days from 2026-05-29
 * on. The clock is the last entry's when it is done.
 */
export async function seedEveryKind(store: Store, customers = 4): Promise<LedgerService> {
  let time = Date.parse("2026-05-29T21:00:00Z");
  const service = new LedgerService(store, await tradedRates(store), () => {
    time += 900_000;
    return new Date(time);
  });
  for (let index = 0; index < customers; index += 1) await seedAccount(service, index);
  return service;
}

async function seedAccount(service: ExchangeService, index: number): Promise<void> {
  const given = opening({ index, pln: `${index * 1000}.37`, name: 'Jan "Jaś", syn; \\ |' });
  const { pesel } = given;
  await service.createAccount({ ...given, key: `${pesel}-opening` });
  const reverse = (reverses: string) =>
    service.change({ kind: "reversal", pesel, reverses, reason: `slip: ${wildNote}` });
  const cash = (kind: "deposit" | "withdrawal", amount: string, currency: string) =>
    service.change({
      kind,
      pesel,
      amount: decimal(amount),
      currency: currency as CurrencyCode,
      note: index % 2 === 0 ? wildNote : undefined,
      by: index % 2 === 0 ? "kasa-2" : undefined,
    });
  const exchange = (from: string, to: string, side: "toBuy" | "toSell", amount: string) =>
    service.exchange({
      pesel,
      from: from as CurrencyCode,
      to: to as CurrencyCode,
      side,
      amount: decimal(amount),
      key: `${from}-${to}-${side}`,
    });
  await cash("deposit", "250000.01", "PLN");
  const codes = [...table.rates.keys()];
  for (const [nth, code] of codes.entries()) {
    await exchange("PLN", code, "toBuy", String(1000 + 7 * index));
    await cash("deposit", "1234", code);
    await exchange(code, "PLN", "toSell", "321");
    const { receiptId } = await exchange(code, codes[(nth + 1) % codes.length] ?? "", "toSell", "333");
    if ((nth + index) % 3 === 0) await reverse(receiptId);
    await cash("withdrawal", String(100 + nth), code);
  }
  const slip = await cash("withdrawal", "1.01", "PLN");
  await reverse(slip.receiptId);
  await service.change({ kind: "renaming", pesel, name: "=SUM(A1)", surname: "Łęcka-Żółć" });
  if (index % 4 === 3) await closeAndReopen(service, pesel);
}

async function closeAndReopen(service: ExchangeService, pesel: Pesel): Promise<void> {
  for (const { currency, minor } of (await service.account(pesel)).balances) {
    const amount = { coefficient: minor, scale: currency === "JPY" ? 0 : 2 };
    if (minor > 0n) await service.change({ kind: "withdrawal", pesel, amount, currency, note: undefined });
  }
  await service.change({ kind: "closing", pesel });
  await service.createAccount({ ...opening({ pln: "0" }), pesel });
}

/** The customers of `seedEveryKind`. */
export function seededPesels(customers = 4): Pesel[] {
  return Array.from({ length: customers }, (_, index) => adult(index));
}
