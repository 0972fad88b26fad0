import { randomBytes } from "node:crypto";
import type { CurrencyCode } from "../core/currency.ts";
import { formatDecimal, requireDecimal } from "../core/decimal.ts";
import { type ErrorCode, FxError } from "../core/errors.ts";
import { balancesJson, balancesOf, parseEntry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { AcceptedTable, Rate, RateTable } from "../core/rates.ts";
import { rowHash, sha256 } from "./seal.ts";
import type {
  AcceptedTableRow,
  AccountRow,
  FoundEntry,
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

export function encodeAccount(account: StoredAccount): AccountRow {
  const { pesel, name, surname, balances, sequence, hash, time, closed } = account;
  return {
    pesel,
    name,
    surname,
    balances: balancesJson(balances),
    sequence,
    hash,
    time: time.getTime(),
    closed: closed ? 1 : 0,
  };
}

/** Takes a row as the database gives it, too: see `accountRow`. */
export function decodeAccount(row: AccountRow): StoredAccount {
  const { name, surname, sequence, hash } = row;
  return {
    pesel: peselText(row.pesel) as Pesel,
    name,
    surname,
    balances: balancesOf(JSON.parse(row.balances)),
    sequence,
    hash,
    time: new Date(Number(row.time)),
    closed: Number(row.closed) === 1,
  };
}

/**
 * @throws FxError internal if the row does not hold an entry
 */
export function decodeEntry({ entry: text, hash }: Pick<JournalRow, "entry" | "hash">): SealedEntry {
  try {
    return { entry: parseEntry(text), text, hash };
  } catch (cause) {
    throw new FxError("internal", "An entry of the journal cannot be read. Run fx audit.", { cause });
  }
}

/** Takes the row of an entry with the id of its reversal, if it has one, as `reversed_by`. */
export function foundEntry(row: object): FoundEntry {
  const { reversed_by, ...journal } = row as JournalRow & { readonly reversed_by?: string | null };
  return { ...decodeEntry(journal), reversedBy: reversed_by ?? undefined };
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

/** Takes a row as the database gives it, too: see `accountRow`. */
export function decodeRefusal(row: RefusalRow): Refusal {
  return {
    kind: "refusal",
    pesel: peselText(row.pesel) as Pesel,
    key: row.idempotency_key,
    by: row.asked_by ?? undefined,
    digest: row.digest,
    code: row.code as ErrorCode,
    message: row.message,
    time: new Date(row.refused_at),
  };
}

export function encodeTable(table: RateTable): RateTableRow {
  return {
    id: table.id,
    source: table.source,
    number: table.number,
    trading_date: table.tradingDate,
    effective_date: table.effectiveDate,
    rates: JSON.stringify(
      [...table.rates.values()].map(({ currency, name, bid, ask }) => [
        currency,
        name,
        formatDecimal(bid),
        formatDecimal(ask),
      ]),
    ),
  };
}

export function decodeTable(row: RateTableRow): RateTable {
  const rates = JSON.parse(row.rates) as [string, string, string, string][];
  return {
    id: row.id,
    source: row.source,
    number: row.number,
    tradingDate: row.trading_date,
    effectiveDate: row.effective_date,
    rates: new Map(
      rates.map(([code, name, bid, ask]): [CurrencyCode, Rate] => {
        const currency = code as CurrencyCode;
        return [currency, { currency, name, bid: requireDecimal(bid), ask: requireDecimal(ask) }];
      }),
    ),
  };
}

/** Stands in for a table that the ledger names but does not have. */
export function missingTable(id: string): FxError {
  return new FxError(
    "storage-unavailable",
    `The rate table in force, ${id}, is missing. Restore the ledger from a backup.`,
  );
}

/** The secret of a new ledger: see `Store.identityKey`. */
export function newIdentityKey(): IdentityKeyRow {
  const value = randomBytes(32).toString("hex");
  return { id: 1, value, hash: sha256(value) };
}

export function missingIdentityKey(): never {
  throw new FxError(
    "storage-unavailable",
    "The key of the customers' ids is missing from the ledger. Restore the ledger from a backup.",
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

/** A row as the database gives it: a PESEL is a number there, without the zeros before it. */
export function accountRow(row: object): ListedAccountRow {
  return withPesel(row as ListedAccountRow);
}

/** A row of a table beside the journal, as the database gives it. */
export function keptRow<Row extends object>(row: Row): Row {
  return "pesel" in row ? withPesel(row as Row & { pesel: string }) : row;
}

/** A row as the database gives it, like `accountRow`. */
export function journalRow(row: object): JournalRow {
  return withPesel(row as JournalRow);
}

function withPesel<Row extends { readonly pesel: string }>(row: Row): Row {
  return { ...row, pesel: peselText(row.pesel) };
}

export function peselText(pesel: string | number): string {
  return pesel.toString().padStart(11, "0");
}

/** The accounts of a page of the journal, with PESELs as the numbers that a database keeps. */
export function rangeOf({
  after,
  through,
}: {
  after?: string | undefined;
  through?: string | undefined;
}): readonly [after: number, through: number] {
  return [Number(after ?? -1), Number(through ?? Number.MAX_SAFE_INTEGER)];
}
