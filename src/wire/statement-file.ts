import * as z from "zod";
import { warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import type { Receipt } from "../core/journal.ts";
import { longestPage, type StatementFormat, statementFormats } from "../core/service.ts";
import { camt053, type StatementSource } from "./camt-053.ts";
import { entry } from "./entries.ts";
import { givenPeriod } from "./parameters.ts";
import { csvLine, statementCells, statementHeadings } from "./statement-csv.ts";

/** The media type of a statement, and how the name of its file ends. */
export const statementFiles: Readonly<Record<StatementFormat, { type: string; ending: string }>> = {
  csv: { type: "text/csv", ending: "csv" },
  "camt.053": { type: "application/xml", ending: "xml" },
};

/**
 * The parts of a statement. Its pages are read as they are taken, so that memory stays flat.
 * @throws FxError invalid-request if the period begins in the future
 */
export async function* statementFile(
  format: StatementFormat,
  source: StatementSource,
): AsyncGenerator<string> {
  const { period, now, read } = source;
  const detail = "must not be in the future";
  if (period.from !== undefined && period.from > warsawDate(now)) {
    const fields = [{ pointer: "/from", detail }];
    throw new FxError("invalid-request", `The request is not valid: from ${detail}.`, { fields });
  }
  const page = (cursor?: string) => read({ limit: longestPage, cursor, ...period });
  const first = await page();
  if (format === "camt.053") {
    yield* camt053(source, first, page);
    return;
  }
  yield csvLine(statementHeadings);
  for (let { items, next } = first; ; { items, next } = await page(next)) {
    yield items.map(csvLineOf).join("");
    if (next === undefined) return;
  }
}

function csvLineOf(receipt: Receipt): string {
  return csvLine(statementCells(entry.encode(receipt)));
}

export const statementFileQuery = z.strictObject({
  format: z
    .enum(statementFormats, { error: `must be one of ${statementFormats.join(", ")}` })
    .meta({ examples: ["camt.053"] }),
  ...givenPeriod,
});
