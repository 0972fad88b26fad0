import type { KeyedLine } from "../../batch/keys.ts";
import { type DoneLine, doneLine, doneText, refusedText } from "../../batch/result.ts";
import { FxError, isOfRequest } from "../../core/errors.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../../core/service.ts";

/** What became of a line. */
export type AnsweredLine =
  | DoneLine
  | { readonly line: KeyedLine; readonly state: "refused"; readonly error: FxError };

/** Lines that are handed over at once. */
const chunkSize = 256;
/**
 * Carries out lines, in their order.
 * @param tableId the rate table at which exchanges are carried out, or not at all; a line that names one keeps its own
 * @returns the failure that is not of one line, after which nothing is begun; the line that failed has no result
 * @throws what `service` does, if it ends there
 */
export async function carryOut(
  service: Pick<ExchangeService, "bulk">,
  lines: readonly KeyedLine[],
  onResults: (results: readonly AnsweredLine[]) => void,
  tableId?: string,
): Promise<FxError | undefined> {
  let done = 0;
  let end: FxError | undefined;
  const chunks = async function* () {
    for (let start = 0; start < lines.length && end === undefined; start += chunkSize) {
      yield lines.slice(start, start + chunkSize).map((line) => atTable(line, tableId));
    }
  };
  for await (const answers of service.bulk(chunks())) {
    const results: AnsweredLine[] = [];
    for (const answer of answers) {
      const result = resultOf(lines[done] as KeyedLine, answer);
      done += 1;
      if (result instanceof FxError) end ??= result;
      else results.push(result);
    }
    onResults(results);
  }
  return end;
}

function atTable({ request }: KeyedLine, tableId: string | undefined): BulkLine {
  if (request instanceof Error) return request as FxError;
  return request.kind === "exchange" ? { ...request, table: request.table ?? tableId } : request;
}

function resultOf(line: KeyedLine, answer: BulkAnswer): AnsweredLine | FxError {
  if (!(answer instanceof FxError)) return doneLine(line, answer);
  const { request } = line;
  const hasOwnTable =
    !(request instanceof Error) && request.kind === "exchange" && request.table !== undefined;
  if (answer.code === "rate-changed" && !hasOwnTable) return answer;
  return isOfRequest(answer.code) ? { line, state: "refused", error: answer } : answer;
}

/** The results as `fx batch` writes them, a JSON document a line. */
export function resultsText(results: readonly AnsweredLine[]): string {
  return results
    .map((result) => {
      if (result.state !== "refused") return doneText(result, false);
      const { code, message, fields, replayed } = result.error;
      const failure = {
        code,
        message,
        ...(replayed && { replayed }),
        ...(fields !== undefined && { errors: fields }),
      };
      return refusedText(result.line, failure, false);
    })
    .join("");
}

/**
 * The refused lines under new keys, to correct and run. Without those whose keys were used before: a new key could do
 * again what was done.
 */
export function rejectsText(header: string | undefined, results: readonly AnsweredLine[]): string {
  const lines = results.flatMap((result) =>
    result.state === "refused" && result.error.code !== "idempotency-key-reused"
      ? [result.line.withNewKey()]
      : [],
  );
  if (lines.length === 0) return "";
  return `${[...(header === undefined ? [] : [header]), ...lines].join("\n")}\n`;
}
