import { v7 as uuidv7 } from "uuid";
import type { CurrencyCode } from "../../src/core/currency.ts";
import type { Exchange } from "../../src/core/exchange.ts";
import { accountAfter, type Entry, type EntryKind } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import { sealEntry } from "../../src/ledger/rows.ts";
import type { Decision, StoredAccount } from "../../src/ledger/store.ts";
import { now, table } from "./fixture.ts";

export function money(minor: bigint, currency = "PLN"): Money {
  return { currency: currency as CurrencyCode, minor };
}

/** Members of an entry that most kinds leave out. */
const nothing = {
  key: undefined,
  by: undefined,
  reverses: undefined,
  note: undefined,
  debited: undefined,
  credited: undefined,
  exchange: undefined,
};

export function openingEntry(
  pesel: Pesel,
  { minor = 100_000n, ...fields }: Partial<Entry> & { minor?: bigint } = {},
): Entry {
  return {
    ...nothing,
    kind: "opening",
    id: uuidv7(),
    pesel,
    sequence: 1,
    time: now,
    holder: { name: "Jan", surname: "Kowalski" },
    blocked: false,
    credited: money(minor),
    balances: [money(minor)],
    ...fields,
  };
}

/** The next entry of `account`, the sale of one grosz; fx itself would refuse it. */
export function groszEntry(account: StoredAccount, fields: Partial<Entry & Exchange> = {}): Entry {
  const {
    side,
    sold,
    bought,
    bid,
    ask,
    table: number,
    tableId,
    effectiveDate,
    ...entry
  } = {
    side: "toSell" as const,
    sold: money(1n),
    bought: money(1n, "USD"),
    bid: undefined,
    ask: table.rates.get("USD" as CurrencyCode)?.ask,
    table: table.number,
    tableId: table.id,
    effectiveDate: table.effectiveDate,
    ...fields,
  };
  const exchange = { side, sold, bought, bid, ask, table: number, tableId, effectiveDate };
  return nextEntry(account, "exchange", {
    debited: sold,
    credited: bought,
    exchange,
    balances: [money((account.balances[0]?.minor ?? 0n) - 1n), money(BigInt(account.sequence), "USD")],
    ...entry,
  });
}

/** The next entry of `account`, of any kind. It keeps the balances unless `fields` has them. */
export function nextEntry(account: StoredAccount, kind: EntryKind, fields: Partial<Entry> = {}): Entry {
  const { pesel, name, surname, blocked, sequence, balances } = account;
  const holder = { name, surname };
  const head = { id: uuidv7(), pesel, sequence: sequence + 1, time: now, holder, blocked, balances };
  return { ...nothing, kind, ...head, ...fields };
}

/** An account before its first entry. */
export function emptyAccount(pesel: Pesel, fields: Partial<StoredAccount> = {}): StoredAccount {
  const head = { sequence: 0, hash: "", time: new Date(0), closed: false, blocked: false };
  return { pesel, name: "Jan", surname: "Kowalski", balances: [], ...head, ...fields };
}

/** A decision that appends these entries to one account. */
export function appending(entries: readonly Entry[], account?: StoredAccount): Decision<StoredAccount> {
  let head = account;
  const all = entries.map((entry) => {
    const sealed = sealEntry(entry, head?.hash ?? "");
    const { sequence, time } = entry;
    head = { ...accountAfter(entry), sequence, hash: sealed.hash, time };
    return sealed;
  });
  if (head === undefined) throw new Error("nothing to append");
  return { writes: { accounts: [head], entries: all, accepted: undefined }, answer: head };
}
