import { once } from "node:events";
import type { PlainResponse, RequestError } from "got";
import { FxError } from "../core/errors.ts";
import { type ExportRequest, isWholeExport } from "../core/export.ts";
import { exportFiles } from "../wire/export.ts";
import { decodeProblem } from "../wire/problem.ts";
import { encodeExportQuery } from "../wire/queries.ts";
import { answerOf, type Transport, textOf } from "./transport.ts";

const longestLastLine = 200;

/**
 * Reads an export from the server, as fast as it is taken.
 * @throws FxError with which the server refuses it; unreachable, also if it breaks off
 */
export async function* readExport(transport: Transport, request: ExportRequest): AsyncGenerator<string> {
  const headers = { accept: `${exportFiles[request.format].type}, application/problem+json` };
  const query = encodeExportQuery(request);
  const get = { method: "GET", path: "/api/export", headers, query } as const;
  // There is no knowing how long whoever reads it takes.
  const stream = await transport.stream(get, { waits: true });
  // What fails is told to whoever waits for the answer, or reads it.
  stream.on("error", () => {});
  let tail = "";
  try {
    const [response] = (await once(stream, "response")) as [PlainResponse];
    if (response.statusCode !== 200) {
      const { body, status, retryAfterSeconds } = answerOf(response, await textOf(stream));
      const problem = decodeProblem(body, status, { retryAfterSeconds });
      throw (
        problem ?? new FxError("internal", `What answers at ${transport.place} is not fx (status ${status}).`)
      );
    }
    stream.setEncoding("utf8");
    for await (const part of stream as AsyncIterable<string>) {
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
