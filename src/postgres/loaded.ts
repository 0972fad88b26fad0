import type { Pesel } from "../core/pesel.ts";
import type { TableInForce } from "../core/rates.ts";
import { entryId } from "../ledger/entry-id.ts";
import { decodeRefusal } from "../ledger/rows.ts";
import type { Loaded, RefusalRow, StoredAccount } from "../ledger/store.ts";
import { answeredEntry, decodeAccount, decodeInForce, foundEntry } from "../sql/found.ts";
import type { Row } from "./connection.ts";

/** The rows that a transaction has read. */
export interface LoadedRows {
  readonly accounts: readonly Row[];
  /** Entries with the keys, and refusals under them. */
  readonly keyed: readonly Row[];
  readonly refusals: readonly Row[];
  /** Entries that are to be reversed. */
  readonly reversed: readonly Row[];
  readonly inForce: readonly Row[];
}

/** Decodes each row when it is asked for, so that one that cannot be read harms only who needs it. */
export function loadedFrom({ accounts, keyed, refusals, reversed, inForce: [newest] }: LoadedRows): Loaded {
  const byPesel = new Map(accounts.map((row) => [Number(row.pesel), row]));
  const placeOf = ({ pesel, idempotency_key }: Row) => `${pesel} ${idempotency_key}`;
  const entryWith = new Map(keyed.map((row) => [placeOf(row), row]));
  const refusalWith = new Map(refusals.map((row) => [placeOf(row), row as unknown as RefusalRow]));
  const byId = new Map(reversed.map((row) => [String(row.id), row]));
  const decoded = new Map<Pesel, StoredAccount | undefined>();
  let inForce: TableInForce | undefined;
  return {
    inForce: () => {
      inForce ??= newest && decodeInForce(newest);
      return inForce;
    },
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
