import type * as z from "zod";
import type { Account } from "../core/account.ts";
import { type CurrencyCode, minorUnitDigits } from "../core/currency.ts";
import { type Decimal, formatDecimal, parseDecimal } from "../core/decimal.ts";
import { FxError } from "../core/errors.ts";
import type { Exchange, Quote } from "../core/exchange.ts";
import { type Entry, jsonString } from "../core/journal.ts";
import { knownDigits, type Money, minorUnitsOf } from "../core/money.ts";
import type { Pesel } from "../core/pesel.ts";
import type { Rate, RateTable } from "../core/rates.ts";
import type { AuditReport, Page, Position, RateOnDay, RatesInForce } from "../core/service.ts";
import * as schemas from "./schemas.ts";

/**
 * Answers in the shapes of the wire, both ways. A decoder takes what JSON.parse gave.
 * @throws FxError internal, from every decoder, if the answer is not one of fx
 */

export function encodeAccount({ name, surname, pesel, balances }: Account): schemas.AccountJson {
  return { name, surname, pesel, currencies: balances.map(encodeMoney) };
}

/** `encodeAccount` as JSON. */
export function accountText({ name, surname, pesel, balances }: Account): string {
  let currencies = "";
  for (const money of balances) currencies += `${currencies === "" ? "" : ","}${moneyText(money)}`;
  return `{"name":${jsonString(name)},"surname":${jsonString(surname)},"pesel":"${pesel}","currencies":[${currencies}]}`;
}

/** Money as JSON. */
export function moneyText({ currency, minor }: Money): string {
  const amount = formatDecimal({ coefficient: minor, scale: knownDigits(currency) });
  return `{"symbol":"${currency}","amount":${amount}}`;
}

export function decodeAccount(body: unknown): Account {
  return accountOf(read(schemas.account, body));
}

export function encodeAccounts({ items, next }: Page<Account>): schemas.AccountsJson {
  return { users: items.map(encodeAccount), next: next ?? null };
}

export function decodeAccounts(body: unknown): Page<Account> {
  const { users, next } = read(schemas.accounts, body);
  return { items: users.map(accountOf), next: next ?? undefined };
}

export function encodeQuote(quote: Quote): schemas.QuoteJson {
  const { tableId, source } = quote;
  const rate = (numberOf(quote.bid) ?? 1) / (numberOf(quote.ask) ?? 1);
  return { ...encodeExchange(quote), tableId, source, rate: Number(rate.toPrecision(6)) };
}

export function decodeQuote(body: unknown): Quote {
  const { tableId, source, ...exchange } = read(schemas.quote, body);
  return { ...exchangeOf({ ...exchange, tableId }), tableId, source };
}

export function encodeEntry(entry: Entry): schemas.EntryJson {
  const { id, pesel, sequence, time, key = null } = entry;
  const head = { id, pesel, sequence, time: time.toISOString(), key };
  const currencies = entry.balances.map(encodeMoney);
  if (entry.kind === "exchange") return { kind: "exchange", ...head, ...encodeExchange(entry), currencies };
  const { name, surname, initial } = entry;
  return { kind: "opening", ...head, name, surname, initial: encodeMoney(initial), currencies };
}

export function decodeEntry(body: unknown): Entry {
  return entryOf(read(schemas.entry, body));
}

export function encodeStatement({ items, next }: Page<Entry>): schemas.StatementJson {
  return { entries: items.map((entry) => encodeEntry(entry)), next: next ?? null };
}

export function decodeStatement(body: unknown): Page<Entry> {
  const { entries, next } = read(schemas.statement, body);
  return { items: entries.map(entryOf), next: next ?? undefined };
}

export function encodeRates({ table, previous, recorded, notTraded }: RatesInForce): schemas.RatesJson {
  return {
    ...encodeTable(table),
    source: table.source,
    recorded,
    tradable: notTraded === undefined,
    reason: notTraded ?? null,
    previous: previous === undefined ? null : encodeTable(previous),
  };
}

export function decodeRates(body: unknown): RatesInForce {
  const { source, recorded, tradable, reason, previous, ...table } = read(schemas.rates, body);
  return {
    table: tableOf(table, source),
    recorded,
    notTraded: tradable ? undefined : (reason ?? ""),
    previous: previous === null ? undefined : tableOf(previous, source),
  };
}

export function encodeRateHistory(
  currency: CurrencyCode,
  rates: readonly RateOnDay[],
): schemas.RateHistoryJson {
  return {
    symbol: currency,
    rates: rates.map(({ table, effectiveDate, bid, ask }) => ({
      table,
      effectiveDate,
      bid: numberOf(bid),
      ask: numberOf(ask),
    })),
  };
}

export function decodeRateHistory(body: unknown): readonly RateOnDay[] {
  return read(schemas.rateHistory, body).rates.map(({ table, effectiveDate, bid, ask }) => ({
    table,
    effectiveDate,
    bid: rateOf(bid),
    ask: rateOf(ask),
  }));
}

export function encodePosition({ currencies, spreadEarned }: Position): schemas.PositionJson {
  return {
    currencies: currencies.map(({ currency, customers, house }) => ({
      symbol: currency,
      customers: minorText(customers, currency),
      house: minorText(house, currency),
    })),
    spreadEarned: {
      symbol: spreadEarned.currency,
      amount: minorText(spreadEarned.minor, spreadEarned.currency),
    },
  };
}

