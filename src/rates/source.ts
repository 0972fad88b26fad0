import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { identifyTable, type PublishedTable, type RateTable } from "../core/rates.ts";

/** Where tables come from. */
export interface RateSource {
  /** "nbp", "demo", the real path of a file, or a base URL without user and query. */
  readonly name: string;
  /** Whether its tables are recorded ones, which do not age. */
  readonly recorded: boolean;
  /**
   * The newest `count` tables or more, oldest first. Never none.
   * @throws Error with a message that says what was received instead
   */
  tables(count: number, signal: AbortSignal): Promise<readonly RateTable[]>;
}

/** Published tables as those of a source. */
export function tablesOf(source: string, published: readonly PublishedTable[]): readonly RateTable[] {
  return published.map((table) => identifyTable(table, source, (text) => hash("sha256", text, "hex")));
}

/** Whether a source is an API, whose tables age. */
export function isLive(source: string): boolean {
  return source === "nbp" || /^https?:/i.test(source);
}

/** The name of the source that an operator calls `source`: the same for all ways to write it. */
export function sourceName(source: string): string {
  if (source === "nbp" || source === "demo") return source;
  if (isLive(source) && URL.canParse(source))
    return addressWithoutSecrets(new URL(source)).replace(/\/+$/, "");
  try {
    return realpathSync(source);
  } catch {
    return resolve(source);
  }
}

/** An address without the user, password and query, which may be secret. */
export function addressWithoutSecrets({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
