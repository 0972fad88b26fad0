import { Chalk } from "chalk";
import type { Screen } from "../../src/cli/terminal/terminal.ts";
import { keptText } from "./written.ts";

/** A terminal of this width without colours, or a pipe where there is none, which keeps its text. */
export function screenOf(
  columns: number | undefined,
  options: Partial<Screen> = {},
): Screen & { text: () => string } {
  const size = { rich: columns !== undefined, columns: columns ?? Number.POSITIVE_INFINITY, rows: 24 };
  return { ...keptText(), ...size, live: false, paint: new Chalk({ level: 0 }), unicode: true, ...options };
}
