import { once } from "node:events";
import type { PlainResponse, RequestError } from "got";
import { FxError } from "../core/errors.ts";
import type { ExportRequest } from "../core/service.ts";
import { exportFiles } from "../wire/export.ts";
import { encodeExportQuery } from "../wire/queries.ts";
import { answerOf, type Transport, textOf } from "./transport.ts";
import { unfit } from "./unfit.ts";

const longestLastLine = 200;

/**
 * Reads an export from the server, as fast as it is taken.
 * @throws FxError with which the server refuses it; unreachable, also if it breaks off
 */
export async function* readExport(transport: Transport, request: ExportRequest): AsyncGenerator<string> {
  const { type } = exportFiles[request.format];
  const headers = { accept: `${type}, application/problem+json` };
  const query = encodeExportQuery(request);
  const get = { method: "GET", path: "/api/export", headers, query } as const;
  const stream = await transport.stream(get, { readsJournal: true });
  // What fails is told to whoever waits for the answer, or reads it.
  stream.on("error", () => {});
  let tail = "";
  try {
    const [response] = (await once(stream, "response")) as [PlainResponse];
    if (response.statusCode !== 200 || !response.headers["content-type"]?.startsWith(type)) {
      throw unfit(answerOf(response, await textOf(transport.chunks(stream))), transport).failure;
    }
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
    throw new FxError("unreachable", `The export from ${transport.place} broke off before its end.`, {
      hint: "Throw away what came of it, and ask again.",
    });
  }
}

const lastLine =
  /^(?:; end of export: \d+ entries|end of export: \d+ entries,*|\{"kind":"end","entries":\d+\})$/;

/**
 * Whether an export came to its end, which its last line says.
 * @param tail of an export: at least its last line
 */
export function isWholeExport(tail: string): boolean {
  return tail.endsWith("\n") && lastLine.test(tail.slice(tail.lastIndexOf("\n", tail.length - 2) + 1, -1));
}
