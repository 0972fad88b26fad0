import { createHash } from "node:crypto";
import type { Account } from "../core/account.ts";
import { type CurrencyCode, compareCurrencies, pln } from "../core/currency.ts";
import { addDays, type CalendarDate, startOfDay, warsawDate } from "../core/date.ts";
import { formatDecimal } from "../core/decimal.ts";
import type { EntryKind, Receipt } from "../core/journal.ts";
import { decimalOfMoney, knownDigits, type Money } from "../core/money.ts";
import type { Statement, StatementRequest } from "../core/service.ts";
import { visible } from "../core/visible.ts";

/**
 * A kind of entry as ISO 20022 codes bank transactions: domain, family and sub-family, where there are such codes.
 * Undefined for kinds that move no money of the account.
 */
const bankCodes: Readonly<Record<EntryKind, readonly [string, string, string] | "proprietary" | undefined>> =
  {
    opening: ["PMNT", "CNTR", "CDPT"],
    deposit: ["PMNT", "CNTR", "CDPT"],
    withdrawal: ["PMNT", "CNTR", "CWDL"],
    exchange: ["FORX", "SPOT", "OTHR"],
    reversal: "proprietary",
    renaming: undefined,
    closing: undefined,
    block: undefined,
    unblock: undefined,
  };

/** No entry is older. */
const earliest: CalendarDate = "1970-01-01";

export interface StatementSource {
  readonly account: Account;
  readonly period: Pick<StatementRequest, "from" | "to">;
  readonly now: Date;
  readonly read: (page: StatementRequest) => Promise<Statement>;
}

/** The result of a pass over all entries, made before the first of them is written. */
interface Survey {
  readonly first: Statement;
  /** The cursors of the pages after the first, newest entries first. */
  readonly cursors: readonly string[];
  readonly totals: ReadonlyMap<CurrencyCode, Total>;
  readonly period: { readonly from: CalendarDate; readonly to: CalendarDate };
}

interface Total {
  readonly credits: Sum;
  readonly debits: Sum;
}

interface Sum {
  count: number;
  minor: bigint;
}

type ReadPage = (cursor: string) => Promise<Statement>;

/**
 * A statement as camt.053.001.08 of ISO 20022: a `Stmt` for each currency, with balances before and after the period and
 * the entries in between, oldest first. The pages are read once for the totals, and once more for each currency.
 */
export async function* camt053(
  source: StatementSource,
  first: Statement,
  page: ReadPage,
): AsyncGenerator<string> {
  const survey = await surveyOf(source, first, page);
  const { opening = [], closing = [] } = first;
  const held = new Set([...opening, ...closing].map(({ currency }) => currency));
  const currencies = held.size === 0 ? [pln] : [...held].sort(compareCurrencies);
  const id = reference(crypto.randomUUID());
  const created = leaf("CreDtTm", source.now.toISOString());
  yield '<?xml version="1.0" encoding="UTF-8"?>\n' +
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">\n<BkToCstmrStmt>\n' +
    `${tag("GrpHdr", leaf("MsgId", id), created)}\n`;
  for (const currency of currencies) {
    yield `<Stmt>\n${leaf("Id", statementId(source, survey, currency))}${created}${statementHead(source, survey, currency)}`;
    for await (const items of pagesOf(survey, page)) {
      yield items.map((receipt) => entriesIn(receipt, currency)).join("");
    }
    yield "</Stmt>\n";
  }
  yield "</BkToCstmrStmt>\n</Document>\n";
}

/** Equal for equal statements, whenever they are made. */
function statementId(
  { account }: StatementSource,
  { first, period }: Survey,
  currency: CurrencyCode,
): string {
  const of = [account.pesel, currency, period.from, period.to, first.items[0]?.id];
  return createHash("sha256").update(of.join()).digest("hex").slice(0, 32);
}

async function surveyOf({ period, now }: StatementSource, first: Statement, page: ReadPage): Promise<Survey> {
  const cursors: string[] = [];
  const totals = new Map<CurrencyCode, Total>();
  let oldest: Date | undefined;
  for (let { items, next } = first; ; { items, next } = await page(next)) {
    for (const receipt of items) tally(totals, receipt);
    oldest = items.at(-1)?.time ?? oldest;
    if (next === undefined) break;
    cursors.push(next);
  }
  const today = warsawDate(now);
  const to = period.to === undefined || period.to > today ? today : period.to;
  const asked = period.from ?? (oldest === undefined ? to : warsawDate(oldest));
  const from = asked < earliest ? earliest : asked;
  return { first, cursors, totals, period: { from, to: to < from ? from : to } };
}

function tally(totals: Map<CurrencyCode, Total>, { debited, credited }: Receipt): void {
  const add = (side: keyof Total, money: Money | undefined) => {
    if (money === undefined) return;
    const total = totals.get(money.currency) ?? { credits: none(), debits: none() };
    totals.set(money.currency, total);
    total[side].count += 1;
    total[side].minor += money.minor;
  };
  add("credits", credited);
  add("debits", debited);
}

function none(): Sum {
  return { count: 0, minor: 0n };
}

/** The pages of entries, oldest first. */
async function* pagesOf({ cursors, first }: Survey, page: ReadPage): AsyncGenerator<readonly Receipt[]> {
  for (const cursor of cursors.toReversed()) yield (await page(cursor)).items.toReversed();
  yield first.items.toReversed();
}

