import { CommanderError } from "commander";
import { type ErrorCode, type FieldError, FxError } from "../core/errors.ts";
import { describeError, maskPesels } from "../core/mask.ts";
import { PlainHttpError } from "../wire/plain-http.ts";
import { ConfigError } from "./config-file.ts";
import { reasonOf } from "./reason.ts";
import { writeJson, writeText } from "./terminal/output.ts";
import type { Screen } from "./terminal/terminal.ts";

/** How a command ends. The same table is in docs/CLI.md and `fx help exit-codes`. */
export const exitTable = [
  { exit: 0, meaning: "done", moved: "as reported", next: "" },
  {
    exit: 1,
    meaning: "a bug, the server's internal error, findings of audit or doctor, or unwritable output",
    moved: "unknown",
    next: "repeat with the printed key",
  },
  { exit: 2, meaning: "usage", moved: "no", next: "correct the command" },
  { exit: 3, meaning: "refused", moved: "no", next: "correct the order" },
  { exit: 4, meaning: "no such account or receipt", moved: "no", next: "" },
  { exit: 5, meaning: "the account exists", moved: "no", next: "" },
  { exit: 6, meaning: "no rates", moved: "no", next: "later" },
  { exit: 7, meaning: "server or database not reachable, or too busy", moved: "no", next: "later" },
  {
    exit: 8,
    meaning: "sent, and no answer came",
    moved: "unknown",
    next: "repeat with the printed key",
  },
  { exit: 9, meaning: "answered no at the question", moved: "no", next: "" },
  { exit: 10, meaning: "not allowed", moved: "no", next: "" },
  {
    exit: 130,
    meaning: "interrupted (Ctrl-C)",
    moved: "if sent: unknown",
    next: "repeat with the printed key",
  },
  {
    exit: 141,
    meaning: "the reader of the output stopped reading, as head does",
    moved: "as stderr says",
    next: "",
  },
  { exit: 143, meaning: "terminated", moved: "if sent: unknown", next: "repeat with the printed key" },
] as const;

export type Exit = (typeof exitTable)[number]["exit"];

/** The exit of each code. */
export const exitOf: Readonly<Record<ErrorCode, Exit>> = {
  "invalid-request": 3,
  "invalid-pesel": 3,
  "pesel-mismatch": 3,
  underage: 3,
  "unsupported-currency": 3,
  "same-currency": 3,
  "invalid-amount": 3,
  "amount-too-small": 3,
  "insufficient-funds": 3,
  "balance-limit": 3,
  "rate-changed": 3,
  "already-reversed": 3,
  "not-reversible": 3,
  "account-closed": 3,
  "account-not-empty": 3,
  "idempotency-key-reused": 3,
  "account-not-found": 4,
  "not-found": 4,
  "method-not-allowed": 3,
  "account-exists": 5,
  "rates-unavailable": 6,
  "storage-unavailable": 7,
  "rate-limited": 7,
  overloaded: 7,
  internal: 1,
  unreachable: 7,
  "outcome-unknown": 8,
  unauthorized: 10,
  forbidden: 10,
};

const waysOut = "Start a server with fx serve, or name a store, as in --url sqlite:fx.db.";

const hintOf: Partial<Readonly<Record<ErrorCode, string>>> = {
  "account-not-found": "fx account create opens one.",
  "account-exists": "fx account show has it.",
  "rate-changed": "fx quote has the table in force.",
  "unsupported-currency": "fx rates lists the currencies.",
  "insufficient-funds": "fx account show has the balances.",
  "idempotency-key-reused": "fx receipt --pesel PESEL --key KEY shows what was done with it.",
  "already-reversed": "fx receipt shows both receipts.",
  "not-reversible": "Make the opposite change with a command of its own.",
  "account-closed": "fx account create opens it again.",
  "account-not-empty": "fx account show has the balances, and fx account withdraw pays them out.",
  unreachable: waysOut,
  unauthorized:
    "Set FX_TOKEN, or FX_TOKEN_FILE to a file that holds the token. fx doctor shows which one is sent.",
  forbidden: "fx doctor shows which token is sent, and its role.",
};

const plainHttpHint =
  "Use https://, or give --allow-plain-http (FX_ALLOW_PLAIN_HTTP=true) where the network between is your own.";

const replayHint = "An earlier request with this key got this answer. To try again, use a new key.";

/** A command line that fx does not understand. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The answer no at the question. */
export class Declined extends Error {
  override readonly name = "Declined";
}

/** A request that moves money, its key, and whether it was sent. */
export interface MoneyRequest {
  readonly key: string;
  readonly state: "unsent" | "sent" | "done";
}

