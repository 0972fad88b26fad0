import { parseHouseCash } from "../../src/core/change.ts";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { type HousePlace, houseNumber, housePlaces } from "../../src/core/house.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adult, decimal, opening, table, tradedRates } from "./fixture.ts";

/** A note with everything that another file format could take for syntax. */
const wildNote = '=cmd|"a", b; date:2020-13-41 | {c} \\u0041 (d) [2020-01-01] #e ^f ł';

/**
 * Fills a ledger with entries of every kind in every currency, of `customers` customers, from 2026-05-29 on. Afterwards
 * the service's clock is at the last entry.
 */
export async function seedEveryKind(store: Store, customers = 4): Promise<LedgerService> {
  let time = Date.parse("2026-05-29T21:00:00Z");
  const service = new LedgerService(store, await tradedRates(store), () => {
    time += 900_000;
    return new Date(time);
  });
  for (let index = 0; index < customers; index += 1) await seedAccount(service, index);
  await seedHouse(service);
  return service;
}

/** A float in two currencies, the way of cash to the bank, a slip that is undone, and more taken out than was put in. */
async function seedHouse(service: ExchangeService): Promise<void> {
  const move = (kind: "deposit" | "withdrawal", account: HousePlace, amount: string, currency: string) =>
    service.change(
      parseHouseCash({ kind, account, amount: decimal(amount), currency, note: wildNote, by: "kasa-2" }),
    );
  await move("deposit", "cash", "50000", "EUR");
  await move("deposit", "cash", "700", "JPY");
  const { receiptId } = await move("deposit", "bank", "9.99", "PLN");
  await service.change({ kind: "reversal", pesel: houseNumber("bank"), reverses: receiptId, reason: "slip" });
  await move("withdrawal", "cash", "12345.67", "PLN");
  await move("deposit", "bank", "12345.67", "PLN");
  await move("withdrawal", "bank", "20000", "PLN");
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
  await service.change({ kind: "block", pesel, reason: `freeze: ${wildNote}` });
  await cash("deposit", "1", "PLN");
  if (index % 4 !== 2) await service.change({ kind: "unblock", pesel, reason: "lifted" });
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

/** The accounts of `seedEveryKind`: its customers' and the house's. */
export function seededAccounts(customers = 4): Pesel[] {
  return [...housePlaces.map(houseNumber), ...seededPesels(customers)];
}
