import { v7 as uuidv7 } from "uuid";
import type { CurrencyCode } from "../../src/core/currency.ts";
import type { Entry, ExchangeEntry, OpeningEntry } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import { sealEntry } from "../../src/ledger/batch.ts";
import type { Decision, StoredAccount } from "../../src/ledger/store.ts";
import { now, table } from "./fixture.ts";

export function money(minor: bigint, currency = "PLN"): Money {
  return { currency: currency as CurrencyCode, minor };
}

export function openingEntry(
  pesel: Pesel,
  { minor = 100_000n, ...fields }: Partial<OpeningEntry> & { minor?: bigint } = {},
): OpeningEntry {
  return {
    kind: "opening",
    id: uuidv7(),
    pesel,
    sequence: 1,
    time: now,
    key: undefined,
    name: "Jan",
    surname: "Kowalski",
    initial: money(minor),
    balances: [money(minor)],
    ...fields,
  };
}

/** The entry after `account`'s last, by which one grosz is sold: not one that the bank would make. */
export function groszEntry(account: StoredAccount, fields: Partial<ExchangeEntry> = {}): ExchangeEntry {
  return {
    kind: "exchange",
    id: uuidv7(),
    pesel: account.pesel,
    sequence: account.sequence + 1,
    time: now,
    key: undefined,
    side: "toSell",
    sold: money(1n),
    bought: money(1n, "USD"),
    bid: undefined,
    ask: table.rates.get("USD" as CurrencyCode)?.ask,
    table: table.number,
    tableId: table.id,
    effectiveDate: table.effectiveDate,
    balances: [money((account.balances[0]?.minor ?? 0n) - 1n), money(BigInt(account.sequence), "USD")],
    ...fields,
  };
}

/** What a transaction writes that appends these entries to one account. */
export function appending(entries: readonly Entry[], account?: StoredAccount): Decision<StoredAccount> {
  let head = account;
  const all = entries.map((entry) => {
    const sealed = sealEntry(entry, head?.hash ?? "");
    const { pesel, balances, sequence } = entry;
    const { name, surname } = entry.kind === "opening" ? entry : (head ?? { name: "", surname: "" });
    head = { pesel, name, surname, balances, sequence, hash: sealed.hash };
    return sealed;
  });
  if (head === undefined) throw new Error("nothing to append");
  return { writes: { accounts: [head], entries: all, accepted: undefined }, answer: head };
}
