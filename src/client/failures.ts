import type { Request as GotStream } from "got";
import { FxError } from "../core/errors.ts";
import { decodeProblem } from "../wire/problem.ts";
import { type Answer, answerOf, headOf, textOf, whatAnswered } from "./answer.ts";
import { type Fault, isBusy } from "./retries.ts";
import type { Transport } from "./transport.ts";

/** Statuses of a proxy that cannot reach the server behind it. */
const gatewayStatuses = [502, 503, 504];

/** The problem that fx answers with; undefined for any other answer, such as a proxy's page with the same status. */
export function problemOf({ status, body, retryAfterSeconds, headers }: Answer): FxError | undefined {
  const replayed = headers["idempotency-replayed"] === "true";
  return decodeProblem(body, status, { retryAfterSeconds, replayed });
}

/**
 * Why a request that only reads was not answered, and whether it is worth to ask again.
 * @throws FxError the problem that fx answered with
 */
export function readFailure(answer: Answer, transport: Transport): Fault & { readonly failure: FxError } {
  const problem = problemOf(answer);
  if (problem !== undefined && isBusy(problem)) return { failure: problem, outcomeUnknown: false };
  if (problem !== undefined) throw problem;
  const { status } = answer;
  const { target } = transport;
  if (gatewayStatuses.includes(status)) {
    const message = `The gateway at ${target} got no answer from the server (status ${status}).`;
    const hint = "Try again later. If that does not help, check that fx serve is running behind the gateway.";
    return { failure: new FxError("unreachable", message, { hint }), outcomeUnknown: true };
  }
  return transport.notFx("GET", whatAnswered(answer));
}

interface Head {
  /** How its content type begins. */
  readonly type?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits for the head of a streamed answer.
 * @throws FxError the failure that is answered instead, and errors of the stream
 */
export async function answered(
  stream: GotStream,
  transport: Transport,
  { type = "", signal }: Head = {},
): Promise<void> {
  const response = await headOf(stream, signal);
  const { statusCode, headers } = response;
  if (statusCode === 200 && (headers["content-type"] ?? "").startsWith(type)) return;
  throw readFailure(answerOf(response, await textOf(transport.chunks(stream))), transport).failure;
}
