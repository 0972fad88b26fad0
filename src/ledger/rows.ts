import { randomBytes } from "node:crypto";
import type { CurrencyCode } from "../core/currency.ts";
import { formatDecimal, requireDecimal } from "../core/decimal.ts";
import { parseEntry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { identifyTable, type Rate, type RateTable } from "../core/rates.ts";
import { DamagedLedger } from "./damage.ts";
import { isFinalCode } from "./refusal.ts";
import { rowHash, sha256 } from "./seal.ts";
import type {
  AcceptedTableRow,
  IdentityKeyRow,
  JournalRow,
  RateTableRow,
  Refusal,
  RefusalRow,
  SealedEntry,
  Writes,
} from "./store.ts";

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
export function quotationsOf({
  rates,
}: Pick<RateTableRow, "rates">): Record<string, [string, string, string]> {
  return JSON.parse(rates);
}

/** The secret of a new ledger: see `identityKeyOf`. */
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

/** A row as the database gives it, where a PESEL is a number, without the zeros before it. */
export function portRow<Row>(row: object): Row {
  if (!("pesel" in row)) return row as Row;
  return { ...row, pesel: peselText(row.pesel as number) } as Row;
}

export function peselText(pesel: string | number): string {
  return pesel.toString().padStart(11, "0");
}
