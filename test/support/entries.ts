import { v7 as uuidv7 } from "uuid";
import type { CurrencyCode } from "../../src/core/currency.ts";
import type { Exchange } from "../../src/core/exchange.ts";
import type { Entry, EntryKind } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import { sealEntry } from "../../src/ledger/seal.ts";
import type { Decision, StoredAccount } from "../../src/ledger/store.ts";
import { now, table } from "./fixture.ts";

export function money(minor: bigint, currency = "PLN"): Money {
  return { currency: currency as CurrencyCode, minor };
}

/** What an entry of no kind says beside its head. */
const nothing = {
  key: undefined,
  by: undefined,
  holder: undefined,
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
    credited: money(minor),
    balances: [money(minor)],
    ...fields,
  };
}

/** The entry after `account`'s last, by which one grosz is sold: not one that the bank would make. */
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

/** The entry after `account`'s last, of any kind, which leaves the balances as they are unless `fields` has them. */
export function nextEntry(account: StoredAccount, kind: EntryKind, fields: Partial<Entry> = {}): Entry {
  const { pesel, sequence, balances } = account;
  const head = { id: uuidv7(), pesel, sequence: sequence + 1, time: now, balances };
  return { ...nothing, kind, ...head, ...fields };
}

/** An account before its first entry. */
export function emptyAccount(pesel: Pesel, fields: Partial<StoredAccount> = {}): StoredAccount {
  const head = { sequence: 0, hash: "", time: new Date(0), closed: false };
  return { pesel, name: "Jan", surname: "Kowalski", balances: [], ...head, ...fields };
}

/** What a transaction writes that appends these entries to one account. */
export function appending(entries: readonly Entry[], account?: StoredAccount): Decision<StoredAccount> {
  let head = account;
  const all = entries.map((entry) => {
    const sealed = sealEntry(entry, head?.hash ?? "");
    const { pesel, balances, sequence, time } = entry;
    const { name, surname } = entry.holder ?? head ?? { name: "", surname: "" };
    const closed = entry.kind === "closing";
    head = { pesel, name, surname, balances, sequence, hash: sealed.hash, time, closed };
    return sealed;
  });
  if (head === undefined) throw new Error("nothing to append");
  return { writes: { accounts: [head], entries: all, accepted: undefined }, answer: head };
}
