/** hledger and beancount, from Debian's packages: independent programs that check an export. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { formatDecimal } from "../../src/core/decimal.ts";
import type { ExchangeService, ExportRequest } from "../../src/core/service.ts";
import { decimal } from "./fixture.ts";

/** Non-zero amounts by account and currency: "-12.3" by "Equity:House USD". */
export type Balances = Readonly<Record<string, string>>;

export interface Bookkeeper {
  readonly format: "hledger" | "beancount";
  /** The reason to skip a test, or false. */
  readonly missing: string | false;
  /** Runs the strictest check, and returns its complaints: none for a valid file. */
  check(text: string): string;
  balances(text: string): Balances;
}

export const bookkeepers: readonly Bookkeeper[] = [
  {
    format: "hledger",
    missing: isThere("hledger") ? false : "hledger is not installed (apt-get install hledger)",
    check: (text) => run(text, "hledger", ["-f", "FILE", "check", "--strict", "ordereddates"]),
    balances: (text) => {
      // All decimal places; by default hledger rounds.
      const exact = ["-c", "1000.000000000000000000000 PLN"];
      const options = ["--flat", "--no-total", "--layout=bare", "-O", "csv"];
      return balancesIn(run(text, "hledger", ["-f", "FILE", "balance", ...options, ...exact]));
    },
  },
  {
    format: "beancount",
    missing: isThere("bean-check") ? false : "beancount is not installed (apt-get install beancount)",
    check: (text) => run(text, "bean-check", ["FILE"]),
    balances: (text) => {
      const query = "select account, currency, sum(number) as n group by account, currency";
      return balancesIn(run(text, "bean-query", ["-q", "-f", "csv", "FILE", query]));
    },
  },
];

export async function exported(
  service: Pick<ExchangeService, "export">,
  request: Pick<ExportRequest, "format"> & Partial<ExportRequest>,
): Promise<string> {
  let text = "";
  for await (const part of service.export({ full: false, ...request })) text += part;
  return text;
}

/** The shortest form of an amount: "-12.3" for "-12.30". */
export function shortest(amount: string): string {
  return formatDecimal(decimal(amount));
}

function balancesIn(csv: string): Balances {
  const [, ...rows] = parse(csv, { trim: true }) as [string, string, string][];
  const all = rows.map(([account, currency, amount]) => [`${account} ${currency}`, shortest(amount)]);
  return Object.fromEntries(all.filter(([, amount]) => amount !== "0"));
}

function isThere(program: string): boolean {
  return spawnSync(program, ["--version"]).error === undefined;
}

function run(text: string, program: string, args: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "fx-books-"));
  try {
    const file = join(folder, "export");
    writeFileSync(file, text);
    const { stdout, stderr, status } = spawnSync(
      program,
      args.map((argument) => (argument === "FILE" ? file : argument)),
      { encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } },
    );
    if (status !== 0) throw new Error(`${program} ${args.join(" ")}\n${stdout}${stderr}`);
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
