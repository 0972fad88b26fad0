import { FxError } from "../core/errors.ts";
import { decodeProblem } from "../wire/problem.ts";
import { type Fault, isBusy } from "./retries.ts";
import { type Answer, type Transport, whatAnswered } from "./transport.ts";

/** What a proxy answers while it cannot reach the server behind it. */
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
export function unfit(answer: Answer, transport: Transport): Fault & { readonly failure: FxError } {
  const problem = problemOf(answer);
  if (problem !== undefined && isBusy(problem)) return { failure: problem, isOpen: false };
  if (problem !== undefined) throw problem;
  const { status } = answer;
  const { place } = transport;
  if (gatewayStatuses.includes(status)) {
    const message = `The gateway at ${place} got no answer from the server (status ${status}).`;
    const hint = "Try again later. If that does not help, check that fx serve is running behind the gateway.";
    return { failure: new FxError("unreachable", message, { hint }), isOpen: true };
  }
  return transport.notFx("GET", whatAnswered(answer));
}
