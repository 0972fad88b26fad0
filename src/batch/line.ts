import { FxError } from "../core/errors.ts";

/** A line of a file, without its end. Blank ones are counted and left out. */
export interface TextLine {
  readonly number: number;
  readonly text: string;
  /** The reason why the line cannot be read at all. */
  readonly fault: FxError | undefined;
}

/** Lines of a file, each made when it is asked for: a million of them would take more memory than their text. */
export interface TextLines {
  readonly length: number;
  at(index: number): TextLine | undefined;
}

/** One line of a batch. */
export interface BatchLine {
  readonly number: number;
  /** The line as written in the file. */
  readonly text: string;
  /** The request's body; undefined if the line cannot be read. */
  readonly body?: unknown;
  /** The cells that fx does not read, by their columns, without the empty ones. */
  readonly extra?: Readonly<Record<string, string>> | undefined;
  /** The key that the line names, not checked yet. */
  readonly key?: unknown;
  /** The reason to refuse the line. */
  readonly fault?: FxError | undefined;
  /** The line as it is written, but under this key. */
  readonly withKey: (key: string) => string;
}

/** How the lines of a file are written. */
export interface BatchFormat {
  /** The kind of requests, in words for people. */
  readonly holds:
    | "orders"
    | "new accounts"
    | "deposits and withdrawals"
    | "orders, new accounts, deposits and withdrawals";
  /** Whether there may be requests that need rates. */
  readonly needsRates: boolean;
  /** The header of a file whose lines have keys. */
  readonly header: string | undefined;
  /** The columns that fx does not read. */
  readonly unread: readonly string[];
  /**
   * Reads the lines of the file from `start` on, which is below its header.
   * @param isCut whether the last of them has no end, and so may lack a part
   */
  readonly read: (lines: TextLines, start: number, isCut: boolean) => Iterable<BatchLine>;
}

export function invalid(message: string): FxError {
  return new FxError("invalid-request", message);
}

export function invalidField(name: string, detail: string): FxError {
  return new FxError("invalid-request", `${name} ${detail}.`, { fields: [{ pointer: `/${name}`, detail }] });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The result of `read`, or the error that it throws. */
export function valueOrError<T>(read: () => T): T | FxError {
  try {
    return read();
  } catch (error) {
    if (error instanceof FxError) return error;
    throw error;
  }
}
