import { getSystemErrorMap } from "node:util";
import { CommanderError } from "commander";
import { type FieldError, FxError } from "../core/errors.ts";
import { describeError, maskPesels } from "../core/mask.ts";
import { PlainHttpError } from "../wire/plain-http.ts";
import { type Exit, outcomes, type Signal, signalExits } from "./exits.ts";
import { writeJson, writeText } from "./terminal/output.ts";
import type { Screen, Terminal } from "./terminal/terminal.ts";

const plainHttpHint =
  "Use https://, or give --allow-plain-http (FX_ALLOW_PLAIN_HTTP=true) where the network between is your own.";

/** The advice for a change without a key, as only the suspension of trading and its end are. */
const tradingHint = "fx trading shows what holds now.";

const replayHint = "An earlier request with this key got this answer. To try again, use a new key.";

/** A command line that fx does not understand. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The user answered no at the question. */
export class Declined extends Error {
  override readonly name = "Declined";
}

/** A request that changes something, its key if it moves money, and whether it was sent; or a batch, with its id for a key. */
export type SentRequest =
  | { readonly key: string | undefined; readonly state: "unsent" | "sent" | "done" }
  | { readonly key: string; readonly state: "batch" };

/** A signal ended the command. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly signal: Signal;
  readonly request: SentRequest | undefined;

  constructor(signal: Signal, request: SentRequest | undefined) {
    super(signal);
    this.signal = signal;
    this.request = request;
  }
}

/** A request that changes something failed after it was sent. `cause` says why. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed";
  readonly key: string | undefined;

  /** @param key if it moves money */
  constructor(key: string | undefined, cause: unknown) {
    super("the request failed", { cause });
    this.key = key;
  }
}

/** Why the system did not do something, in its words: "no such file or directory". */
export function reasonOf(error: unknown): string {
  const { errno = 0, code, message } = error as NodeJS.ErrnoException;
  const [, words] = getSystemErrorMap().get(errno) ?? [];
  return words ?? code ?? message;
}

/** A failure, as --json prints it. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly exit: Exit;
  /** The key with which a request can be repeated whose outcome is unknown, or whose result was not shown. */
  readonly key?: string | undefined;
  /** Set if the refusal is the answer to an earlier request with the same key. */
  readonly replayed?: true;
  /** The wrong fields, if they are known. */
  readonly errors?: readonly FieldError[];
}

/**
 * The one place that turns what was thrown into a message and an exit.
 * @param usageHint for a command line that cannot be parsed. Every other UsageError says itself what to do.
 */
export function describeFailure(thrown: unknown, usageHint?: string): Failure {
  if (thrown instanceof RequestFailed) return describeRequest(thrown);
  if (thrown instanceof Interrupted) return describeInterrupt(thrown);
  if (thrown instanceof FxError) return describeRefusal(thrown);
  if (thrown instanceof UsageError) return failure("usage", thrown.message, 2);
  if (thrown instanceof PlainHttpError) return failure("usage", thrown.message, 2, plainHttpHint);
  if (thrown instanceof CommanderError) {
    // A group of commands without a subcommand: left to itself, commander prints its help.
    if (thrown.code === "commander.help") return failure("usage", "A command is missing.", 2, usageHint);
    const [message = "", ...rest] = thrown.message.replace(/^error: /, "").split("\n");
    return failure("usage", sentence(message), 2, rest.join(" ").replace(/^\(|\)$/g, "") || usageHint);
  }
  if (thrown instanceof Declined) return failure("declined", "Nothing was done.", 9);
  const message = thrown instanceof Error ? describeError(thrown).message : String(thrown);
  return failure("internal", message, 1, "This is a bug in fx. FX_LOG_LEVEL=debug shows where.");
}

/** Reports a failure on stderr: as text, or with --json as one document. */
export function tellFailure(screen: Screen, failure: Failure, json: boolean): void {
  if (json) writeJson(screen, failure);
  else {
    const { paint } = screen;
    writeText(screen, `fx: ${failure.message}`, paint.red);
    if (failure.hint !== null) writeText(screen, failure.hint, paint.dim);
  }
}

/** Warns on stderr, also with --quiet, and changes neither the result nor the exit code. */
export function tellWarning({ errors }: Pick<Terminal, "errors">, warning: string, json: boolean): void {
  if (json) writeJson(errors, { warning });
  else writeText(errors, `fx: ${warning}`, errors.paint.yellow);
}

function describeRefusal({
  code,
  message,
  replayed,
  fields,
  hint,
  retryAfterSeconds: wait,
}: FxError): Failure {
  const [exit, usualHint] = outcomes[code];
  if (replayed) return { ...failure(code, message, exit, replayHint), replayed };
  const later = wait === undefined ? undefined : `Try again in ${wait} s.`;
  const described = failure(code, message, exit, hint ?? usualHint ?? later);
  return fields === undefined ? described : { ...described, errors: fields };
}

function describeRequest({ key, cause }: RequestFailed): Failure {
  const described = describeFailure(cause);
  if (described.exit === 1 || described.code === "outcome-unknown") {
    return { ...described, hint: `Whether it was done is not known. ${againWith(key)}`, key };
  }
  // A store may have failed after the commit. Its message says whether it knows.
  return described.code === "storage-unavailable"
    ? { ...described, exit: 8, hint: againWith(key), key }
    : described;
}

const interrupts: Readonly<Record<Signal, readonly [code: string, verb: string]>> = {
  SIGHUP: ["hung-up", "Hung up"],
  SIGINT: ["interrupted", "Interrupted"],
  SIGTERM: ["terminated", "Terminated"],
};

function describeInterrupt({ signal, request }: Interrupted): Failure {
  const [code, verb] = interrupts[signal];
  const exit = signalExits[signal];
  if (request === undefined) return failure(code, `${verb}.`, exit);
  const { key, state } = request;
  const messages = {
    unsent: `${verb} before anything was sent: nothing was done.`,
    sent: `${verb} after the request was sent: whether it was done is not known.`,
    done: `${verb} after the request was done.`,
    batch: `${verb} while lines were under way: whether those without a result were done is not known.`,
  };
  const described = failure(code, messages[state], exit);
  if (state === "unsent") return described;
  if (state === "batch") return { ...described, hint: restOf(key) };
  return { ...described, hint: state === "sent" ? againWith(key) : resultWith(key), key };
}

/**
 * A result that cannot be written.
 * @param hint for a change without a request
 */
export function describeUnwritten(
  error: NodeJS.ErrnoException,
  request: SentRequest | undefined,
  hint?: string,
): Failure {
  const message = `The output cannot be written (${reasonOf(error)}).`;
  const described = failure("output-failed", message, error.code === "EPIPE" ? 141 : 12, hint);
  if (request?.state !== "done") return described;
  const { key } = request;
  return { ...described, hint: resultWith(key), key };
}

/** How to do the rest of a batch. */
export function restOf(id: string): string {
  return `To do the rest, run it again with --id ${id}. Nothing is done twice.`;
}

function resultWith(key: string | undefined): string {
  const shown =
    key === undefined ? tradingHint : `The same command with --key ${key} shows it, and does nothing twice.`;
  return `The request was carried out. ${shown}`;
}

function againWith(key: string | undefined): string {
  return key === undefined
    ? tradingHint
    : `The same command with --key ${key} finishes it, and never does it twice.`;
}

function failure(code: string, message: string, exit: Exit, hint: string | null = null): Failure {
  return { code, message: maskPesels(message), hint, exit };
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}
