import type { Pesel } from "../core/pesel.ts";
import type { TableInForce } from "../core/rates.ts";
import { DamagedLedger } from "../ledger/damage.ts";
import { entryId } from "../ledger/entry-id.ts";
import { answeredEntry, decodeAccount, decodeRefusal, foundEntry } from "../ledger/rows.ts";
import type { AccountRow, Loaded, RefusalRow, StoredAccount } from "../ledger/store.ts";
import type { Row } from "./connection.ts";

/** Reads each row when it is asked for, so that one that cannot be read harms only who needs it. */
export function loadedFrom({
  accounts,
  keyRows,
  refusals,
  entries,
  inForce,
}: {
  accounts: readonly Row[];
  keyRows: readonly Row[];
  refusals: readonly Row[];
  entries: readonly Row[];
  inForce: () => TableInForce | undefined;
}): Loaded {
  const byPesel = new Map(accounts.map((row) => [Number(row.pesel), row as unknown as AccountRow]));
  const placeOf = ({ pesel, idempotency_key }: Row) => `${Number(pesel)} ${idempotency_key}`;
  const entryWith = new Map(keyRows.map((row) => [placeOf(row), row]));
  const refusalWith = new Map(refusals.map((row) => [placeOf(row), row as unknown as RefusalRow]));
  const byId = new Map(entries.map((row) => [String(row.id), row]));
  const decoded = new Map<Pesel, StoredAccount | undefined>();
  return {
    inForce,
    account: (pesel) => {
      const row = byPesel.get(Number(pesel));
      if (row !== undefined && !decoded.has(pesel)) decoded.set(pesel, decodeAccount(row));
      return decoded.get(pesel);
    },
    answered: (pesel, key) => {
      const place = `${Number(pesel)} ${key}`;
      const [entry, refusal] = [entryWith.get(place), refusalWith.get(place)];
      if (entry !== undefined) return answeredEntry(entry);
      return refusal && decodeRefusal(refusal);
    },
    entry: (id) => {
      const row = byId.get(id);
      return row && foundEntry(row);
    },
    nextId: entryId,
  };
}

/** What was read, or the failure to read it, for whoever needs it. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<() => T> {
  try {
    const value = await reading;
    return () => value;
  } catch (error) {
    if (!(error instanceof DamagedLedger)) throw error;
    return () => {
      throw error;
    };
  }
}
