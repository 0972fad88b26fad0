import { randomBytes } from "node:crypto";
import type { Holder } from "../core/account.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { formatDecimal, requireDecimal } from "../core/decimal.ts";
import { parseEntry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import {
  type AcceptedTable,
  identifyTable,
  type Rate,
  type RateOfTable,
  type RateTable,
  type TableInForce,
} from "../core/rates.ts";
import { DamagedLedger } from "./damage.ts";
import { isFinalCode } from "./refusal.ts";
import { entryHash, rowHash, sha256 } from "./seal.ts";
import type {
  AcceptedTableRow,
  AccountRow,
  AnsweredEntry,
  AnsweredRow,
  FoundEntry,
  FoundRow,
  IdentityKeyRow,
  JournalRow,
  ListedAccountRow,
  RateTableRow,
  Refusal,
  RefusalRow,
  SealedEntry,
  StoredAccount,
  Writes,
} from "./store.ts";

/**
 * An account as its row and its newest entry have it; undefined if there is neither. Takes a row as the database gives
 * it, too: see `portRow`.
 * @throws DamagedLedger if they do not fit together
 */
export function decodeAccount(row: AccountRow): StoredAccount | undefined {
  const { name, surname, sequence, entry: text, hash, hash_before } = row;
  const pesel = peselText(row.pesel) as Pesel;
  const of = `of the account ${pesel}`;
  if (text === null || hash === null) {
    if (sequence === null) return undefined;
    throw new DamagedLedger(`the journal has no entries ${of}`);
  }
  if (name === null || surname === null || sequence === null) {
    throw new DamagedLedger(`the journal has entries ${of}, which has no row`);
  }
  const sealed = decodeEntry({ entry: text, hash });
  const { entry } = sealed;
  const { holder, balances, time } = entry;
  const is = (what: string, recorded: unknown, right: unknown) => {
    if (recorded !== right) throw new DamagedLedger(`${what} ${of} is ${recorded}, and should be ${right}`);
  };
  is("the PESEL in the newest entry", entry.pesel, pesel);
  is("the number of entries in the row", Number(sequence), entry.sequence);
  requireSealed(sealed, hash_before);
  if (holder !== undefined) {
    const isSame = name === holder.name && surname === holder.surname;
    is("whether the row has the holder's name", isSame, true);
  }
  const { sequence: number, kind } = entry;
  return { pesel, name, surname, balances, sequence: number, hash, time, closed: kind === "closing" };
}

/** @throws DamagedLedger as `decodeAccount`, which gives an account for each row that is there */
export function decodeListed(row: ListedAccountRow): StoredAccount {
  return decodeAccount(row) as StoredAccount;
}

/**
 * @throws DamagedLedger if the row does not hold an entry
 */
export function decodeEntry({ entry: text, hash }: Pick<JournalRow, "entry" | "hash">): SealedEntry {
  try {
    return { entry: parseEntry(text), text, hash };
  } catch (cause) {
    const [, id = "without an id"] = /^\{"id":"([\da-f-]{36})"/.exec(text) ?? [];
    throw new DamagedLedger(`the entry ${id} cannot be read`, cause);
  }
}

/** @throws DamagedLedger if the row does not hold a whole entry, or its reversal is one of another account */
export function foundEntry(row: object): FoundEntry {
  const { hash_before, reversed_by, reversed_for, entry: text, hash } = row as FoundRow;
  const sealed = decodeEntry({ entry: text, hash });
  const { id, pesel } = sealed.entry;
  requireSealed(sealed, hash_before);
  if (reversed_for !== null && peselText(reversed_for) !== pesel) {
    throw new DamagedLedger(`the entry ${id} is undone by one of another account, ${reversed_by}`);
  }
  return { ...sealed, reversedBy: reversed_by ?? undefined };
}

/** @throws DamagedLedger as `foundEntry`, or if the journal does not say whose the account was */
export function answeredEntry(row: object): AnsweredEntry {
  const { entry, reversedBy } = foundEntry(row);
  if (entry.holder !== undefined) return { entry, reversedBy, holder: entry.holder };
  const { holder_entry: text, holder_hash: hash, holder_hash_before } = row as AnsweredRow;
  if (text === null || hash === null) {
    throw new DamagedLedger(`the journal does not say whose the account ${entry.pesel} was`);
  }
  const named = decodeEntry({ entry: text, hash });
  requireSealed(named, holder_hash_before);
  return { entry, reversedBy, holder: named.entry.holder as Holder };
}

/** @param before the hash of the account's entry before it */
function requireSealed({ entry, text, hash }: SealedEntry, before: string | null): void {
  const { id, pesel, sequence } = entry;
  if ((before !== null) !== sequence > 1) throw missingEntry(pesel, sequence - 1);
  if (entryHash(text, before ?? "") === hash) return;
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

export function encodeRefusal({ pesel, key, by, digest, code, message, time }: Refusal): RefusalRow {
  const row = {
    pesel,
    idempotency_key: key,
    digest,
    code,
    message,
    refused_at: time.getTime(),
    asked_by: by ?? null,
  };
  return { ...row, hash: refusalHash(row) };
}

export function refusalHash(row: Omit<RefusalRow, "hash">): string {
  const { pesel, idempotency_key, digest, code, message, refused_at, asked_by } = row;
  return rowHash(peselText(pesel), idempotency_key, digest, code, message, refused_at, asked_by);
}

/**
 * Takes a row as the database gives it, too: see `portRow`.
 * @throws DamagedLedger if the row does not hold a refusal
 */
export function decodeRefusal(row: RefusalRow): Refusal {
  const { idempotency_key: key, asked_by, digest, code, message } = row;
  const pesel = peselText(row.pesel) as Pesel;
  const time = new Date(Number(row.refused_at));
  if (row.hash !== refusalHash(row) || !isFinalCode(code)) {
    throw new DamagedLedger(`a refusal kept for the account ${pesel} was changed`);
  }
  return { pesel, key, by: asked_by ?? undefined, digest, code, message, time };
}

export function encodeTable(table: RateTable): RateTableRow {
  return {
    id: table.id,
    source: table.source,
    number: table.number,
    trading_date: table.tradingDate,
    effective_date: table.effectiveDate,
    rates: JSON.stringify(
      Object.fromEntries(
        [...table.rates.values()].map(({ currency, name, bid, ask }) => [
          currency,
          [name, formatDecimal(bid), formatDecimal(ask)],
        ]),
      ),
    ),
  };
}

/** @throws DamagedLedger unless the content is that for which the id stands */
export function decodeTable(row: RateTableRow): RateTable {
  let table: RateTable;
  try {
    table = readTable(row);
  } catch (cause) {
    throw new DamagedLedger(`the rate table ${row.id} cannot be read`, cause);
  }
  if (table.id === row.id) return table;
  throw new DamagedLedger(`the content of the rate table ${row.id} is that of ${table.id}`);
}

/**
 * The content of a row as a table, which has the id of its content.
 * @throws Error if it is none
 */
export function readTable(row: RateTableRow): RateTable {
  const { number, source, trading_date: tradingDate, effective_date: effectiveDate } = row;
  const rates = new Map(
    Object.entries(quotationsOf(row)).map(([code, [name, bid, ask]]): [CurrencyCode, Rate] => {
      const currency = code as CurrencyCode;
      return [currency, { currency, name, bid: requireDecimal(bid), ask: requireDecimal(ask) }];
    }),
  );
  return identifyTable({ number, tradingDate, effectiveDate, rates }, source, sha256);
}

/** `{"USD":["dolar amerykański","3.9","4.0"],...}`: name, bid and ask by currency. */
function quotationsOf({ rates }: Pick<RateTableRow, "rates">): Record<string, [string, string, string]> {
  return JSON.parse(rates);
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
 * @throws DamagedLedger if the table is missing, or a row is not as it was written
 */
export function decodeInForce(row: object): TableInForce {
  const { accepted, ...inForce } = row as AcceptedTableRow & RateTableRow & { accepted: number };
  requireAcceptance(inForce, accepted);
  if (inForce.id === null) throw missingTable(inForce.table_id);
  return { epoch: inForce.epoch, table: decodeTable(inForce) };
}

/** Stands in for a table that the ledger names but does not have. */
export function missingTable(id: string): DamagedLedger {
  return new DamagedLedger(`the rate table in force, ${id}, is missing`);
}

/** The secret of a new ledger: see `identityKeyOf`. */
export function newIdentityKey(): IdentityKeyRow {
  const value = randomBytes(32).toString("hex");
  return { id: 1, value, hash: sha256(value) };
}

/**
 * @param newest row of the table `accepted_table`
 * @param count of its rows
 * @throws DamagedLedger unless it is as it was written, and there is one for each epoch before it
 */
export function requireAcceptance(newest: AcceptedTableRow, count: number): void {
  if (newest.epoch !== count) {
    throw new DamagedLedger(
      `${count} rate tables have been in force, and the newest is number ${newest.epoch}`,
    );
  }
  if (newest.hash === acceptanceHash(newest)) return;
  throw new DamagedLedger(`the row of the rate table in force, number ${newest.epoch}, was changed`);
}

/** @throws DamagedLedger if there is none, or it was changed */
export function decodeIdentityKey(row: Partial<IdentityKeyRow> | undefined): string {
  const { value, hash } = row ?? {};
  if (value !== undefined && hash === sha256(value)) return value;
  throw new DamagedLedger(
    `the key of the customers' ids ${row === undefined ? "is missing" : "was changed"}`,
  );
}

export function encodeAcceptance(
  epoch: number,
  { table, at, overriddenBy }: NonNullable<Writes["accepted"]>,
): AcceptedTableRow {
  const row = {
    epoch,
    table_id: table.id,
    accepted_at: at.getTime(),
    overridden_by: overriddenBy ?? null,
  };
  return { ...row, hash: acceptanceHash(row) };
}

export function acceptanceHash(row: Omit<AcceptedTableRow, "hash">): string {
  return rowHash(row.epoch, row.table_id, row.accepted_at, row.overridden_by);
}

/** Takes the row with what `rate_table` says of that table. */
export function decodeAcceptedTable(row: AcceptedTableRow & RateTableRow): AcceptedTable {
  const { epoch, id, source, number, accepted_at, overridden_by } = row;
  return { epoch, id, source, number, at: new Date(accepted_at), overriddenBy: overridden_by ?? undefined };
}

/** A row as the database gives it, where a PESEL is a number, without the zeros before it. */
export function portRow<Row>(row: object): Row {
  if (!("pesel" in row)) return row as Row;
  return { ...row, pesel: peselText(row.pesel as number) } as Row;
}

export function peselText(pesel: string | number): string {
  return pesel.toString().padStart(11, "0");
}
