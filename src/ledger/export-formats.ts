import { csvCell } from "../core/csv.ts";
import { currencies } from "../core/currency.ts";
import { knownDigits } from "../core/money.ts";
import type { BookFormat, ExportRequest } from "../core/service.ts";
import { type Booking, customerAccount, factNames, houseAccounts, privateFactNames } from "./booking.ts";

/** How an export is written. Every text ends with a line feed, or is empty. */
interface Format {
  readonly head: string;
  /** Makes a customer's account known. */
  customer(id: string): string;
  booking(booking: Booking): string;
  /** The last line: `isWholeExport` knows it. */
  end(entries: number): string;
}

export function formatOf(format: BookFormat, request: ExportRequest): Format {
  return formats[format](request);
}

const formats: Readonly<Record<BookFormat, (request: ExportRequest) => Format>> = {
  hledger: (request) => ({
    head: lines(
      ...introduction(request),
      "decimal-mark .",
      ...currencies.map((currency) => `commodity 1000.${"0".repeat(knownDigits(currency))} ${currency}`),
      ...houseAccounts.map((account) => `account ${account}`),
    ),
    customer: (id) => lines(`account ${customerAccount(id)}`),
    booking: ({ facts: { id, date, kind, ...others }, postings }) =>
      lines(
        "",
        `${date} *${id === undefined ? "" : ` (${id})`} ${kind}`,
        ...pairs(others).map(([name, text]) => `    ; ${name}:${hledgerText(name, text)}`),
        ...postings.map(postingLine),
      ),
    end: endComment,
  }),

  beancount: (request) => ({
    head: lines(
      ...introduction(request),
      'option "title" "fx"',
      'option "operating_currency" "PLN"',
      ...currencies.map((currency) => `${beginning} commodity ${currency}`),
      ...houseAccounts.map((account) => `${beginning} open ${account}`),
    ),
    customer: (id) => lines(`${beginning} open ${customerAccount(id)}`),
    booking: ({ facts: { id, date, kind, ...others }, postings }) =>
      lines(
        "",
        `${date} * "${kind}"${linkTo(id)}${linkTo(others.reverses)}`,
        ...pairs(others).map(([name, text]) => `  ${name}: ${JSON.stringify(text)}`),
        ...postings.map(postingLine),
      ),
    end: endComment,
  }),

  csv: ({ full }) => {
    const columns = full ? [...factNames, ...privateFactNames] : factNames;
    const row = (...cells: readonly string[]) => lines(cells.join(","));
    return {
      head: row(...columns, "account", "amount", "currency"),
      customer: () => "",
      booking: ({ facts, postings }) => {
        const same = columns.map((name) => csvCell(facts[name] ?? "")).join(",");
        if (postings.length === 0) return row(same, "", "", "");
        return postings.map(({ account, amount, currency }) => row(same, account, amount, currency)).join("");
      },
      end: (entries) =>
        row(`end of export: ${entries} entries`, ...columns.slice(1).map(() => ""), "", "", ""),
    };
  },

  ndjson: () => ({
    head: "",
    customer: () => "",
    booking: ({ facts, postings }) => lines(JSON.stringify({ ...facts, postings })),
    end: (entries) => lines(`{"kind":"end","entries":${entries}}`),
  }),
};

/** A date before any entry: beancount wants a date for everything, and sorts by it. */
const beginning = "1970-01-01";

function lines(...texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join("");
}

function introduction({ from, to, at, full }: ExportRequest): string[] {
  const limits = pairs({ from, to, at: at?.toISOString() }).map(([name, limit]) => ` ${name} ${limit}`);
  return [
    `; fx export: the journal${limits.join(",")}${full ? "; with personal data" : ""}`,
    "; Liabilities, equity and income have a minus sign where fx shows none.",
  ];
}

function endComment(entries: number): string {
  return lines("", `; end of export: ${entries} entries`);
}

function postingLine({ account, amount, currency }: Booking["postings"][number]): string {
  return `    ${account.padEnd(44)}${amount} ${currency}`;
}

function linkTo(id: string | undefined): string {
  return id === undefined ? "" : ` ^${id}`;
}

/** The facts that are present. */
function pairs(facts: Readonly<Record<string, string | undefined>>): [name: string, text: string][] {
  return Object.entries(facts).filter((pair): pair is [string, string] => pair[1] !== undefined);
}

/** A tag's value ends at a comma, and hledger has no escape for it. What people write is JSON, where there is one. */
function hledgerText(name: string, text: string): string {
  const isWritten =
    name === "key" || name === "by" || name === "name" || name === "surname" || name === "note";
  return isWritten ? JSON.stringify(text).replaceAll(",", "\\u002c") : text;
}
