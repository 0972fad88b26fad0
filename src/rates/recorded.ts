import { readFile } from "node:fs/promises";
import { FxError } from "../core/errors.ts";
import { type CurrentRates, InvalidRateTable, type RatesStatus, type RateTable } from "../core/rates.ts";
import { keepTable, type TableArchive } from "./archive.ts";
import demo from "./demo-tables.json" with { type: "json" };
import { parseTableList, parseTables } from "./tables.ts";

/** The last of some recorded tables, in force for good. */
export class RecordedRates implements CurrentRates {
  readonly #source: string;
  readonly #table: RateTable;

  constructor(source: string, table: RateTable) {
    this.#source = source;
    this.#table = table;
  }

  inForce(): RateTable {
    return this.#table;
  }

  status(): RatesStatus {
    return { source: this.#source, recorded: true, table: this.#table, problem: undefined };
  }

  async close(): Promise<void> {}
}

/**
 * Puts the last recorded table in force and keeps all of them in the archive, as the history. The archive may hold
 * newer tables of another source: it is still the recording that says what is in force.
 * @param source "demo" or the path of a JSON file in the bank's shape
 * @throws FxError rates-unavailable if the recording cannot be used, storage-unavailable
 */
export async function openRecorded(source: string, archive: TableArchive): Promise<RecordedRates> {
  const tables = source === "demo" ? demoTables() : await readTables(source);
  const last = tables.at(-1) as RateTable;
  await archive.saveTables(tables);
  try {
    await keepTable(archive, last);
  } catch (error) {
    if (error instanceof FxError || !(error instanceof Error)) throw error;
    throw new FxError("rates-unavailable", `${error.message} Use another database for ${source}.`);
  }
  return new RecordedRates(source, last);
}

async function readTables(path: string): Promise<readonly RateTable[]> {
  try {
    return parseTables(await readFile(path, "utf8"));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      error instanceof InvalidRateTable
        ? `It does not hold rate tables: ${error.message}`
        : `It cannot be read: ${code === "ENOENT" ? "there is no such file" : error.message}`;
    throw new FxError(
      "rates-unavailable",
      `No rates from ${path}. ${reason}. The source of rates is nbp, the http(s) address of an API like the bank's, ` +
        "a JSON file of tables as the bank publishes them, or demo.",
      { cause: error },
    );
  }
}

/** The recording that fx carries: 67 consecutive tables of 2022. */
export function demoTables(): readonly RateTable[] {
  return parseTableList(publishedDemo());
}

/** The same in the bank's shape. The file holds it in columns, at a quarter of the size. */
export function publishedDemo() {
  return demo.tables.map((line) => {
    const [no, tradingDate, effectiveDate, ...quotations] = line.split(" ");
    return {
      table: "C",
      no,
      tradingDate,
      effectiveDate,
      rates: Object.entries(demo.currencies).map(([code, currency], index) => ({
        currency,
        code,
        bid: Number(quotations[2 * index]),
        ask: Number(quotations[2 * index + 1]),
      })),
    };
  });
}
