import { createReadStream } from "node:fs";
import { buffer } from "node:stream/consumers";
import { FxError } from "../core/errors.ts";
import type { PublishedTable } from "../core/rates.ts";
import demo from "./demo-tables.json" with { type: "json" };
import { InvalidRateTable, parseRateTable, parseTables } from "./published.ts";
import { type RateSource, sourceName, tablesOf } from "./source.ts";

/**
 * Reads recorded tables. A file is read again whenever it is asked, so that it may change.
 * @param source "demo" or the path of a JSON file in the bank's shape
 * @throws FxError rates-unavailable if the recording cannot be used
 */
export async function openRecorded(source: string): Promise<RateSource> {
  const name = sourceName(source);
  const published = source === "demo" ? async () => demoTables() : () => readTables(source);
  const tables = async () => ({ tables: tablesOf(name, await published()) });
  await tables();
  return { name, recorded: true, tables };
}

/** Bytes; enough for sixty years of tables. */
const longestFile = 16 * 1024 * 1024;

async function readTables(path: string): Promise<readonly PublishedTable[]> {
  try {
    return parseTables(await readText(path));
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

async function readText(path: string): Promise<string> {
  const bytes = await buffer(createReadStream(path, { end: longestFile }));
  if (bytes.length > longestFile) throw new InvalidRateTable(`it is longer than ${longestFile} bytes`);
  return bytes.toString();
}

/** The recording that fx carries: 67 consecutive tables of 2022. */
export function demoTables(): readonly PublishedTable[] {
  return publishedDemo().map(parseRateTable);
}

/** The tables of `demoTables` in the bank's shape. The file has them in columns, at a quarter of the size. */
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