function statementHead({ account, now }: StatementSource, survey: Survey, currency: CurrencyCode): string {
  const { from, to } = survey.period;
  const end = to === warsawDate(now) ? now : new Date(startOfDay(addDays(to, 1)).getTime() - 1);
  const { opening = [], closing = [] } = survey.first;
  const { credits = none(), debits = none() } = survey.totals.get(currency) ?? {};
  const parts = [
    tag("FrToDt", leaf("FrDtTm", startOfDay(from).toISOString()), leaf("ToDtTm", end.toISOString())),
    accountOf(account, currency),
    balance("OPBD", from, opening, currency),
    balance("CLBD", to, closing, currency),
    tag(
      "TxsSummry",
      tag("TtlNtries", leaf("NbOfNtries", String(credits.count + debits.count))),
      totalOf("TtlCdtNtries", credits, currency),
      totalOf("TtlDbtNtries", debits, currency),
    ),
  ];
  return `${parts.join("\n")}\n`;
}

function accountOf({ pesel, name, surname }: Account, currency: CurrencyCode): string {
  const id = tag("Id", tag("Othr", leaf("Id", pesel), tag("SchmeNm", leaf("Prtry", "PESEL"))));
  return tag("Acct", id, leaf("Ccy", currency), tag("Ownr", leaf("Nm", `${name} ${surname}`, 140)));
}

function balance(
  code: "OPBD" | "CLBD",
  date: CalendarDate,
  balances: readonly Money[],
  currency: CurrencyCode,
): string {
  const money = balances.find((each) => each.currency === currency) ?? { currency, minor: 0n };
  const type = tag("Tp", tag("CdOrPrtry", leaf("Cd", code)));
  return tag("Bal", type, amount(money), leaf("CdtDbtInd", "CRDT"), tag("Dt", leaf("Dt", date)));
}

function totalOf(name: string, { count, minor }: Sum, currency: CurrencyCode): string {
  return tag(name, leaf("NbOfNtries", String(count)), leaf("Sum", digits({ currency, minor })));
}

/** The entry of a receipt in one currency, or nothing. */
function entriesIn(receipt: Receipt, currency: CurrencyCode): string {
  const { debited, credited } = receipt;
  const code = bankCodes[receipt.kind];
  if (code === undefined) return "";
  if (debited?.currency === currency) return entryOf(receipt, code, debited, "DBIT");
  if (credited?.currency === currency) return entryOf(receipt, code, credited, "CRDT");
  return "";
}

function entryOf(
  receipt: Receipt,
  code: readonly [string, string, string] | "proprietary",
  money: Money,
  direction: "CRDT" | "DBIT",
): string {
  const { id, kind, time, reverses, note } = receipt;
  const date = leaf("Dt", warsawDate(time));
  const moved = [amount(money), leaf("CdtDbtInd", direction)];
  const undone = reverses === undefined ? "" : `, reverses ${reverses}`;
  const described = `${kind}, receipt ${id}${undone}${note === undefined ? "" : `: ${note}`}`;
  return `${tag(
    "Ntry",
    ...moved,
    reverses === undefined ? "" : leaf("RvslInd", "true"),
    tag("Sts", leaf("Cd", "BOOK")),
    tag("BookgDt", date),
    tag("ValDt", date),
    leaf("AcctSvcrRef", reference(id)),
    tag("BkTxCd", domain(code), tag("Prtry", leaf("Cd", kind), leaf("Issr", "fx"))),
    tag("NtryDtls", tag("TxDtls", references(receipt), ...moved, countervalue(receipt, money), madeAt(time))),
    leaf("AddtlNtryInf", described, 500),
  )}\n`;
}

function domain(code: readonly [string, string, string] | "proprietary"): string {
  if (code === "proprietary") return "";
  const [name, family, subFamily] = code;
  return tag("Domn", leaf("Cd", name), tag("Fmly", leaf("Cd", family), leaf("SubFmlyCd", subFamily)));
}

function references({ id, reverses }: Receipt): string {
  const undone =
    reverses === undefined ? "" : tag("Prtry", leaf("Tp", "reverses"), leaf("Ref", reference(reverses)));
  return tag("Refs", leaf("AcctSvcrRef", reference(id)), undone);
}

/** The other side of an exchange; where that or this one is PLN, with the rate of the foreign currency. */
function countervalue({ exchange, debited, credited }: Receipt, money: Money): string {
  const other = money === debited ? credited : debited;
  if (exchange === undefined || other === undefined) return "";
  const { sold, bought, bid, ask } = exchange;
  const rate = bid === undefined ? ask : ask === undefined ? bid : undefined;
  const currencies = [leaf("SrcCcy", sold.currency), leaf("TrgtCcy", bought.currency)];
  const unit = leaf("UnitCcy", bid === undefined ? bought.currency : sold.currency);
  const rated = rate && tag("CcyXchg", ...currencies, unit, leaf("XchgRate", formatDecimal(rate)));
  return tag("AmtDtls", tag("CntrValAmt", amount(other), rated ?? ""));
}

function madeAt(time: Date): string {
  return tag("RltdDts", leaf("TxDtTm", time.toISOString()));
}

/** A reference has at most 35 characters, so the id of a receipt is without its hyphens. */
function reference(id: string): string {
  return id.replaceAll("-", "");
}

function amount(money: Money): string {
  return `<Amt Ccy="${money.currency}">${digits(money)}</Amt>`;
}

function digits(money: Money): string {
  return formatDecimal(decimalOfMoney(money), knownDigits(money.currency));
}

function tag(name: string, ...parts: readonly string[]): string {
  return `<${name}>${parts.join("")}</${name}>`;
}

/** @param longest its characters at most */
function leaf(name: string, text: string, longest = 35): string {
  return tag(name, xmlText([...visible(text)].slice(0, longest).join("")));
}

const named: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Text for XML 1.0, which has neither half surrogate pairs nor U+FFFE and U+FFFF, escaped or not. */
function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>]/g, (sign) => named[sign] ?? "");
}
