import type { RequestError } from "got";
import { FxError } from "../core/errors.ts";
import type { ExportRequest } from "../core/service.ts";
import { exportFiles, isWholeExport, longestLastLine } from "../wire/export-files.ts";
import { exportQuery } from "../wire/ledger.ts";
import { encodeQuery } from "../wire/requests.ts";
import { answered } from "./failures.ts";
import type { Transport } from "./transport.ts";

/**
 * Reads an export from the server, as fast as it is taken.
 * @throws FxError with which the server refuses it; unreachable, also if it breaks off
 */
export async function* readExport(transport: Transport, request: ExportRequest): AsyncGenerator<string> {
  const { type } = exportFiles[request.format];
  const headers = { accept: `${type}, application/problem+json` };
  const query = encodeQuery(exportQuery, request);
  const get = { method: "GET", path: "/api/export", headers, query, readsJournal: true } as const;
  const stream = await transport.stream(get);
  let tail = "";
  try {
    await answered(stream, transport, { type });
    stream.setEncoding("utf8");
    for await (const part of transport.chunks<string>(stream)) {
      tail = (tail + part).slice(-longestLastLine);
      yield part;
    }
  } catch (error) {
    if (error instanceof FxError) throw error;
    if (tail === "") throw transport.failureOf("GET", error as RequestError).failure;
  } finally {
    stream.destroy();
  }
  if (!isWholeExport(tail)) {
    throw new FxError("unreachable", `The export from ${transport.target} broke off before its end.`, {
      hint: "Discard what has arrived, and ask again.",
    });
  }
}
