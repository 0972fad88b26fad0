import type { IncomingMessage } from "node:http";
import { FxError } from "../core/errors.ts";
import { isRepeated } from "./headers.ts";

const trailers =
  "Fields after the body are not read, and the request has or announces some. Send them as headers.";

/**
 * Refuses a body that says that it is not in UTF-8, for it would be read as that, one of two types, and one with fields
 * after it.
 * @throws FxError invalid-request
 */
export function requireReadableBody(request: IncomingMessage): void {
  if (isRepeated(request, "content-type")) {
    throw new FxError("invalid-request", "The request has more than one Content-Type header.");
  }
  if (request.headers.trailer !== undefined) throw new FxError("invalid-request", trailers);
  const [, ...parameters] = (request.headers["content-type"] ?? "").split(";");
  const strange = parameters.filter(
    (parameter) => /charset/i.test(parameter) && !/^\s*charset=("?)(utf-?8|us-ascii)\1\s*$/i.test(parameter),
  );
  if (strange.length === 0) return;
  throw new FxError("invalid-request", "The Content-Type names another charset than UTF-8. Send UTF-8.");
}

/**
 * Refuses fields after the body: a key that is sent there would not be read, and its order be carried out twice.
 * @throws FxError invalid-request
 */
export function refuseTrailers({ rawTrailers }: IncomingMessage): void {
  if (rawTrailers.length > 0) throw new FxError("invalid-request", trailers);
}
