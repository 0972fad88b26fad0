import assert from "node:assert/strict";
import { afterEach, describe } from "node:test";
import { formatDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { testCases } from "../support/cases.ts";
import { fixedRates, identified, putInForce } from "../support/fixture.ts";
import { closeAll, faultyLedger, noon, openLive, quoted, standIn, traded } from "../support/live-rates.ts";
import type { Mode } from "../support/nbp-stand-in.ts";
import { publishedOf } from "../support/rates.ts";

/**
 * The rates of processes over one ledger and one bank, in cases.txt. Lines after % prepare a case, and those after $ are
 * shown with what they lead to. It is noon of 9 June 2026 in Warsaw until the case sets the clock.
 *
 * - `bank 108 109` is what the bank publishes, `bank 500` how it fails, `bank clock` and `bank age` what its answers say;
 * - `ledger bank 108` puts a table in force, and `ledger fails` lasts until `ledger works`;
 * - `start`, `refresh` and `show` show a process: what it tells anew, and at which table it settles, quotes and shows;
 * - `jump` sets a clock that the machine's monotonic one does not follow.
 *
 * `108` is a table of that number, of 8 June and with dollars at 4.00 and 4.08; `109!` has them twice as dear;
 * `109@2026-06-16=USD:4.5/4.6` has another date and other rates, and `109+USD:5/5.1` four currencies with other dollars. Only a refresh asks the bank again.
 */
type Options = Readonly<Record<string, string | undefined>>;
type Rates = Awaited<ReturnType<typeof openLive>>;
interface Process {
  readonly rates: Rates;
  /** How many of its events were shown. */
  told: number;
}

const hour = 3_600_000;
const rarely = { refreshMs: hour, retryMs: hour };
const modes = "answers refuses hangs hangsUp 404 500 html text nonsense empty".split(" ");

afterEach(closeAll);

const fourCurrencies = { USD: [4, 4.08], HUF: [0.01, 0.0102], EUR: [4.3, 4.39], CHF: [4.5, 4.6] } as const;

function publishedIn(word: string): object | string {
  const [, number, leap, day, how, rates] = /^(\d+)(!)?(?:@([\d-]+))?(?:([=+])(.*))?$/.exec(word) ?? [];
  if (number === undefined) return word;
  const date = day ?? `2026-06-${number.slice(1)}`;
  const usual = Number((4 + 0.01 * (Number(number) - 108)).toFixed(2));
  const dollars = leap ? "USD:8/8.16" : `USD:${usual}/${(usual + 0.08).toFixed(2)}`;
  const quoted = (rates ?? dollars).split(",").filter(Boolean);
  const quotations = quoted.map((each) => {
    const [code = "", bid, ask] = each.split(/[:/]/);
    return [code, [Number(bid), Number(ask)] as const];
  });
  const changed = { ...(how === "+" && fourCurrencies), ...Object.fromEntries(quotations) };
  return publishedOf(`${number}/C/NBP/${date.slice(0, 4)}`, date, changed);
}

async function played(recorded: string): Promise<string> {
  const bank = await standIn();
  const store = openSqlite(":memory:");
  const { ledger, works } = faultyLedger(store);
  let time = noon;
  let bankTime: Date | undefined;
  /** Milliseconds by which the clock has jumped, without time. */
  let jumpedMs = 0;
  const processes = new Map<string, Process>();
  const tableOf = (word: string, source = bank.url) =>
    identified(publishedIn(word), source === "bank" ? bank.url : source);
  const all = { source: bank.url, since: "" };
  let asked = 0;

  async function start(name: string, options: Options): Promise<readonly string[]> {
    const rates = await openLive(bank, {
      ...rarely,
      ledger,
      role: (options.role ?? "serve") as "serve",
      changeSource: options.from,
      operator: options.by ?? "unknown",
      ...rules(options),
      now: () => time,
      elapsedMs: () => time.getTime() - jumpedMs,
    });
    bank.clock = () => bankTime ?? time;
    processes.set(name, { rates, told: 0 });
    return shown(name);
  }

  const rules = ({ age = "7", accept }: Options) => {
    const isNumber = /^\d+$/.test(accept ?? "1");
    const acceptTable = isNumber ? accept && `${accept}/C/NBP/2026` : tableOf(accept ?? "").id;
    return { maxAgeDays: Number(age), acceptTable };
  };

  async function shown(name: string): Promise<readonly string[]> {
    const one = processes.get(name) ?? assert.fail(`There is no process "${name}".`);
    const { rates } = one;
    const lines: string[] = [];
    const said = new Set<string>();
    const say = (what: string, text: string | undefined) => {
      if (text === undefined) return;
      lines.push(said.has(text) ? `${what}: the same` : `${what}: ${text}`);
      said.add(text);
    };
    for (const event of rates.events.all.slice(one.told)) {
      if (event.kind === "in-force") lines.push(`told: ${event.table.number} in force`);
      else say(`told: ${event.kind}`, event.problem);
    }
    one.told = rates.events.all.length;
    const numbers: string[] = [];
    const priced = async (what: string, number: () => Promise<string>) => {
      try {
        numbers.push(`${what} ${await number()}`);
      } catch (error) {
        assert.ok(error instanceof FxError, String(error));
        const again = error.retryAfterSeconds === undefined ? "" : " (again later)";
        say(`no ${what}, ${error.code}${again}`, error.message);
      }
    };
    await priced("order", () => traded(rates));
    await priced("quote", () => quoted(rates));
    let shownReason: string | undefined;
    await priced("shown", async () => {
      const { table, previous, recorded, notTraded } = await rates.latest();
      shownReason = notTraded?.reason;
      const before = previous === undefined ? "" : ` after ${previous.number}`;
      return `${table.number}${recorded ? " (recorded)" : ""}${before}`;
    });
    if (numbers.length > 0) lines.push(numbers.join(", "));
    say("shown as not traded", shownReason);
    const { problem, heldBack, clock, notTraded, fetches } = rates.status();
    if (notTraded !== undefined) say(`not traded, ${notTraded.code}`, notTraded.reason);
    say("problem", problem);
    say("held back", heldBack);
    say("clock", clock);
    const counts = Object.entries(fetches).filter(([, count]) => count > 0);
    lines.push(`fetches: ${counts.map(([what, count]) => `${count} ${what}`).join(", ") || "none"}`);
    return lines;
  }

  async function act(line: string): Promise<readonly string[]> {
    const [what = "", ...given] = line.split(/, (?=(?:role|accept|from|age|by) )/);
    const options = Object.fromEntries(given.map((option) => option.split(" ")));
    const [verb, ...words] = what.split(" ");
    const [first = "", second = ""] = words;
    switch (verb) {
      case "bank":
        if (first === "clock") bankTime = second === "right" ? undefined : new Date(second);
        else if (first === "age") bank.ageSeconds = Number(second);
        else if (modes.includes(first)) await bank.mode(first as Mode);
        else
          bank.tables = words
            .map(publishedIn)
            .map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
        return [];
      case "ledger":
        if (second === "") works(first === "works");
        else if (first === "keeps") await store.saveTables(words.slice(1).map((word) => tableOf(word)));
        else await putInForce(store, tableOf(second, first));
        return [];
      case "suspend":
        await new LedgerService(store, fixedRates(), () => time).changeTrading({
          reason: words.join(" "),
          by: "anna",
        });
        return [];
      case "jump":
        jumpedMs += Date.parse(first) - time.getTime();
        time = new Date(first);
        return [];
      case "clock":
        time = new Date(first);
        return [];
      case "start":
        return start(first, options);
      case "refresh":
        await processes.get(first)?.rates.refresh(rules(options));
        return shown(first);
      case "show":
        return shown(first);
      case "history": {
        const tables = (await processes.get(second)?.rates.tables(Number(first))) ?? [];
        return tables.map(({ number, effectiveDate, rates }) => {
          const bids = [...rates.values()].map(({ currency, bid }) => `${currency} ${formatDecimal(bid)}`);
          return `${number} ${effectiveDate}: ${bids.join(", ")}`;
        });
      }
      case "requests":
        asked = bank.requests.length - asked;
        return [`${asked}`];
      case "kept":
        return (await store.tables(all)).map(({ number }) => number);
      case "accepted": {
        const rows = await store.rows("accepted_table", { limit: 9 });
        const accepted = await store.acceptedTables();
        return rows.map(
          ({ epoch, overridden_by }, nth) =>
            `${epoch} ${accepted[nth]?.number}${overridden_by === null ? "" : ` by ${overridden_by}`}`,
        );
      }
      default:
        return assert.fail(`There is no "${line}".`);
    }
  }

  let transcript = recorded.slice(0, recorded.indexOf("\n") + 1);
  for (const [step, how, line = ""] of recorded.matchAll(/^([$%]) (.*)\n/gm)) {
    const lines = await act(line);
    transcript += step;
    if (how === "$") transcript += lines.map((each) => `${masked(each, bank.url)}\n`).join("");
  }
  return `${transcript}\n`;
}

function masked(text: string, url: string): string {
  return text
    .replaceAll(url, "<bank>")
    .replaceAll(new URL(url).host, "<bank>")
    .replaceAll(/\b[\da-f]{32}\b/g, "<id>");
}

describe("rates", () => testCases(new URL("cases.txt", import.meta.url), played));
