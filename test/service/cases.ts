import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { describe } from "node:test";
import { type Account, parseOpening } from "../../src/core/account.ts";
import type { Request } from "../../src/core/change.ts";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { houseNumber } from "../../src/core/house.ts";
import type { Receipt } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { BulkAnswer, BulkLine, ExchangeService, ExportFormat, Page } from "../../src/core/service.ts";
import type { Open, Subject } from "../service.contract.ts";
import { exported } from "../support/bookkeeping.ts";
import { testCases } from "../support/cases.ts";
import { adult, decimal, peselOf, table, terms, today } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";
import { answersTo, dryRunOf, send, texts } from "../support/service.ts";

/**
 * The answers of an ExchangeService. Each case of the files beside this one has a ledger of its own, with two processes:
 * requests with the name of a token (`anna: `) are those of the other one. A line after % prepares the case, one after $
 * is shown with its answer, and one after ? with its outcome alone. Lines after & are sent at once; their outcomes are
 * sorted. Those after | are the lines of the batch before them.
 *
 * `A` to `Z` are customers, `child` is none yet 18 years old, `cash` and `bank` are the house's. `#2` is the second receipt
 * that the case has seen. TRANSCRIPTS_WRITE=1 writes the files anew, to be read before they are kept.
 */
const folder = new URL(".", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".txt"));
const customers = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));

function numberOf(name = ""): Pesel {
  if (name === "cash" || name === "bank") return houseNumber(name);
  return name === "child" ? (peselOf("0826180001") as Pesel) : adult(customers.indexOf(name));
}

interface Asked {
  readonly words: readonly string[];
  /** All after the first words. */
  rest(words: number): string;
  readonly options: Readonly<Record<string, string | undefined>>;
}

/** "exchange A sell 1 PLN for USD, key k": words, and options after commas. */
function read(line: string): Asked {
  const [what = "", ...given] = line.split(
    /, (?=(?:key|note|table|as|at|name|limit|after|from|to|by|full|for)(?: |,|$))/,
  );
  const options = given.map((option) => /^(\w+) ?(.*)$/s.exec(option)?.slice(1) as [string, string]);
  const words = what.split(" ");
  return { words, rest: (from) => words.slice(from).join(" "), options: Object.fromEntries(options) };
}

/** The request of a line; undefined if it reads. */
function requestOf({ words, rest, options }: Asked): Request | undefined {
  const [kind, who, amount = "", currency = ""] = words;
  const { key, note, as = "Jan Kowalski", table } = options;
  const common = () => ({ pesel: numberOf(who), key });
  const cash = () => ({ ...common(), amount: decimal(amount), currency: currency as CurrencyCode, note });
  const [name = "", surname = ""] = as.split(" ");
  switch (kind) {
    case "open":
      return {
        kind: "opening",
        ...parseOpening({ ...common(), name, surname, initial: decimal(amount) }, today),
      };
    case "exchange":
      return { kind, ...common(), ...terms(rest(2)), table };
    case "deposit":
      return { kind, ...cash() };
    case "withdraw":
      return { kind: "withdrawal", ...cash() };
    case "reverse":
      return { kind: "reversal", ...common(), reverses: amount, reason: options.for ?? "a slip" };
    case "rename":
      return { kind: "renaming", ...common(), name: amount, surname: currency };
    case "close":
      return { kind: "closing", ...common() };
    case "block":
    case "unblock":
      return { kind, ...common(), reason: rest(2) };
    default:
      return undefined;
  }
}

const momentOf = (text: string) => new Date(/^\d{4}/.test(text) ? text : `${today}T${text}`);
const dated = (time: Date) => time.toISOString().replace(".000Z", "Z");
const stateOf = ({ blocked, closed }: Account) => (closed ? " (closed)" : blocked ? " (blocked)" : "");
const heldBy = (account: Account) => `${texts(account.balances).join(", ") || "nothing"}${stateOf(account)}`;
const amount = (sign: string, money: Money | undefined) => (money ? ` ${sign}${texts([money])}` : "");

function shownEntry(entry: Receipt): string {
  const { id, sequence, time, kind, exchange, holder, key, by, note, reverses, reversedBy } = entry;
  const rate = (one: "bid" | "ask") => exchange?.[one] && ` ${one} ${formatDecimal(exchange[one])}`;
  const facts = Object.entries({ key, by, note, reverses, "reversed by": reversedBy });
  return [
    `${id} ${sequence} ${kind}${amount("-", entry.debited)}${amount("+", entry.credited)}`,
    exchange && ` ${exchange.side}${rate("bid") ?? ""}${rate("ask") ?? ""} of ${exchange.table}`,
    exchange && ` ${exchange.tableId} ${exchange.effectiveDate}`,
    ...facts.map(([name, fact]) => fact !== undefined && `, ${name} ${fact}`),
    `, ${dated(time)}, ${holder.name} ${holder.surname}: ${texts(entry.balances).join(", ")}`,
    entry.blocked && " (blocked)",
  ]
    .filter(Boolean)
    .join("");
}

