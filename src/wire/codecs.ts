import type * as z from "zod";
import type { Account } from "../core/account.ts";
import { type CurrencyCode, minorUnitDigits } from "../core/currency.ts";
import { type Decimal, formatDecimal, parseDecimal } from "../core/decimal.ts";
import { FxError } from "../core/errors.ts";
import type { Exchange, Quote } from "../core/exchange.ts";
import type { Entry, Receipt } from "../core/journal.ts";
import { knownDigits, type Money, minorUnitsOf } from "../core/money.ts";
import type { Pesel } from "../core/pesel.ts";
import type { LatestTable, Rate, RateOfTable, RateTable } from "../core/rates.ts";
import type { Page, Position, Statement } from "../core/service.ts";
import * as entrySchemas from "./entry-schemas.ts";
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
  return `{"name":${JSON.stringify(name)},"surname":${JSON.stringify(surname)},"pesel":"${pesel}","currencies":[${currencies}]}`;
}

/** Money as JSON. */
export function moneyText({ currency, minor }: Money): string {
  const amount = formatDecimal({ coefficient: minor, scale: knownDigits(currency) });
  return `{"symbol":"${currency}","amount":${amount}}`;
}

/** @param closed what the header `Fx-Account` says */
export function decodeAccount(body: unknown, closed = false): Account {
  return accountOf(read(schemas.account, body), closed);
}

export function encodeAccounts({ items, next }: Page<Account>): schemas.AccountsJson {
  return { users: items.map(encodeListedAccount), next: next ?? null };
}

/** Says whether an account is closed, as the four fields of `encodeAccount` do not. */
export function encodeListedAccount(account: Account): schemas.ListedAccountJson {
  return account.closed ? { ...encodeAccount(account), closed: true } : encodeAccount(account);
}

const accountsBeside = schemas.accounts.omit({ users: true });

