import { parsePesel } from "../core/pesel.ts";

/** Fields of the log, under OpenTelemetry's names. */
export interface Trace {
  readonly trace_id: string;
  /** The caller's: fx makes no spans of its own. */
  readonly span_id: string;
}

const traceparent = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/;

/** The trace that a request belongs to, if its `traceparent` (W3C Trace Context) is valid and can be logged. */
export function traceOf(header: string | string[] | undefined): Trace | undefined {
  if (typeof header !== "string") return undefined;
  const [, trace_id = "", span_id = "", more] = traceparent.exec(header) ?? [];
  // Later versions may say more; that of now does not.
  if (trace_id === "" || (more !== undefined && header.startsWith("00"))) return undefined;
  return hasPesel(trace_id) || hasPesel(span_id) ? undefined : { trace_id, span_id };
}

/** Whether there is a valid PESEL among the characters, as in three of a thousand random ids. */
export function hasPesel(id: string): boolean {
  if (!/\d{11}/.test(id)) return false;
  return [...id.matchAll(/(?=(\d{11}))/g)].some(([, digits = ""]) => {
    try {
      return parsePesel(digits, "9999-12-31") !== undefined;
    } catch {
      return false;
    }
  });
}
