import type { Holder } from "../core/account.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { requireDecimal } from "../core/decimal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { AcceptedTable, RateOfTable, TableInForce } from "../core/rates.ts";
import { DamagedLedger } from "../ledger/damage.ts";
import { acceptanceHash, decodeEntry, decodeTable, peselText, quotationsOf } from "../ledger/rows.ts";
import { entryHash } from "../ledger/seal.ts";
import type {
  AcceptedTableRow,
  AnsweredEntry,
  FoundEntry,
  RateTableRow,
  SealedEntry,
  StoredAccount,
} from "../ledger/store.ts";

/** What there is of a PESEL: the account's row and its newest entry, each null where there is none. */
interface AccountFound {
  readonly pesel: string | number;
  readonly name: string | null;
  readonly surname: string | null;
  /** What the row says is the sequence of the newest entry. */
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

/** The row of an entry, with the entry from which its account has the name that it had then. */
interface AnswerFound extends EntryFound {
  readonly holder_entry: string | null;
  readonly holder_hash: string | null;
  readonly holder_hash_before: string | null;
}

/**
 * An account as its row and its newest entry have it; undefined if there is neither.
 * @throws DamagedLedger if they do not fit together
 */
export function decodeAccount(row: object): StoredAccount | undefined {
  const { pesel: digits, name, surname, sequence, entry: text, hash, hash_before } = row as AccountFound;
  const pesel = peselText(digits) as Pesel;
  const of = `of the account ${pesel}`;
  if (text === null || hash === null) {
    if (sequence === null) return undefined;
    throw new DamagedLedger(`the journal has no entries ${of}`);
  }
  if (name === null || surname === null || sequence === null) {
    throw new DamagedLedger(`the journal has entries ${of}, which has no row`);
  }
  const { entry } = sealedEntry(text, hash, hash_before);
  const { holder, balances, time } = entry;
  const is = (what: string, recorded: unknown, right: unknown) => {
    if (recorded !== right) throw new DamagedLedger(`${what} ${of} is ${recorded}, and should be ${right}`);
  };
  is("the PESEL in the newest entry", entry.pesel, pesel);
  is("the number of entries in the row", Number(sequence), entry.sequence);
  if (holder !== undefined) {
    const isSame = name === holder.name && surname === holder.surname;
    is("whether the row has the holder's name", isSame, true);
  }
  const { sequence: number, kind } = entry;
  return { pesel, name, surname, balances, sequence: number, hash, time, closed: kind === "closing" };
}

/** @throws DamagedLedger if the row does not hold a whole entry, or its reversal is one of another account */
export function foundEntry(row: object): FoundEntry {
  const { hash_before, reversed_by, reversed_for, entry: text, hash } = row as EntryFound;
  const sealed = sealedEntry(text, hash, hash_before);
  const { id, pesel } = sealed.entry;
  if (reversed_for !== null && peselText(reversed_for) !== pesel) {
    throw new DamagedLedger(`the entry ${id} is undone by one of another account, ${reversed_by}`);
  }
  return { ...sealed, reversedBy: reversed_by ?? undefined };
}

/** @throws DamagedLedger as `foundEntry`, or if the journal does not say whose the account was */
export function answeredEntry(row: object): AnsweredEntry {
  const { entry, reversedBy } = foundEntry(row);
  if (entry.holder !== undefined) return { entry, reversedBy, holder: entry.holder };
  const { holder_entry: text, holder_hash: hash, holder_hash_before } = row as AnswerFound;
  if (text === null || hash === null) {
    throw new DamagedLedger(`the journal does not say whose the account ${entry.pesel} was`);
  }
  const named = sealedEntry(text, hash, holder_hash_before);
  return { entry, reversedBy, holder: named.entry.holder as Holder };
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

export function missingEntry(pesel: Pesel, sequence: number): DamagedLedger {
  return new DamagedLedger(`entry ${sequence} of the account ${pesel} is missing`);
}

/**
 * The rate of one currency, without a look at the others; undefined if the table does not quote it.
 * @throws DamagedLedger if it cannot be read
 */
export function decodeRate(
  row: Pick<RateTableRow, "number" | "effective_date" | "rates">,
  currency: CurrencyCode,
): RateOfTable | undefined {
  const { number, effective_date: effectiveDate } = row;
  try {
    const quotation = quotationsOf(row)[currency];
    if (quotation === undefined) return undefined;
    const [, bid, ask] = quotation;
    return { number, effectiveDate, bid: requireDecimal(bid), ask: requireDecimal(ask) };
  } catch (cause) {
    throw new DamagedLedger(`the rate table ${number} cannot be read`, cause);
  }
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
  return { epoch, table: decodeTable(newest) };
}

/** A row of `accepted_table` with what `rate_table` says of that table. */
export function decodeAcceptedTable(row: object): AcceptedTable {
  const { epoch, id, source, number, accepted_at, overridden_by } = row as AcceptedTableRow & RateTableRow;
  return { epoch, id, source, number, at: new Date(accepted_at), overriddenBy: overridden_by ?? undefined };
}