/** SIGINT or SIGTERM came. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly signal: "SIGINT" | "SIGTERM";
  readonly request: MoneyRequest | undefined;

  constructor(signal: "SIGINT" | "SIGTERM", request: MoneyRequest | undefined) {
    super(signal);
    this.signal = signal;
    this.request = request;
  }
}

/** A request that moves money failed after it was sent. `cause` says why. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed";
  readonly key: string;

  constructor(key: string, cause: unknown) {
    super("the request failed", { cause });
    this.key = key;
  }
}

/** The result cannot be written. */
export class OutputFailed extends Error {
  override readonly name = "OutputFailed";
  /** The system's error code, such as ENOSPC. */
  readonly code: string | undefined;
  readonly request: MoneyRequest | undefined;

  constructor(cause: NodeJS.ErrnoException, request: MoneyRequest | undefined) {
    super(`The output cannot be written (${reasonOf(cause)}).`, { cause });
    this.code = cause.code;
    this.request = request;
  }
}

/** What went wrong, as --json prints it. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly exit: Exit;
  /** The key with which a request of unknown outcome can be repeated. */
  readonly key?: string;
  /** Set if the refusal is the answer to an earlier request with the same key. */
  readonly replayed?: true;
  /** The fields that are wrong, where it is known. */
  readonly errors?: readonly FieldError[];
}

/** The one place that turns what was thrown into a message and an exit code. */
export function describeFailure(thrown: unknown, usageHint?: string): Failure {
  if (thrown instanceof RequestFailed) return describeRequest(thrown);
  if (thrown instanceof Interrupted) return describeInterrupt(thrown);
  if (thrown instanceof OutputFailed) return describeOutput(thrown);
  if (thrown instanceof FxError) {
    const { code, message, replayed, fields, retryAfterSeconds: wait } = thrown;
    const later = wait === undefined ? undefined : `Try again in ${wait} s.`;
    const { hint = hintOf[code] ?? later } = thrown;
    if (replayed) return { ...failure(code, message, exitOf[code], replayHint), replayed };
    const told = failure(code, message, exitOf[code], hint);
    return fields === undefined ? told : { ...told, errors: fields };
  }
  if (thrown instanceof UsageError || thrown instanceof ConfigError) {
    return failure("usage", thrown.message, 2, usageHint);
  }
  if (thrown instanceof PlainHttpError) return failure("usage", thrown.message, 2, plainHttpHint);
  if (thrown instanceof CommanderError) {
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

/** Warns on stderr, and changes neither the result nor the exit code. */
export function tellWarning(screen: Screen, warning: string, json: boolean): void {
  if (json) writeJson(screen, { warning });
  else writeText(screen, `fx: ${warning}`, screen.paint.yellow);
}

function describeRequest({ key, cause }: RequestFailed): Failure {
  const told = describeFailure(cause);
  const unknown = { ...told, hint: `Whether it was done is not known. ${againWith(key)}`, key };
  if (told.exit === 1) return unknown;
  if (told.code === "outcome-unknown") return unknown;
  // A store may have failed after the commit. Its message says whether it knows.
  return told.code === "storage-unavailable" ? { ...told, exit: 8, hint: againWith(key), key } : told;
}

function describeInterrupt({ signal, request }: Interrupted): Failure {
  const [code, exit, verb] =
    signal === "SIGINT"
      ? (["interrupted", 130, "Interrupted"] as const)
      : (["terminated", 143, "Terminated"] as const);
  if (request === undefined) return failure(code, `${verb}.`, exit);
  const { key, state } = request;
  const messages = {
    unsent: `${verb} before anything was sent: nothing was done.`,
    sent: `${verb} after the request was sent: whether it was done is not known.`,
    done: `${verb} after the request was done.`,
  };
  const told = failure(code, messages[state], exit);
  return state === "sent" ? { ...told, hint: againWith(key), key } : told;
}

function describeOutput({ message, code, request }: OutputFailed): Failure {
  const told = failure("output-failed", message, code === "EPIPE" ? 141 : 1);
  if (request?.state !== "done") return told;
  const { key } = request;
  const hint = `The request was carried out. The same command with --key ${key} shows it, and does nothing twice.`;
  return { ...told, hint, key };
}

function againWith(key: string): string {
  return `The same command with --key ${key} finishes it, and never does it twice.`;
}

function failure(code: string, message: string, exit: Exit, hint: string | null = null): Failure {
  return { code, message: maskPesels(message), hint, exit };
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}
