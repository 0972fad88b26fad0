import { createHash, randomBytes } from "node:crypto";
import { type CurrencyCode, minorUnitDigits } from "../core/currency.ts";
import { isDate } from "../core/date.ts";
import { compareDecimals, formatDecimal, requireDecimal } from "../core/decimal.ts";
import { type ErrorCode, FxError } from "../core/errors.ts";
import { type Entry, entryText, parseEntry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { chainedHash } from "../core/proof.ts";
import { identifyTable, type Rate, type RateTable, type Suspension } from "../core/rates.ts";
import type { KeptRefusal } from "../core/service.ts";

/** The rows of a ledger's tables, their codecs, and the hashes that show an edit. Times are in milliseconds since 1970. */

/** The tables as an audit reads them. */
export interface AuditedRows {
  readonly account: AccountRow;
  readonly journal: JournalRow;
  readonly accepted_table: AcceptedTableRow;
  readonly identity_key: IdentityKeyRow;
  readonly rate_table: RateTableRow;
  readonly refusal: RefusalRow & { readonly position: number };
}

export type AuditedRow<Name extends keyof AuditedRows> = AuditedRows[Name] & {
  /** The primary key. */
  readonly place: string | number;
  /** The names of the indexes that do not find the row, or its words, each after a space. */
  readonly lacking: string;
};

/**
 * A contradiction in the ledger: it was changed by hand, or by its disk. Requests that need the damaged part fail with
 * this, and nothing is written for them.
 */
export class DamagedLedger extends FxError {
  /** @param what the fault, as a clause. PESELs in it are masked. */
  constructor(what: string, cause?: unknown) {
    super(
      "storage-unavailable",
      `The ledger is damaged: ${what}. Nothing was changed. Run fx audit to see all of it, and restore a backup.`,
      { cause },
    );
  }
}

/** The result of reading, or undefined if that is damaged: for callers where another finding tells of the damage. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof DamagedLedger) return undefined;
    throw error;
  }
}

/** The failure where entries that were there are not, because another server answers than before. */
export function lagging(): FxError {
  return new FxError(
    "storage-unavailable",
    "The database lacks entries that it had before: the server that answers is a standby that lags, or a copy. " +
      "Nothing was changed. Try again in a moment.",
    { retryAfterSeconds: 1 },
  );
}

/** The SHA-256 of a text in UTF-8, in hexadecimal. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The hash of a row whose columns nothing else in the ledger repeats. */
function rowHash(...columns: readonly (string | number | null)[]): string {
  return sha256(JSON.stringify(columns));
}

/** Puts the PESEL of a database's row back into text: the database keeps a number, without leading zeros. */
export function portRow<Row>(row: object): Row {
  if ("pesel" in row) row.pesel = peselText(row.pesel as number);
  return row as Row;
}

export function peselText(pesel: string | number): string {
  return pesel.toString().padStart(11, "0");
}

export interface AccountRow {
  readonly pesel: string;
  readonly name: string;
  readonly surname: string;
  /** The sequence of the newest entry. */
  readonly sequence: number;
  /** The rows of `name_word`: words in any order, with spaces between. */
  readonly words: string;
}

export interface JournalRow {
  readonly position: number;
  readonly pesel: string;
  readonly sequence: number;
  readonly entry: string;
  readonly hash: string;
}

/** An entry with its text, which is what is kept of it, and its hash. */
export interface SealedEntry {
  readonly entry: Entry;
  readonly text: string;
  readonly hash: string;
}

export function sealEntry(entry: Entry, previousHash: string): SealedEntry {
  const text = entryText(entry);
  return { entry, text, hash: entryHash(text, previousHash) };
}

/**
 * The hash of an entry in its account's chain. Editing an entry breaks its hash, and editing the hash breaks the next
 * entry's.
 */
export function entryHash(text: string, previousHash: string): string {
  return chainedHash(sha256(text), previousHash, sha256);
}

/** @throws DamagedLedger if the row does not hold an entry. Its hash is not checked. */
export function decodeEntry({ entry: text, hash }: Pick<JournalRow, "entry" | "hash">): SealedEntry {
  try {
    return { entry: parseEntry(text), text, hash };
  } catch (cause) {
    const [, id = "without an id"] = /^\{"id":"([\da-f-]{36})"/.exec(text) ?? [];
    throw new DamagedLedger(`the entry ${id} cannot be read`, cause);
  }
}

/** The refusal of a request with an idempotency key: its answer for as long as this is kept. */
export interface Refusal extends KeptRefusal {
  readonly pesel: Pesel;
  /** The hash of the request. */
  readonly digest: string;
}

export interface RefusalRow {
  readonly pesel: string;
  readonly idempotency_key: string;
  readonly digest: string;
  readonly code: string;
  readonly message: string;
  readonly refused_at: number;
  readonly asked_by: string | null;
  readonly hash: string;
}

export function encodeRefusal({ pesel, key, by, digest, code, message, time }: Refusal): RefusalRow {
  const request = { pesel, idempotency_key: key, asked_by: by ?? null, digest };
  const row = { ...request, code, message, refused_at: time.getTime() };
  return { ...row, hash: refusalHash(row) };
}

export function refusalHash(row: Omit<RefusalRow, "hash">): string {
  const { pesel, idempotency_key, digest, code, message, refused_at, asked_by } = row;
  return rowHash(peselText(pesel), idempotency_key, digest, code, message, refused_at, asked_by);
}

/**
 * Also takes a row as the database has it: see `portRow`.
 * @throws DamagedLedger if the row was changed
 */
export function decodeRefusal(row: RefusalRow): Refusal {
  const { idempotency_key: key, asked_by, digest, message } = row;
  const pesel = peselText(row.pesel) as Pesel;
  if (row.hash !== refusalHash(row)) {
    throw new DamagedLedger(`a refusal kept for the account ${pesel} was changed`);
  }
  const [code, time] = [row.code as ErrorCode, new Date(Number(row.refused_at))];
  return { pesel, key, by: asked_by ?? undefined, digest, code, message, time };
}

export interface RateTableRow {
  readonly id: string;
  readonly source: string;
  readonly number: string;
  readonly trading_date: string;
  readonly effective_date: string;
  /** `{"USD":["dolar amerykański","3.9","4.0"],...}`: name, bid and ask by currency. */
  readonly rates: string;
}

export function encodeTable(table: RateTable): RateTableRow {
  const { id, source, number, tradingDate: trading_date, effectiveDate: effective_date } = table;
  const quotations = [...table.rates.values()].map(({ currency, name, bid, ask }) => [
    currency,
    [name, formatDecimal(bid), formatDecimal(ask)],
  ]);
  const rates = JSON.stringify(Object.fromEntries(quotations));
  return { id, source, number, trading_date, effective_date, rates };
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
 * The content of a row as a rate table, with the id of that content.
 * @throws Error if the content is not a rate table
 */
export function readTable(row: RateTableRow): RateTable {
  const { number, source, trading_date: tradingDate, effective_date: effectiveDate } = row;
  for (const date of [tradingDate, effectiveDate]) {
    if (!isDate(date)) throw new RangeError("the dates of a rate table are days of a calendar");
  }
  const quotations: Record<string, [name: string, bid: string, ask: string]> = JSON.parse(row.rates);
  const rates = new Map(
    Object.entries(quotations).map(([code, [name, bid, ask]]): [CurrencyCode, Rate] => {
      const currency = code as CurrencyCode;
      const rate = { currency, name, bid: requireDecimal(bid), ask: requireDecimal(ask) };
      requireRate(rate);
      return [currency, rate];
    }),
  );
  return identifyTable({ number, tradingDate, effectiveDate, rates }, source, sha256);
}

/** @throws RangeError unless a published table could have this rate */
function requireRate({ currency, name, bid, ask }: Rate): void {
  const isQuoted = bid.coefficient > 0n && compareDecimals(bid, ask) < 0;
  if (isQuoted && typeof name === "string" && minorUnitDigits(currency) !== undefined) return;
  throw new RangeError("a rate has a currency that fx keeps, a name, and a bid above 0 and below its ask");
}

export interface AcceptedTableRow {
  readonly epoch: number;
  readonly table_id: string;
  readonly accepted_at: number;
  readonly overridden_by: string | null;
  readonly suspended_for: string | null;
  readonly suspended_at: number | null;
  readonly actor: string | null;
  readonly hash: string;
}

/** A row of the record of epochs, without the number of its epoch. */
export interface NewEpoch {
  readonly at: Date;
  readonly table: RateTable;
  /** The operator who let the table through. */
  readonly overriddenBy?: string | undefined;
  readonly suspension?: Suspension | undefined;
  /** The name of the token with which trading was resumed. */
  readonly resumedBy?: string | undefined;
}

export function encodeAcceptance(
  epoch: number,
  { table, at, overriddenBy, suspension, resumedBy }: NewEpoch,
): AcceptedTableRow {
  const row = {
    epoch,
    table_id: table.id,
    accepted_at: at.getTime(),
    overridden_by: overriddenBy ?? null,
    suspended_for: suspension?.reason ?? null,
    suspended_at: suspension?.since.getTime() ?? null,
    actor: suspension?.by ?? resumedBy ?? null,
  };
  return { ...row, hash: acceptanceHash(row) };
}

export function acceptanceHash(row: Omit<AcceptedTableRow, "hash">): string {
  const { epoch, table_id, accepted_at, overridden_by, suspended_for, suspended_at, actor } = row;
  return rowHash(epoch, table_id, accepted_at, overridden_by, suspended_for, suspended_at, actor);
}

export interface IdentityKeyRow {
  readonly id: number;
  readonly value: string;
  readonly hash: string;
}

/** The secret of a new ledger: see `customerId`. */
export function newIdentityKey(): IdentityKeyRow {
  const value = randomBytes(32).toString("hex");
  return { id: 1, value, hash: sha256(value) };
}

/** @throws DamagedLedger if there is none, or it was changed */
export function decodeIdentityKey(row: Partial<IdentityKeyRow> | undefined): string {
  const { value, hash } = row ?? {};
  if (value !== undefined && hash === sha256(value)) return value;
  throw new DamagedLedger(
    `the key of the customers' ids ${row === undefined ? "is missing" : "was changed"}`,
  );
}
