import { accountBeforeEntries } from "../core/account.ts";
import { accountAfter } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { TableInForce } from "../core/rates.ts";
import {
  type AcceptedTableRow,
  acceptanceHash,
  DamagedLedger,
  decodeEntry,
  decodeTable,
  entryHash,
  peselText,
  type RateTableRow,
  type SealedEntry,
} from "../ledger/rows.ts";
import type { DamagedAccount, FoundEntry, StoredAccount } from "../ledger/store.ts";

/** An account's row and its newest entry, each null where there is none. */
interface AccountFound {
  readonly pesel: string | number;
  readonly name: string | null;
  readonly surname: string | null;
  /** The sequence of the newest entry, according to the row. */
  readonly sequence: number | null;
  /** The text of the newest entry, and its hash. */
  readonly entry: string | null;
  readonly hash: string | null;
  /** The hash of the entry before it. */
  readonly hash_before: string | null;
}

/** The row of an entry, with the id and the account of the entry that undoes it. */
interface EntryFound {
  readonly entry: string;
  readonly hash: string;
  /** The hash of the account's entry before it. */
  readonly hash_before: string | null;
  readonly reversed_by: string | null;
  readonly reversed_for: string | number | null;
}

/**
 * An account as its row and its newest entry have it. If there is neither, it is the house's or undefined.
 * @throws DamagedLedger if they do not fit together
 */
export function decodeAccount(row: object): StoredAccount | undefined {
  const { pesel: digits, name, surname, sequence, entry: text, hash, hash_before } = row as AccountFound;
  const pesel = peselText(digits) as Pesel;
  const of = `of the account ${pesel}`;
  if (text === null || hash === null) {
    const account = accountBeforeEntries(pesel);
    if (sequence === null) return account && { ...account, sequence: 0, hash: "", time: new Date(0) };
    throw new DamagedLedger(`the journal has no entries ${of}`);
  }
  if (name === null || surname === null || sequence === null) {
    throw new DamagedLedger(`the journal has entries ${of}, which has no row`);
  }
  const { entry } = sealedEntry(text, hash, hash_before);
  const { holder } = entry;
  const is = (what: string, recorded: unknown, right: unknown) => {
    if (recorded !== right) throw new DamagedLedger(`${what} ${of} is ${recorded}, and should be ${right}`);
  };
  is("the PESEL in the newest entry", entry.pesel, pesel);
  is("the number of entries in the row", Number(sequence), entry.sequence);
  is("whether the row has the holder's name", name === holder.name && surname === holder.surname, true);
  return { sequence: entry.sequence, hash, time: entry.time, ...accountAfter(entry) };
}

/** An account of a list, which always has a row. */
export function listedAccount(row: object): StoredAccount | DamagedAccount {
  try {
    return decodeAccount(row) as StoredAccount;
  } catch (error) {
    if (!(error instanceof DamagedLedger)) throw error;
    const { pesel, name, surname } = row as { pesel: number; name: string; surname: string };
    return {
      pesel: peselText(pesel) as Pesel,
      name,
      surname,
      balances: [],
      closed: false,
      blocked: false,
      damaged: true,
    };
  }
}

/** @throws DamagedLedger if the row does not hold a whole entry, or its reversal is one of another account */
export function foundEntry(row: object): FoundEntry {
  const { entry, hash, hash_before, reversed_by, reversed_for } = row as EntryFound;
  const sealed = sealedEntry(entry, hash, hash_before);
  const { id, pesel } = sealed.entry;
  if (reversed_for !== null && peselText(reversed_for) !== pesel) {
    throw new DamagedLedger(`the entry ${id} is undone by one of another account, ${reversed_by}`);
  }
  return { ...sealed, reversedBy: reversed_by ?? undefined };
}

/**
 * @param before the hash of the account's entry before it
 * @throws DamagedLedger unless it is an entry that fits to the one before it
 */
function sealedEntry(text: string, hash: string, before: string | null): SealedEntry {
  const sealed = decodeEntry({ entry: text, hash });
  const { id, pesel, sequence } = sealed.entry;
  if ((before !== null) !== sequence > 1) throw missingEntry(pesel, sequence - 1);
  if (entryHash(text, before ?? "") === hash) return sealed;
  throw new DamagedLedger(`the hash of the entry ${id} is not that of its text and the entry before it`);
}

/**
 * A page of an account's entries, newest first, of at most `limit` from before the sequence `before`.
 * @throws DamagedLedger if one is missing
 */
export function requireChain(
  pesel: Pesel,
  found: readonly FoundEntry[],
  { before, limit }: { readonly before?: number | undefined; readonly limit: number },
): readonly FoundEntry[] {
  let next = before ?? (found[0]?.entry.sequence ?? 0) + 1;
  for (const { entry } of found) {
    next -= 1;
    if (entry.sequence !== next) throw missingEntry(pesel, next);
  }
  if (found.length < limit && next > 1) throw missingEntry(pesel, next - 1);
  return found;
}

function missingEntry(pesel: Pesel, sequence: number): DamagedLedger {
  return new DamagedLedger(`entry ${sequence} of the account ${pesel} is missing`);
}

/**
 * The newest row of `accepted_table`, with how many it has (`accepted`) and the table's row.
 * @throws DamagedLedger unless both are as they were written, and there is a row for each epoch before it
 */
export function decodeInForce(row: object): TableInForce {
  const { accepted, ...newest } = row as AcceptedTableRow & RateTableRow & { accepted: number };
  const { epoch, table_id, id, hash } = newest;
  if (epoch !== accepted) {
    throw new DamagedLedger(`${accepted} rate tables have been in force, and the newest is number ${epoch}`);
  }
  if (hash !== acceptanceHash(newest)) {
    throw new DamagedLedger(`the row of the rate table in force, number ${epoch}, was changed`);
  }
  if (id === null) throw new DamagedLedger(`the rate table in force, ${table_id}, is missing`);
  const { suspended_for: reason, suspended_at: since, actor } = newest;
  const inForce = { epoch, table: decodeTable(newest) };
  if (reason === null || since === null) return inForce;
  return { ...inForce, suspension: { reason, by: actor ?? undefined, since: new Date(since) } };
}