export function decodeAccounts(body: unknown): Page<Account> {
  const { next } = read(accountsBeside, body);
  const users = readList(schemas.listedAccount, body, "users");
  return { items: users.map((user) => accountOf(user, user.closed)), next: next ?? undefined };
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

export function encodeEntry(entry: Receipt): entrySchemas.EntryJson {
  const { id, pesel, sequence, time, key = null, by, note = null, reversedBy = null } = entry;
  const head = { id, pesel, sequence, time: time.toISOString(), key, ...(by !== undefined && { by }) };
  const currencies = entry.balances.map(encodeMoney);
  const holder = () => ({ name: entry.holder?.name ?? "", surname: entry.holder?.surname ?? "" });
  switch (entry.kind) {
    case "opening":
      return { kind: "opening", ...head, ...holder(), initial: movedOf(entry.credited), currencies };
    case "exchange":
      return { kind: "exchange", ...head, ...encodeExchange(exchangedOf(entry)), reversedBy, currencies };
    case "deposit":
      return { kind: "deposit", ...head, credited: movedOf(entry.credited), note, reversedBy, currencies };
    case "withdrawal":
      return { kind: "withdrawal", ...head, debited: movedOf(entry.debited), note, reversedBy, currencies };
    case "reversal":
      return {
        kind: "reversal",
        ...head,
        reverses: entry.reverses ?? "",
        reason: note ?? "",
        debited: entry.debited === undefined ? null : encodeMoney(entry.debited),
        credited: entry.credited === undefined ? null : encodeMoney(entry.credited),
        exchange: entry.exchange === undefined ? null : encodeExchange(entry.exchange),
        currencies,
      };
    case "renaming":
      return { kind: "renaming", ...head, ...holder(), currencies };
    case "closing":
      return { kind: "closing", ...head, currencies };
  }
}

function movedOf(money: Money | undefined): schemas.MoneyJson {
  return encodeMoney(money ?? notWhole());
}

function exchangedOf({ exchange }: Entry): Exchange {
  return exchange ?? notWhole();
}

/** An entry is whole when it is made, and when it is read. */
function notWhole(): never {
  throw new RangeError("an entry lacks what its kind has");
}

export function decodeEntry(body: unknown): Receipt {
  return entryOf(read(entrySchemas.entry, body));
}

export function encodeStatement({ items, next, opening, closing }: Statement): entrySchemas.StatementJson {
  return {
    entries: items.map(encodeEntry),
    next: next ?? null,
    opening: opening?.map(encodeMoney) ?? null,
    closing: closing?.map(encodeMoney) ?? null,
  };
}

const statementBeside = entrySchemas.statement.omit({ entries: true });

export function decodeStatement(body: unknown): Statement {
  const { next, opening, closing } = read(statementBeside, body);
  const entries = readList(entrySchemas.entry, body, "entries");
  return {
    items: entries.map(entryOf),
    next: next ?? undefined,
    opening: opening?.map(decodeMoney),
    closing: closing?.map(decodeMoney),
  };
}

export function encodeRates({ table, previous, recorded, notTraded }: LatestTable): schemas.RatesJson {
  return {
    ...encodeTable(table),
    source: table.source,
    recorded,
    tradable: notTraded === undefined,
    reason: notTraded ?? null,
    previous: previous === undefined ? null : encodeTable(previous),
  };
}

export function decodeRates(body: unknown): LatestTable {
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
  rates: readonly RateOfTable[],
): schemas.RateHistoryJson {
  return {
    symbol: currency,
    rates: rates.map(({ number, effectiveDate, bid, ask }) => ({
      table: number,
      effectiveDate,
      bid: numberOf(bid),
      ask: numberOf(ask),
    })),
  };
}

export function decodeRateHistory(body: unknown): readonly RateOfTable[] {
  return read(schemas.rateHistory, body).rates.map(({ table: number, effectiveDate, bid, ask }) => ({
    number,
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
    tableId,
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

export function accountOf(
  { name, surname, pesel, currencies }: schemas.AccountJson,
  closed = false,
): Account {
  return { pesel: pesel as Pesel, name, surname, balances: currencies.map(decodeMoney), closed };
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
    tableId,
    effectiveDate,
  };
}

function entryOf(json: entrySchemas.EntryJson): Receipt {
  const entry: Receipt = {
    kind: json.kind,
    id: json.id,
    pesel: json.pesel as Pesel,
    sequence: json.sequence,
    time: new Date(json.time),
    key: json.key ?? undefined,
    by: json.by,
    holder: undefined,
    reverses: undefined,
    note: undefined,
    debited: undefined,
    credited: undefined,
    exchange: undefined,
    balances: json.currencies.map(decodeMoney),
    reversedBy: ("reversedBy" in json ? json.reversedBy : undefined) ?? undefined,
  };
  switch (json.kind) {
    case "opening": {
      const { name, surname, initial } = json;
      return { ...entry, holder: { name, surname }, credited: decodeMoney(initial) };
    }
    case "exchange": {
      const exchange = exchangeOf(json);
      return { ...entry, debited: exchange.sold, credited: exchange.bought, exchange };
    }
    case "deposit":
      return { ...entry, credited: decodeMoney(json.credited), note: json.note ?? undefined };
    case "withdrawal":
      return { ...entry, debited: decodeMoney(json.debited), note: json.note ?? undefined };
    case "reversal": {
      const { reverses, reason: note, debited, credited, exchange } = json;
      return {
        ...entry,
        reverses,
        note,
        debited: debited === null ? undefined : decodeMoney(debited),
        credited: credited === null ? undefined : decodeMoney(credited),
        exchange: exchange === null ? undefined : exchangeOf(exchange),
      };
    }
    case "renaming":
      return { ...entry, holder: { name: json.name, surname: json.surname } };
    case "closing":
      return entry;
  }
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

/** Of lists in answers, but for those of `readList`: that of rates has one for each day of ten years. */
const longestList = 5000;

/** Reads an answer, or a part of one, whose lists are short: zod keeps a report of each item that is wrong. */
export function read<T>(schema: z.ZodType<T>, body: unknown): T {
  requireShortLists(body);
  const { data, error } = schema.safeParse(body);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw notAnAnswer(`/${issue?.path.join("/")} ${issue?.message}`);
}

/** Reads a list of any length in an answer, up to the first item that is wrong. */
export function readList<T>(schema: z.ZodType<T>, body: unknown, name: string): T[] {
  const list = (Object(body) as Record<string, unknown>)[name];
  if (Array.isArray(list)) return list.map((item) => read(schema, item));
  throw notAnAnswer(`/${name} is no list`);
}

function requireShortLists(body: unknown, depth = 0): void {
  if (typeof body !== "object" || body === null || depth > 3) return;
  for (const member of Object.values(body)) {
    if (!Array.isArray(member)) requireShortLists(member, depth + 1);
    else if (member.length > longestList) throw notAnAnswer(`a list of ${member.length}`);
  }
}

/** Thrown by decoders: the answer does not come from fx, or from a compatible version. */
export function notAnAnswer(reason: string): FxError {
  return new FxError("internal", `The answer is not one that fx gives (${reason}).`);
}