/** The pages of a list, with a line between them. */
async function pages<T>(
  load: (cursor?: string) => Promise<Page<T>>,
  shown: (item: T) => string,
  after?: string,
) {
  const lines: string[] = [];
  for (let cursor = after, nth = 0; nth === 0 || cursor !== undefined; nth += 1) {
    const { items, next } = await load(cursor);
    lines.push(...(nth > 0 ? ["next page"] : []), ...items.map(shown));
    cursor = next;
  }
  return lines;
}

type Answer = readonly string[];

const nothing = createHash("sha256").digest("hex");
const digestNamed = (digest: string) => (digest === nothing ? "<digest of nothing>" : "<digest>");

/** Reads of the ledger, and settings of the clock and the rates. */
function reading(
  subject: Subject,
  service: ExchangeService,
  asked: Asked,
): Promise<Answer> | Answer | undefined {
  const { words, rest, options } = asked;
  const [what, second = ""] = words;
  const { from, to, key, by, name } = options;
  const at = options.at === undefined ? undefined : momentOf(options.at);
  const limit = Number(options.limit ?? 200);
  const acts: Readonly<Record<string, () => Promise<Answer | undefined> | Answer>> = {
    account: async () => {
      const account = await service.account(numberOf(second), at);
      return [`${account.name} ${account.surname}: ${heldBy(account)}`];
    },
    accounts: () =>
      pages(
        (cursor) => service.accounts({ limit, at, cursor, name: name?.split(" ") }),
        (each) => `${each.pesel} ${each.name} ${each.surname}: ${heldBy(each)}`,
        options.after,
      ),
    statement: async () => {
      const page = { limit, from, to, key };
      const { opening, closing } = await service.statement(numberOf(second), page);
      return [
        ...(opening ? [`from ${texts(opening).join(", ") || "nothing"}`] : []),
        ...(await pages((cursor) => service.statement(numberOf(second), { ...page, cursor }), shownEntry)),
        ...(closing ? [`to ${texts(closing).join(", ") || "nothing"}`] : []),
      ];
    },
    receipt: async () => [shownEntry(await service.receipt(second))],
    position: async () => {
      const { currencies, spreadEarned } = await service.position(at);
      const lines = currencies.map(({ currency, ...sums }) => {
        const all = Object.entries(sums).map(([name, minor]) => `${name} ${texts([{ currency, minor }])}`);
        return all.join(", ");
      });
      return [...lines, `spread earned ${texts([spreadEarned])}`];
    },
    till: async () => {
      const till = await service.till({ date: second || undefined, by });
      const flows = till.currencies.map(
        ({ currency, in: came, out: went }) =>
          `${amount("+", { currency, minor: came })}${amount("-", { currency, minor: went })}`,
      );
      const ends = [till.first, till.last].map((end) => end && `${end.id} ${dated(end.time)}`);
      const about = [till.date, till.by ?? "nobody", `${till.entries} entries`];
      if (till.entries > 0) about.push(ends.join(" to "));
      return [`${about.join(", ")}:${flows.join(",") || " nothing"}, ${till.digest}`];
    },
    house: async () =>
      Object.entries(await service.house(at)).map(([place, held]) => `${place}: ${texts(held)}`),
    audit: async () => {
      const { accounts, entries, findings } = await service.audit();
      const found = findings.map(
        (each) =>
          `${each.account} ${each.entry ?? "-"} ${each.problem}: ${each.recorded}, expected ${each.recomputed}`,
      );
      return [`${accounts} accounts, ${entries} entries`, ...found];
    },
    data: async () => {
      const { account, customer, nameWords, refusals, entries, time } = await service.personalData(
        numberOf(second),
      );
      assert.match(customer, /^[A-P]{20}$/);
      return [
        `${account ? heldBy(account) : "no account"}, at ${dated(time)}, found by ${nameWords.join(" ") || "nothing"}`,
        ...refusals.map(({ time, key, by, code }) => `${dated(time)} ${key} ${by ?? "nobody"}: ${code}`),
        ...entries.map(shownEntry),
      ];
    },
    quote: async () => {
      const { sold, bought, source } = await service.quote(terms(rest(1)));
      return [`${texts([sold])} for ${texts([bought])} of ${source}`];
    },
    rates: async () => {
      const { table, previous, notTraded, suspension } = await service.rates();
      return [
        `${table.number}, before it ${previous?.number ?? "none"}`,
        ...(notTraded === undefined ? [] : [`${notTraded.code}: ${notTraded.reason}`]),
        ...(suspension
          ? [`${suspension.by ?? "nobody"}, ${dated(suspension.since)}: ${suspension.reason}`]
          : []),
      ];
    },
    history: async () =>
      (await service.rateHistory(second as CurrencyCode, Number(words[2]))).map(
        ({ number, effectiveDate, bid, ask }) =>
          `${number} ${effectiveDate} ${formatDecimal(bid)} ${formatDecimal(ask)}`,
      ),
    tables: async () => (await service.rateTables(Number(second))).map(({ number, id }) => `${number} ${id}`),
    suspend: async () => [(await service.changeTrading({ reason: rest(1), by })).notTraded?.code ?? "traded"],
    resume: async () => [
      (await service.changeTrading({ reason: undefined, by })).notTraded?.code ?? "traded",
    ],
    export: async () => {
      const full = options.full !== undefined;
      const text = await exported(service, { format: second as ExportFormat, from, to, at, full });
      return text
        .replace(/^\ufeff/, "")
        .trimEnd()
        .split(/\r?\n/);
    },
    table: async () => {
      const rates = words.slice(3).map((word) => word.split(/[:/]/) as [string, string, string]);
      const quoted = rates.map(([code, bid, ask]) => [code, [Number(bid), Number(ask)] as const]);
      const other = () => tableOf(second, words[2] ?? "", Object.fromEntries(quoted));
      await subject.rates.use(second === "none" ? undefined : second === "usual" ? table : other());
      return [];
    },
    trade: () => {
      subject.rates.halt(second === "not" ? rest(2) : undefined);
      return [];
    },
    clock: () => {
      subject.clock.now = momentOf(second);
      return [];
    },
  };
  return acts[what ?? ""]?.() as Promise<Answer>;
}

