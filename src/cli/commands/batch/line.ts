import { FxError } from "../../../core/errors.ts";
import { faultOf, type Line } from "../../../wire/lines.ts";
import type { UsageError } from "../../errors.ts";

/** One line of a batch. */
export interface BatchLine {
  readonly number: number;
  /** As it is written. */
  readonly text: string;
  /** The request's body; undefined if the line cannot be read. */
  readonly body?: unknown;
  /** The key that the line names, not checked yet. */
  readonly key?: unknown;
  /** What is wrong with the line. A UsageError ends the batch. */
  readonly fault?: FxError | UsageError | undefined;
  /** The line as it is written, but under this key. */
  readonly withKey: (key: string) => string;
}

/** How the lines of a file are written. */
export interface Format {
  /** Whether there may be orders, which need rates. */
  readonly hasOrders: boolean;
  /** The header of a file whose lines have keys. */
  readonly header: string | undefined;
  /** The columns that fx does not read. */
  readonly unread: readonly string[];
  readonly read: (lines: readonly Line[]) => readonly BatchLine[];
}

/** Reads a line's body, or says what is wrong with the line. */
export function read(line: Line, body: () => unknown): Pick<BatchLine, "body" | "fault"> {
  try {
    const fault = faultOf(line);
    if (fault !== undefined) throw invalid(fault);
    return { body: body() };
  } catch (error) {
    if (error instanceof FxError) return { fault: error };
    throw error;
  }
}

export function invalid(message: string): FxError {
  return new FxError("invalid-request", message);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
