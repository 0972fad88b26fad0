import { once } from "node:events";
import type { Request as GotStream, PlainResponse } from "got";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as parsed JSON; undefined if it is not JSON. */
  readonly body: unknown;
  readonly retryAfterSeconds: number | undefined;
}

/** Bytes; longer than most answers: an audit with 1000 findings, or a page of 200 entries with notes, which has 0.6 MB. */
export const longestAnswer = 4 * 1024 * 1024;
/** Bytes; enough for all that is held about a person with some 50,000 entries. */
export const longestPersonalData = 64 * 1024 * 1024;
/** Bytes; the limit for the answer to a failed request. */
const longestProblem = 65_536;

/** The head of a streamed answer. From then on, only the reader of the stream gets its errors. */
export async function headOf(stream: GotStream, signal?: AbortSignal): Promise<PlainResponse> {
  stream.on("error", () => {});
  const [response] = (await once(stream, "response", { signal })) as [PlainResponse];
  return response;
}

/** The text of an answer, cut off at the limits of length and time, which by default are those for a problem. */
export async function textOf(
  answer: AsyncIterable<Buffer | string>,
  { most = longestProblem, withinMs = 30_000 } = {},
): Promise<string> {
  const deadline = performance.now() + withinMs;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer) {
    chunks.push(Buffer.from(chunk));
    length += chunk.length;
    if (length > most || performance.now() > deadline) break;
  }
  return Buffer.concat(chunks).toString();
}

export function answerOf({ statusCode, headers }: PlainResponse, text: string): Answer {
  const seconds = Number(headers["retry-after"]);
  const retryAfterSeconds = Number.isInteger(seconds) && seconds > 0 ? seconds : undefined;
  const body = statusCode >= 400 && text.length > longestProblem ? undefined : parseBody(text);
  return { status: statusCode, headers, body, retryAfterSeconds };
}

/** Describes an answer that is not from fx. */
export function whatAnswered({ status, headers }: Answer, withType = true): string {
  const { location, "content-type": type = "no content type", "content-encoding": encoding } = headers;
  const to = typeof location === "string" && status >= 300 && status < 400 ? addressOf(location) : undefined;
  return [
    `status ${status}`,
    ...(to === undefined ? [] : [`a redirect to ${to}`]),
    ...(withType && to === undefined ? [String(type).slice(0, 100)] : []),
    ...(encoding === undefined ? [] : [String(encoding).slice(0, 100)]),
  ].join(", ");
}

/** Where a redirect leads, without what may be a secret. */
function addressOf(location: string): string {
  const [path = ""] = location.split(/[?#]/);
  return (URL.canParse(path) ? `${new URL(path).origin}${new URL(path).pathname}` : path).slice(0, 200);
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
