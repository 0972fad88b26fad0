import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { compareTables, identifyTable, type PublishedTable, type RateTable } from "../core/rates.ts";

/** Where rate tables come from. */
export interface RateSource {
  /** "nbp", "demo", the absolute path of a file as it was configured, or a base URL without user and query. */
  readonly name: string;
  /** Whether its tables are recorded ones, which do not age. */
  readonly recorded: boolean;
  /**
   * The newest tables.
   * @throws Error with a message that says what was received instead
   */
  tables(signal?: AbortSignal): Promise<SourceAnswer>;
}

export interface SourceAnswer {
  /** At least one table, in the order of `compareTables`. */
  readonly tables: readonly RateTable[];
  /** The time at the source. */
  readonly date?: Date | undefined;
}

/** Published tables as those of a source, in the order of `compareTables`. */
export function tablesOf(source: string, published: readonly PublishedTable[]): readonly RateTable[] {
  return published
    .map((table) => identifyTable(table, source, (text) => createHash("sha256").update(text).digest("hex")))
    .sort(compareTables);
}

/** Whether a source is an API, whose tables age. */
export function isLive(source: string): boolean {
  return source === "nbp" || /^https?:/i.test(source);
}

/**
 * The name of the source that an operator calls `source`. Links in a path are not resolved: the name has to stay the
 * same when a link is set to another folder, as a ConfigMap's is with each change.
 */
export function sourceName(source: string): string {
  if (source === "nbp" || source === "demo") return source;
  if (isLive(source) && URL.canParse(source)) {
    return addressWithoutSecrets(new URL(source)).replace(/\/+$/, "");
  }
  return resolve(source);
}

/** An address without the user, password and query, which may be secret. */
export function addressWithoutSecrets({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
