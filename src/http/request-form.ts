import type { IncomingMessage } from "node:http";
import { FxError } from "../core/errors.ts";

const trailers =
  "Fields after the body are not read, and the request has or announces some. Send them as headers.";

/** Whether a request has a header more than once: of most names, Node takes the first and drops the others. */
export function isRepeated(request: IncomingMessage, name: string): boolean {
  return timesGiven(request, name) > 1;
}

/** Says why a request is ambiguous in HTTP, or its body is not plain UTF-8, before anything of it is read. */
export function formFault(request: IncomingMessage): FxError | undefined {
  const fault = faultOf(request);
  return fault === undefined ? undefined : new FxError("invalid-request", fault);
}

/**
 * Refuses fields after the body: an idempotency key that is sent there would not be read.
 * @throws FxError invalid-request
 */
export function refuseTrailers({ rawTrailers }: IncomingMessage): void {
  if (rawTrailers.length > 0) throw new FxError("invalid-request", trailers);
}

function faultOf(request: IncomingMessage): string | undefined {
  const { headers, httpVersion } = request;
  const hosts = timesGiven(request, "host");
  if (hosts > 1) return "The request has more than one Host header.";
  if (hosts === 0 && httpVersion === "1.1") return "The request has no Host header.";
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
  return hasBody ? bodyFaultOf(request) : undefined;
}

function bodyFaultOf(request: IncomingMessage): string | undefined {
  const {
    trailer,
    "content-type": type = "",
    "content-encoding": encoding = "",
    "transfer-encoding": transfer = "",
  } = request.headers;
  if (!/^[\s,]*(identity[\s,]*)*$/i.test(encoding) || !/^(chunked|identity)?$/i.test(transfer)) {
    return "The body is compressed. Send it without Content-Encoding.";
  }
  if (isRepeated(request, "content-type")) return "The request has more than one Content-Type header.";
  if (trailer !== undefined) return trailers;
  const [, ...parameters] = type.split(";");
  const isUtf8 = (parameter: string) => /^\s*charset=("?)(utf-?8|us-ascii)\1\s*$/i.test(parameter);
  if (parameters.some((parameter) => /charset/i.test(parameter) && !isUtf8(parameter))) {
    return "The Content-Type names another charset than UTF-8. Send UTF-8.";
  }
  return undefined;
}

function timesGiven({ rawHeaders }: IncomingMessage, name: string): number {
  let times = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] as string;
    if (given.length === name.length && given.toLowerCase() === name) times += 1;
  }
  return times;
}