function shownRefusal({ code, message, fields = [], replayed, retryAfterSeconds }: FxError): string {
  const at = fields.map(({ pointer }) => ` ${pointer}`).join("");
  const again = retryAfterSeconds === undefined ? "" : ` (again in ${retryAfterSeconds} s)`;
  return `${code}${replayed ? ", replayed" : ""}${at}: ${message}${again}`;
}

function shownAnswer(answer: BulkAnswer): string {
  if (answer instanceof FxError) return shownRefusal(answer);
  const done = `${answer.replayed ? "replayed" : "done"} ${answer.receiptId}`.trim();
  return "account" in answer ? `${done}: ${heldBy(answer.account)}` : done;
}

/** The outcome alone: done, replayed, answered, or the code of a refusal. */
function outcome([first = ""]: Answer): string {
  return /^(done|replayed|[a-z-]+(, replayed)?(?=( \/\w+)*: ))/.exec(first)?.[0] ?? "answered";
}

/** The case, played anew. */
async function played(recorded: string, subject: Subject): Promise<string> {
  const ids: string[] = [];
  const given = (text: string) =>
    text
      .replaceAll(/#(\d+)/g, (shown, nth) => ids[Number(nth) - 1] ?? assert.fail(shown))
      .replaceAll(/\\u([\da-f]{4})/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)));
  const told = (answer: Answer) => {
    const text = answer.map((line) => `${line.trimEnd()}\n`).join("");
    const found = text.match(/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\b/g) ?? [];
    ids.push(...new Set(found.filter((id) => !ids.includes(id))));
    const numbered = ids.reduce((all, id, index) => all.replaceAll(id, `#${index + 1}`), text);
    const named = customers.reduce((all, name) => all.replaceAll(numberOf(name), name), numbered);
    return named.replaceAll(/\b[A-P]{20}\b/g, "<customer>").replaceAll(/\b[\da-f]{64}\b/g, digestNamed);
  };

  async function run(line: string, lines: readonly string[]): Promise<Answer> {
    const [, by, what = ""] = /^(?:(anna|jan|ewa): )?(.*)$/.exec(given(line)) ?? [];
    const service = subject.as(by);
    const requests = () => lines.map((each) => requestOf(read(given(each))) as BulkLine);
    if (what === "batch") return (await answersTo(service, requests())).map(shownAnswer);
    if (what === "dry run") return (await dryRunOf(service, requests())).map(shownAnswer);
    const asked = read(what);
    const request = requestOf(asked);
    if (request !== undefined) return [shownAnswer(await send(service, request))];
    return (await reading(subject, service, asked)) ?? assert.fail(`There is no "${what}".`);
  }
  const answered = (line: string, lines: readonly string[] = []) =>
    run(line, lines).catch((error: unknown): Answer => {
      if (error instanceof FxError) return [shownRefusal(error)];
      throw error;
    });

  let transcript = recorded.slice(0, recorded.indexOf("\n") + 1);
  for (const [block, how, line = ""] of recorded.matchAll(/^(?:& .*\n)+|^([$%?]) (.*)\n(?:\| .*\n)*/gm)) {
    transcript += block;
    const lines = [...block.matchAll(/^[&|] (.*)$/gm)].map(([, one = ""]) => one);
    if (how === undefined) {
      const answers = await Promise.all(lines.map((one) => answered(one)));
      for (const answer of answers) told(answer);
      transcript += told(answers.map(outcome).sort());
      continue;
    }
    const answer = await (how === "%" ? run(line, lines) : answered(line, lines));
    const shown = told(answer);
    if (how !== "%") transcript += how === "$" ? shown : `${outcome(answer)}\n`;
  }
  return `${transcript}\n`;
}

/** Every case of every file, over this service. Only one of the services writes the files. */
export function describeCases(open: Open, mayWrite: boolean): void {
  for (const name of names) {
    describe(`the cases of ${name}`, () =>
      testCases(new URL(name, folder), async (recorded, t) => played(recorded, await open(t)), mayWrite));
  }
}