export function decodePosition(body: unknown): Position {
  const { currencies, spreadEarned } = read(schemas.position, body);
  return {
    currencies: currencies.map(({ symbol, customers, house }) => ({
      currency: symbol as CurrencyCode,
      customers: moneyOf(symbol, customers).minor,
      house: moneyOf(symbol, house).minor,
    })),
    spreadEarned: moneyOf(spreadEarned.symbol, spreadEarned.amount),
  };
}

export function encodeAudit({ accounts, entries, findings, findingsTotal }: AuditReport): schemas.AuditJson {
  return {
    ok: findingsTotal === 0,
    accounts,
    entries,
    findings: findings.map(({ entry = null, id = null, account, ...figures }) => ({
      account,
      entry,
      id,
      ...figures,
    })),
    findingsTotal,
  };
}

export function decodeAudit(body: unknown): AuditReport {
  const { accounts, entries, findings, findingsTotal } = read(schemas.audit, body);
  return {
    accounts,
    entries,
    findings: findings.map((finding) => ({
      ...finding,
      entry: finding.entry ?? undefined,
      id: finding.id ?? undefined,
    })),
    findingsTotal,
  };
}

/** Money as a JSON number, exact because no balance has more than 15 digits. */
function encodeMoney({ currency, minor }: Money): schemas.MoneyJson {
  return { symbol: currency, amount: Number(minor) / 10 ** knownDigits(currency) };
}

function encodeExchange({ side, sold, bought, bid, ask, table, tableId, effectiveDate }: Exchange) {
  return {
    side,
    sold: encodeMoney(sold),
    bought: encodeMoney(bought),
    bid: numberOf(bid) ?? null,
    ask: numberOf(ask) ?? null,
    table,
    tableId: tableId ?? null,
    effectiveDate,
  };
}

function encodeTable({ number, id, tradingDate, effectiveDate, rates }: RateTable) {
  return {
    table: number,
    tableId: id,
    tradingDate,
    effectiveDate,
    rates: [...rates.values()].map(({ currency, name, bid, ask }) => ({
      symbol: currency,
      name,
      bid: numberOf(bid),
      ask: numberOf(ask),
    })),
  };
}

/** A rate as the JSON number whose shortest text it is. */
function numberOf(decimal: Decimal): number;
function numberOf(decimal: Decimal | undefined): number | undefined;
function numberOf(decimal: Decimal | undefined): number | undefined {
  return decimal === undefined ? undefined : Number(formatDecimal(decimal));
}

function minorText(minor: bigint, currency: CurrencyCode): string {
  const digits = knownDigits(currency);
  return formatDecimal({ coefficient: minor, scale: digits }, digits);
}

export function accountOf({ name, surname, pesel, currencies }: schemas.AccountJson): Account {
  return { pesel: pesel as Pesel, name, surname, balances: currencies.map(decodeMoney) };
}

function exchangeOf(exchange: schemas.ExchangeJson): Exchange {
  const { side, sold, bought, bid, ask, table, tableId, effectiveDate } = exchange;
  return {
    side,
    sold: decodeMoney(sold),
    bought: decodeMoney(bought),
    bid: bid === null ? undefined : rateOf(bid),
    ask: ask === null ? undefined : rateOf(ask),
    table,
    tableId: tableId ?? undefined,
    effectiveDate,
  };
}

function entryOf(entry: schemas.EntryJson): Entry {
  const head = {
    id: entry.id,
    pesel: entry.pesel as Pesel,
    sequence: entry.sequence,
    time: new Date(entry.time),
    key: entry.key ?? undefined,
    balances: entry.currencies.map(decodeMoney),
  };
  if (entry.kind === "exchange") return { kind: "exchange", ...head, ...exchangeOf(entry) };
  const { name, surname, initial } = entry;
  return { kind: "opening", ...head, name, surname, initial: decodeMoney(initial) };
}

function tableOf(table: NonNullable<schemas.RatesJson["previous"]>, source: string): RateTable {
  return {
    id: table.tableId,
    source,
    number: table.table,
    tradingDate: table.tradingDate,
    effectiveDate: table.effectiveDate,
    rates: new Map(
      table.rates.map(({ symbol, name, bid, ask }): [CurrencyCode, Rate] => {
        const currency = symbol as CurrencyCode;
        return [currency, { currency, name, bid: rateOf(bid), ask: rateOf(ask) }];
      }),
    ),
  };
}

export function decodeMoney({ symbol, amount }: schemas.MoneyJson): Money {
  return moneyOf(symbol, String(amount));
}

function moneyOf(symbol: string, amount: string): Money {
  const currency = symbol as CurrencyCode;
  const digits = minorUnitDigits(currency);
  const decimal = parseDecimal(amount);
  const minor = decimal && digits !== undefined ? minorUnitsOf(decimal, digits) : undefined;
  if (minor === undefined) throw notAnAnswer(`${amount} ${symbol} is no amount of a known currency`);
  return { currency, minor };
}

function rateOf(number: number): Decimal {
  const decimal = parseDecimal(String(number));
  if (decimal === undefined) throw notAnAnswer("a rate is no decimal");
  return decimal;
}

export function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const { data, error } = schema.safeParse(body);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw notAnAnswer(`/${issue?.path.join("/")} ${issue?.message}`);
}

/** Thrown by decoders: the answer does not come from fx, or from a compatible version. */
export function notAnAnswer(reason: string): FxError {
  return new FxError("internal", `The answer is not one that fx gives (${reason}).`);
}
